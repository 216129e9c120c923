//! The call sites of operations as small numbers: for the checker and for the ledger.
//!
//! A *place* is a line of the program, "heat.c:71 (send_halo)"; a *site* is an operation at a place, "put at heat.c:71 (send_halo)".
//! The lookup of a known place costs a few nanoseconds; a new place is resolved once, under a lock.
//!
//! Rust callers are known by `#[track_caller]`. For callers through the C ABI [`walk`] finds the instruction that called this library,
//! and [`native`] its line. A language whose calls come from another library (Python's from libffi) sets a hook that names them.

mod access;
pub mod inside;
mod native;
mod rules;
mod walk;

pub use access::Access;

use crate::operation::Operation;
use inside::Inside;
use std::cell::Cell;
use std::collections::HashMap;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering::*};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};

/// The most sites of a PE: their numbers have 12 bits, and 0 stands for sites without a number.
const SITES: usize = 4096;
/// Several addresses can be one site, so there are more slots than sites.
const SLOTS: usize = 2 * SITES;

/// A place in the program: an instruction, a [`Location`], or a text of the hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeAddress(u64);

/// Marks the number of a text; addresses are smaller.
const TEXT: u64 = 1 << 63;

/// Returns the place in the program of a call, by the instruction to which it returns.
pub type SiteHook = Arc<dyn Fn(u64) -> Option<String> + Send + Sync>;

/// Returns the name of an operation in the language of the program.
pub type SiteWords = Arc<dyn Fn(&str) -> String + Send + Sync>;

thread_local! {
    /// The place of all operations on this thread, while it runs an operation that another thread has submitted.
    static SUBMITTED: Cell<Option<CodeAddress>> = const { Cell::new(None) };
    /// The last call of this thread whose site was looked up when it began, and its place in a program in Rust.
    static CALLED_AT: Cell<Option<(Operation, &'static Location<'static>)>> = const { Cell::new(None) };
}

/// The name of the global or static variable that an address of this process lies in, and the bytes from its start to the address; `None`
/// if there is none, or the program was stripped.
#[cold]
pub fn variable(address: u64) -> Option<(String, u64)> {
    let _inside = Inside::enter();
    native::variable(address)
}

impl CodeAddress {
    /// The instruction at `address`, to which a call returns.
    pub fn of_instruction(address: u64) -> CodeAddress {
        CodeAddress(address & !TEXT)
    }

    /// The instruction of the program from which this library was called through the C ABI, whose functions begin where `exports` says.
    pub fn of_native_caller(exports: impl FnOnce() -> Vec<u64>) -> CodeAddress {
        rules::set_exports(exports);
        CodeAddress::of_instruction(walk::caller())
    }

    /// The instruction to which the call returns that this thread is in; none if the way to it is not known.
    pub fn calling_instruction() -> Option<u64> {
        Some(walk::caller()).filter(|place| *place != 0)
    }

    /// The functions of the C ABI begin at these addresses.
    pub fn set_exports(exports: impl FnOnce() -> Vec<u64>) {
        rules::set_exports(exports);
    }

    /// The place in words: "heat.c:71 (send_halo)".
    pub fn describe(self) -> String {
        let _inside = Inside::enter();
        native::describe(self.0)
    }

    /// The name of a standard by which the program is calling this library through the C ABI, as `shmem_barrier_all`.
    #[cold]
    pub fn standard_name() -> Option<String> {
        if !rules::has_exports() || SUBMITTED.get().is_some() {
            return None;
        }
        let _inside = Inside::enter();
        let (place, entry) = walk::caller_and_entry();
        native::standard_name(place, entry)
    }

    /// Runs `body` as if this place had called its operations.
    pub fn during<T>(self, body: impl FnOnce() -> T) -> T {
        let before = SUBMITTED.replace(Some(self));
        let result = body();
        SUBMITTED.set(before);
        result
    }
}

/// A known key, and its site. `site` is written last.
struct Slot {
    place: AtomicU64,
    operation: AtomicU16,
    site: AtomicU16,
}

/// The name of a standard by which an operation was called, if any, and the place in words.
type Described = (Option<String>, String);

/// Called for each new site: its number and its name.
type OnNew = Box<dyn Fn(u16, &str) + Send + Sync>;

/// The sites of one PE.
pub struct Sites {
    slots: Box<[Slot]>,
    full: AtomicBool,
    known: Mutex<Known>,
    /// Whether operations are called through the C ABI.
    native: AtomicBool,
    hooked: AtomicBool,
    hook: RwLock<Option<SiteHook>>,
    words: RwLock<Option<SiteWords>>,
    texts: Mutex<Texts>,
}

/// The texts of the hook, and their places.
#[derive(Default)]
struct Texts {
    places: HashMap<String, CodeAddress>,
    all: Vec<String>,
}

#[derive(Default)]
struct Known {
    /// Site n is at n - 1.
    sites: Vec<Site>,
    numbers: HashMap<Site, u16>,
    on_new: Vec<OnNew>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Site {
    operation: Operation,
    /// The name of the operation in the language of the program.
    word: String,
    place: String,
}

impl std::fmt::Display for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {}", self.word, self.place)
    }
}

impl std::fmt::Debug for Sites {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sites({} known)", self.known().sites.len())
    }
}

impl Sites {
    /// No sites yet.
    pub fn new() -> Arc<Sites> {
        let slot = |_| Slot {
            place: AtomicU64::new(0),
            operation: AtomicU16::new(0),
            site: AtomicU16::new(0),
        };
        Arc::new(Sites {
            slots: (0..SLOTS).map(slot).collect(),
            full: AtomicBool::new(false),
            known: Mutex::default(),
            native: AtomicBool::new(false),
            hooked: AtomicBool::new(false),
            hook: RwLock::default(),
            words: RwLock::default(),
            texts: Mutex::default(),
        })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        crate::lock::lock(&self.known)
    }

    fn texts(&self) -> MutexGuard<'_, Texts> {
        crate::lock::lock(&self.texts)
    }

    /// The site of `operation`, called at `location`: 1 to 4095, or 0 when there are too many.
    pub fn here(&self, operation: Operation, location: &'static Location<'static>) -> u16 {
        CALLED_AT.set(Some((operation, location)));
        self.ended_at(operation, location)
    }

    /// As [`here`](Sites::here), for a call that has ended: [`line`](Sites::line) does not take it for the present one.
    pub fn ended_at(&self, operation: Operation, location: &'static Location<'static>) -> u16 {
        if self.native.load(Relaxed) {
            let place = self.calling();
            return self.find(operation, place.0, || {
                (CodeAddress::standard_name(), self.describe(place))
            });
        }
        let place = std::ptr::from_ref(location) as u64;
        self.find(operation, place, || {
            (None, native::line(location.file(), location.line(), ""))
        })
    }

    /// The site of `operation` at a place from [`calling`](Sites::calling).
    pub fn at(&self, operation: Operation, place: CodeAddress) -> u16 {
        self.find(operation, place.0, || (None, self.describe(place)))
    }

    /// The place in the program from which this library was called through the C ABI.
    pub fn calling(&self) -> CodeAddress {
        if let Some(place) = SUBMITTED.get() {
            return place;
        }
        let place = CodeAddress::of_instruction(walk::caller());
        match self.hooked.load(Acquire) {
            true => self.ask(place),
            false => place,
        }
    }

    /// The line of the program whose call of `operation` this thread is in, if that is known.
    pub fn line(&self, operation: Operation) -> Option<String> {
        match self.native.load(Relaxed) {
            true => Some(self.describe(self.calling())),
            false => {
                let (called, location) = CALLED_AT.get()?;
                (called == operation).then(|| native::line(location.file(), location.line(), ""))
            }
        }
    }

    /// The hook's text for a place; the place itself if it has none.
    #[cold]
    fn ask(&self, place: CodeAddress) -> CodeAddress {
        let _inside = Inside::enter();
        let hook = crate::lock::read(&self.hook).clone();
        let Some(text) = hook.and_then(|hook| hook(place.0)) else {
            return place;
        };
        self.place_of(text)
    }

    fn place_of(&self, text: String) -> CodeAddress {
        let mut texts = self.texts();
        if let Some(place) = texts.places.get(&text) {
            return *place;
        }
        let place = CodeAddress(TEXT | texts.all.len() as u64);
        texts.all.push(text.clone());
        texts.places.insert(text, place);
        place
    }

    /// The site of `operation` at a place in words, which a kernel has sent.
    pub fn named(&self, operation: Operation, text: &str) -> u16 {
        self.at(operation, self.place_of(text.into()))
    }

    /// A place in words; the hook's words if it has named the place.
    pub fn describe(&self, place: CodeAddress) -> String {
        match place.0 & TEXT {
            0 => native::describe(place.0),
            _ => {
                let text = self.texts().all.get((place.0 & !TEXT) as usize).cloned();
                text.unwrap_or_else(|| native::describe(0))
            }
        }
    }

    /// Whether a function of the program's language names its places.
    pub fn is_hooked(&self) -> bool {
        self.hooked.load(Acquire)
    }

    /// Whether operations are called through the C ABI.
    pub fn are_native(&self) -> bool {
        self.native.load(Relaxed)
    }

    /// The name of a site: "put at heat.c:71 (send_halo)".
    pub fn name(&self, site: u16) -> String {
        match self.site(site) {
            Some(site) => site.to_string(),
            None => "an operation at a place that is not known".into(),
        }
    }

    fn site(&self, site: u16) -> Option<Site> {
        let _inside = Inside::enter();
        let index = usize::from(site).checked_sub(1)?;
        self.known().sites.get(index).cloned()
    }

    /// Calls `told` with the number and the name of each site, now and later, before the number is returned. It must not look up sites
    /// itself.
    pub fn on_new(&self, told: impl Fn(u16, &str) + Send + Sync + 'static) {
        let mut known = self.known();
        for (index, site) in known.sites.iter().enumerate() {
            told(index as u16 + 1, &site.to_string());
        }
        known.on_new.push(Box::new(told));
    }

    /// The site of `operation` at the place with the key `place`, which `describe` can put into words.
    fn find(&self, operation: Operation, place: u64, describe: impl FnOnce() -> Described) -> u16 {
        let key = operation as u16;
        for slot in self.probe(place, key) {
            match slot.site.load(Acquire) {
                0 => break,
                site if slot.place.load(Relaxed) == place
                    && slot.operation.load(Relaxed) == key =>
                {
                    return site;
                }
                _ => {}
            }
        }
        match self.full.load(Relaxed) {
            true => 0,
            false => self.add(operation, place, describe),
        }
    }

    /// Where a key can be.
    fn probe(&self, place: u64, operation: u16) -> impl Iterator<Item = &Slot> {
        let hash = (place ^ u64::from(operation) << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let first = (hash >> 51) as usize;
        (0..SLOTS).map(move |step| &self.slots[(first + step) % SLOTS])
    }

    #[cold]
    fn add(&self, operation: Operation, place: u64, describe: impl FnOnce() -> Described) -> u16 {
        // Before any lock is taken: a signal handler that shows an access must not come to it.
        let _inside = Inside::enter();
        let words = crate::lock::read(&self.words).clone();
        let own = || words.map_or_else(|| operation.name().into(), |words| words(operation.name()));
        let (called, place_name) = describe();
        let site = Site {
            operation,
            word: called.unwrap_or_else(own),
            place: place_name,
        };
        let mut known = self.known();
        let number = match known.numbers.get(&site) {
            Some(&number) => number,
            None if known.sites.len() + 1 == SITES => {
                self.full.store(true, Relaxed);
                return 0;
            }
            None => known.add(site),
        };
        // Another thread may have added the key meanwhile: then it is there twice, with one number.
        let key = operation as u16;
        match self
            .probe(place, key)
            .find(|slot| slot.site.load(Relaxed) == 0)
        {
            Some(slot) => {
                slot.place.store(place, Relaxed);
                slot.operation.store(key, Relaxed);
                slot.site.store(number, Release);
            }
            None => self.full.store(true, Relaxed),
        }
        number
    }
}

impl Sites {
    /// Operations are called through the C ABI: places are those of the native callers.
    pub fn name_native_callers(&self) {
        self.native.store(true, Relaxed);
    }

    /// Sets, or removes, the function that returns the place of each call through the C ABI, and the function that returns an
    /// operation's name in the program's language.
    pub fn set_hook(&self, hook: Option<SiteHook>, words: Option<SiteWords>) {
        let hooked = hook.is_some();
        *crate::lock::write(&self.words) = words;
        *crate::lock::write(&self.hook) = hook;
        self.hooked.store(hooked, Release);
    }
}

impl Known {
    fn add(&mut self, site: Site) -> u16 {
        self.sites.push(site.clone());
        let number = self.sites.len() as u16;
        for told in &self.on_new {
            told(number, &site.to_string());
        }
        self.numbers.insert(site, number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn here(sites: &Sites, operation: Operation) -> u16 {
        sites.here(operation, Location::caller())
    }

    #[test]
    fn a_site_is_an_operation_at_a_place() {
        let sites = Sites::new();
        let both: Vec<u16> = (0..2).map(|_| here(&sites, Operation::Put)).collect();
        assert_eq!(both, [1, 1]);
        let line = line!() - 2;
        assert_eq!(here(&sites, Operation::Put), 2);
        assert_eq!(here(&sites, Operation::Get), 3);
        assert_eq!(sites.name(1), format!("put at {}:{line}", file!()));
        assert_eq!(sites.name(3), format!("get at {}:{}", file!(), line + 4));
        assert_eq!(sites.name(0), "an operation at a place that is not known");
    }

    #[test]
    fn a_line_is_that_of_the_call_that_waits() {
        let sites = Sites::new();
        here(&sites, Operation::Barrier);
        let line = line!() - 1;
        let own = format!("{}:{line}", file!());
        assert_eq!(sites.line(Operation::Barrier), Some(own));
        assert_eq!(sites.line(Operation::WaitUntil), None);
        sites.ended_at(Operation::Malloc, Location::caller());
        assert_eq!(sites.line(Operation::Malloc), None);
    }

    #[test]
    fn who_asks_is_told_of_each_site_once() {
        let sites = Sites::new();
        here(&sites, Operation::Put);
        let told: Arc<Mutex<Vec<(u16, String)>>> = Arc::default();
        let list = Arc::clone(&told);
        sites.on_new(move |site, name| list.lock().unwrap().push((site, name.to_string())));
        for _ in 0..3 {
            here(&sites, Operation::Get);
        }
        let told = told.lock().unwrap();
        assert_eq!(
            told.iter().map(|(site, _)| *site).collect::<Vec<_>>(),
            [1, 2]
        );
        assert!(told[0].1.starts_with("put at ") && told[1].1.starts_with("get at "));
    }

    #[test]
    fn a_full_table_gives_0_and_keeps_what_it_has() {
        let sites = Sites::new();
        let number =
            |place: u64| sites.find(Operation::Put, place, || (None, format!("line {place}")));
        for place in 1..SITES as u64 {
            assert_eq!(u64::from(number(place)), place);
        }
        assert_eq!(number(SITES as u64), 0);
        assert_eq!(number(17), 17);
        assert_eq!(sites.name(17), "put at line 17");
    }

    /// Code that is made at run time may go away, and other code come to its address.
    #[test]
    fn an_address_that_the_hook_calls_by_a_new_name_is_a_new_place() {
        let sites = Sites::new();
        let address = CodeAddress::of_instruction(0x1000);
        let named = |name: &'static str| {
            let hook: SiteHook = Arc::new(move |_| Some(name.into()));
            *sites.hook.write().unwrap() = Some(hook);
            sites.at(Operation::Put, sites.ask(address))
        };
        let numbers = ["a.jl:1", "b.jl:2", "a.jl:1"].map(named);
        assert_eq!(numbers, [1, 2, 1]);
        assert_eq!(sites.name(2), "put at b.jl:2");
    }

    #[test]
    fn threads_agree_on_numbers() {
        let sites = Sites::new();
        let all: Vec<Vec<u16>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        let number =
                            |place| sites.find(Operation::Put, place, || (None, place.to_string()));
                        (1..500).map(number).collect()
                    })
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        assert!(all.iter().all(|numbers| *numbers == all[0]));
        assert_eq!(sites.known().sites.len(), 499);
    }
}
