//! Loads and stores of the program itself, announced to the checker by the hooks of an instrumented program, or explicitly; and the
//! lookup of call sites.

use crate::runtime::Inner;
use crate::sites::inside::Inside;
use crate::sites::{Access, CodeAddress, SiteHook, SiteWords};
use crate::{Result, Runtime};
use std::panic::Location;
use std::sync::{Arc, Weak};

/// Takes the accesses of a PE's program. After the PE has left they are ignored. It keeps no object of the PE alive.
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
    pub fn announce(&self, access: Access, address: u64, bytes: usize, place: Option<CodeAddress>) {
        if let Some(inner) = self.inner.upgrade() {
            inner.announce(access, address, bytes, place);
        }
    }
}

impl Inner {
    #[inline]
    #[track_caller]
    fn announce(&self, access: Access, address: u64, bytes: usize, place: Option<CodeAddress>) {
        if let Some(observer) = self.transport.observer()
            && observer.concerns(address, bytes as u64)
            && self.ready().is_ok()
            && let Some(sites) = &self.sites
        {
            // Inside, the result of `concerns` no longer holds.
            let _inside = Inside::enter();
            if place.is_some() {
                // Hooks announce all instructions; announcements by hand may be incomplete.
                observer.reports_accesses();
            }
            let site = match place {
                Some(place) => sites.at(access.operation(), place),
                None => sites.here(access.operation(), Location::caller()),
            };
            observer.plain_access(access, address, bytes as u64, site);
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
        place: Option<CodeAddress>,
    ) -> Result<()> {
        self.inner.ready()?;
        self.inner.announce(access, address, bytes, place);
        Ok(())
    }

    /// The receiver of the program's accesses, if the checker is on. Local.
    pub fn accesses(&self) -> Option<Accesses> {
        self.inner.transport.observer().map(|_| Accesses {
            inner: Arc::downgrade(&self.inner),
        })
    }
}

impl Runtime {
    /// Declares that operations are called through the C ABI, whose functions begin at the addresses `exports`: then call sites are
    /// those of the native callers. Local.
    pub fn name_native_callers(&self, exports: impl FnOnce() -> Vec<u64>) {
        match &self.inner.sites {
            Some(sites) => {
                CodeAddress::set_exports(exports);
                sites.name_native_callers();
            }
            None => self.inner.callers.are_native(exports),
        }
    }

    /// The call site of the C ABI, if this runtime records call sites: for work that another thread runs. Local.
    #[inline]
    pub fn calling_place(&self) -> Option<CodeAddress> {
        let sites = self.inner.sites.as_ref()?;
        // In a forked child other threads' locks may be held for ever.
        self.inner.ready().ok()?;
        Some(sites.calling())
    }

    /// A place that [`calling_place`](Runtime::calling_place) gave, in words. Local.
    pub fn describe_place(&self, place: CodeAddress) -> String {
        match &self.inner.sites {
            Some(sites) => sites.describe(place),
            None => place.describe(),
        }
    }

    /// Sets, or removes, the function that returns the call site of each call through the C ABI, and the function that returns an
    /// operation's name in the program's language. Local.
    pub fn set_site_hook(&self, hook: Option<SiteHook>, words: Option<SiteWords>) {
        match &self.inner.sites {
            Some(sites) => sites.set_hook(hook, words),
            None => self.inner.callers.set_hook(hook),
        }
    }
}
