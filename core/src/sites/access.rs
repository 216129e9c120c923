//! Loads and stores of the program itself, announced to the checker: by the hooks of an instrumented program, or by hand.

use super::Place;
use crate::runtime::Inner;
use crate::{Result, Runtime};
use std::panic::Location;
use std::sync::{Arc, Weak};

/// What the program does to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads it.
    Load,
    /// Writes it.
    Store,
    /// Reads it by an atomic instruction; announced after it.
    AtomicLoad,
    /// Writes it, or reads and writes it, by an atomic instruction; announced before it.
    AtomicStore,
}

impl Access {
    fn name(self) -> &'static str {
        match self {
            Access::Load => "load",
            Access::Store => "store",
            Access::AtomicLoad => "atomic load",
            Access::AtomicStore => "atomic store",
        }
    }
}

/// Takes the accesses of a PE's program, also after the PE has left: then they mean nothing. It keeps nothing of the PE's alive.
#[derive(Clone)]
pub struct Accesses {
    inner: Weak<Inner>,
}

impl std::fmt::Debug for Accesses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.inner.upgrade() {
            Some(inner) => write!(f, "Accesses(PE {})", inner.my_pe),
            None => write!(f, "Accesses(of a PE that has left)"),
        }
    }
}

impl Accesses {
    /// As [`Runtime::check_access`]. It costs a few nanoseconds if the access does not concern the checker.
    #[inline]
    #[track_caller]
    pub fn announce(&self, access: Access, address: u64, bytes: usize, place: Option<Place>) {
        if let Some(inner) = self.inner.upgrade() {
            inner.announce(access, address, bytes, place);
        }
    }
}

impl Inner {
    #[inline]
    #[track_caller]
    fn announce(&self, access: Access, address: u64, bytes: usize, place: Option<Place>) {
        if let Some(checker) = self.transport.checker()
            && checker.concerns(address, bytes as u64)
            && self.ready().is_ok()
            && let Some(sites) = &self.sites
        {
            // What `concerns` says is no longer so inside.
            let _inside = checker.enter();
            let site = match place {
                Some(place) => sites.at(access.name(), place),
                None => sites.here(access.name(), Location::caller()),
            };
            checker.plain_access(access, address, bytes as u64, site);
        }
    }
}

impl Runtime {
    /// Announces an access of this PE's program to `bytes` bytes at `address`, in its own symmetric memory, where
    /// [`ptr`](Runtime::ptr) has found another PE's, or in a buffer that a non-blocking operation uses; at `place`, else at the
    /// caller's. Without the checker, or elsewhere, it does nothing.
    ///
    /// Local. Errors: the runtime has ended.
    #[track_caller]
    pub fn check_access(
        &self,
        access: Access,
        address: u64,
        bytes: usize,
        place: Option<Place>,
    ) -> Result<()> {
        self.inner.ready()?;
        self.inner.announce(access, address, bytes, place);
        Ok(())
    }

    /// What takes the accesses of the program, if the checker is on. Local.
    pub fn accesses(&self) -> Option<Accesses> {
        self.inner.transport.checker().map(|_| Accesses {
            inner: Arc::downgrade(&self.inner),
        })
    }
}
