//! Thread-local values that stay usable until the thread has ended.
//!
//! Destructors of thread-local objects, functions of `atexit` and destructors of globals may call this library. By then `exit` has run the
//! destructors of the thread's `thread_local!` values, and Rust denies access to a value with a destructor. The values here have none. They
//! are on the heap or small, because all threads of the program pay for thread-local storage.

use rustix::process::getpid;
use rustix::thread::gettid;
use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::LocalKey;

/// A slot for a value of each thread; empty at first.
pub struct PerThread<T> {
    value: Cell<ManuallyDrop<Option<T>>>,
    /// Whether it is registered to be freed at the thread's end, or will not be freed.
    settled: Cell<bool>,
}

impl<T> PerThread<T> {
    /// An empty place.
    pub const fn new() -> PerThread<T> {
        PerThread {
            value: Cell::new(ManuallyDrop::new(None)),
            settled: Cell::new(false),
        }
    }

    fn replace(&self, value: Option<T>) -> Option<T> {
        ManuallyDrop::into_inner(self.value.replace(ManuallyDrop::new(value)))
    }
}

impl<T> Default for PerThread<T> {
    fn default() -> Self {
        PerThread::new()
    }
}

impl<T> std::fmt::Debug for PerThread<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PerThread")
    }
}

/// Something that is freed when its thread ends.
trait Free {
    fn free(&'static self);
}

impl<T: 'static> Free for LocalKey<PerThread<T>> {
    fn free(&'static self) {
        drop(take(self));
    }
}

/// The slots to free when the thread ends.
struct AtEnd(RefCell<Vec<&'static dyn Free>>);

impl Drop for AtEnd {
    fn drop(&mut self) {
        self.0.get_mut().drain(..).for_each(Free::free);
    }
}

thread_local! {
    static AT_END: AtEnd = const { AtEnd(RefCell::new(Vec::new())) };
    /// This thread's number; 0 before the first call of [`number`].
    static NUMBER: Cell<u64> = const { Cell::new(0) };
}

/// The value of this thread, which then has none.
#[inline]
pub fn take<T>(place: &'static LocalKey<PerThread<T>>) -> Option<T> {
    place.with(|place| place.replace(None))
}

/// Keeps a value for this thread.
#[inline]
pub fn keep<T: 'static>(place: &'static LocalKey<PerThread<T>>, value: T) {
    let settled = place.with(|place| {
        drop(place.replace(Some(value)));
        place.settled.replace(true)
    });
    if !settled {
        settle(place);
    }
}

/// Registers a slot to be freed when the thread ends. The process's first thread ends with the process, and its values stay until then.
/// A thread whose destructors have begun keeps values that these store: a small leak, but a pointer to them stays valid.
#[cold]
fn settle(place: &'static dyn Free) {
    if gettid() != getpid() {
        let _ = AT_END.try_with(|end| end.0.borrow_mut().push(place));
    }
}

/// Calls `body` with this thread's value. A call of `with` inside `body` gets another value, which is dropped.
#[inline]
pub fn with<T: Default + 'static, R>(
    place: &'static LocalKey<PerThread<T>>,
    body: impl FnOnce(&mut T) -> R,
) -> R {
    let mut value = take(place).unwrap_or_default();
    let result = body(&mut value);
    keep(place, value);
    result
}

/// A number that no other thread of this process has or had. Unlike `std::thread::current`, it may be called until the thread's end.
pub fn number() -> u64 {
    static THREADS: AtomicU64 = AtomicU64::new(1);
    if NUMBER.get() == 0 {
        NUMBER.set(THREADS.fetch_add(1, Relaxed));
    }
    NUMBER.get()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    thread_local! {
        static VALUE: PerThread<Option<Arc<()>>> = const { PerThread::new() };
    }

    #[test]
    fn a_value_is_freed_with_its_thread_and_usable_by_destructors() {
        struct Late(Arc<()>);
        impl Drop for Late {
            fn drop(&mut self) {
                assert!(with(&VALUE, |value| value.is_none()));
                with(&VALUE, |value| *value = Some(Arc::clone(&self.0)));
                assert!(with(&VALUE, |value| value.is_some()));
                take(&VALUE);
            }
        }
        thread_local! {
            static LATE: RefCell<Option<Late>> = const { RefCell::new(None) };
        }
        let shared = Arc::new(());
        let (early, late) = (Arc::clone(&shared), Arc::clone(&shared));
        let thread = std::thread::spawn(move || {
            // Destroyed last, as it is made first.
            LATE.set(Some(Late(late)));
            with(&VALUE, |value| *value = Some(early));
        });
        thread.join().unwrap();
        assert_eq!(Arc::strong_count(&shared), 1);
    }

    #[test]
    fn threads_have_numbers_of_their_own() {
        let other = std::thread::spawn(number).join().unwrap();
        assert_ne!(number(), other);
        assert_eq!(number(), number());
    }
}
