//! Which place of the code is weakened in the run at hand. Both checkers run all threads of a model on one thread of the system.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use std::sync::atomic::Ordering;

thread_local! {
    static WEAK: Cell<&'static str> = const { Cell::new("") };
    static USED: Cell<bool> = const { Cell::new(false) };
    static MESSAGE: RefCell<String> = const { RefCell::new(String::new()) };
    static NAPS_END: Cell<bool> = const { Cell::new(false) };
}

/// Whether a nap ends by itself; otherwise only a bell ends it.
pub(crate) fn naps_end() -> bool {
    NAPS_END.get()
}

/// Runs a model whose naps end by themselves.
pub(crate) fn with_naps_that_end(model: impl FnOnce()) {
    NAPS_END.set(true);
    model();
    NAPS_END.set(false);
}

/// Whether the place of this name is weakened.
pub(crate) fn weak(name: &str) -> bool {
    let weak = WEAK.get() == name;
    if weak {
        USED.set(true);
    }
    weak
}

/// The ordering of a place: `weaker` if it is weakened.
pub(crate) fn ordering(name: &str, weaker: Ordering, as_written: Ordering) -> Ordering {
    if weak(name) { weaker } else { as_written }
}

/// Runs a model with one place weakened.
pub(crate) fn with<T>(name: &'static str, model: impl FnOnce() -> T) -> T {
    WEAK.set(name);
    USED.set(false);
    let result = catch_unwind(AssertUnwindSafe(model));
    WEAK.set("");
    assert!(USED.get(), "the model never came to the place `{name}`");
    result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Runs a model with one place weakened. It must fail, with one of the `messages` in its first panic.
#[track_caller]
pub(crate) fn must_fail(name: &'static str, messages: &[&str], model: impl FnOnce()) {
    keep_messages();
    MESSAGE.take();
    let outcome = catch_unwind(AssertUnwindSafe(|| with(name, model)));
    let text = MESSAGE.take();
    assert!(
        outcome.is_err(),
        "with `{name}` the model still passes: it proves nothing about that place"
    );
    let expected = messages.iter().any(|message| text.contains(message));
    assert!(
        expected,
        "with `{name}` the model fails with `{text}`, not {messages:?}"
    );
}

/// Panics of a weakened model are kept, not printed, because the checkers' reports about them are long.
fn keep_messages() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if WEAK.get().is_empty() {
                return print(panic);
            }
            // A checker ends the other threads of a failed run by panics without words.
            let text = panic.payload_as_str().unwrap_or("");
            MESSAGE.with_borrow_mut(|message| {
                if message.is_empty() {
                    message.push_str(text);
                }
            });
        }));
    });
}
