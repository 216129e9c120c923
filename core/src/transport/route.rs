//! Dispatches an operation to its transport: host memory is inlined, all others are one cold call.
//!
//! `called` is the name of an operation for the program; observers report that name and the call site, so these methods are `#[track_caller]`,
//! as are the functions that lead to them. On host memory an operation costs one comparison more than the transport's own. Internal operations
//! of the library (moving the data of a collective, polling a word) bypass the checker, [`internal`](Route::internal).

use super::host::HostTransport;
use super::net::{Connected, NetTransport};
use super::{
    Atomic, AtomicRequest, Body, Call, Collectives, CopyRequest, Found, GetRequest, HostDriven,
    Issuer, Joined, LocalTransport, Memory, Nbi, Observer, Properties, PutRequest, Reply, Request,
    Search, SignalUpdate, Streams, Submission, Transport, Width, execute_internal,
};
use crate::buffer::{LocalDest, LocalSource, SymRange};
use crate::job::block::Control;
use crate::operation::Operation;
use crate::strides::Transfer;
use crate::{Pe, Result};
use bytemuck::Pod;
use std::any::Any;
use std::panic::Location;
use std::sync::Arc;

/// The transport of a runtime. The discriminant is explicit, so that one comparison selects the variant: the compiler would hide it in a field.
#[repr(u64)]
pub(crate) enum Route {
    /// Host memory. Not behind a table of functions: an 8-byte put takes a few nanoseconds, of which an indirect call would be a large part.
    Host(HostTransport),
    /// Host memory of several hosts. Operations on PEs of this host are as in [`Host`](Route::Host), and as fast.
    Hosts(NetTransport),
    /// Any other.
    Other(Box<dyn Transport>),
}

impl Route {
    /// The transport of a PE that has joined a job on one host. If the job is checked, no operation is enqueued on a GPU unseen.
    pub(crate) fn joined(joined: Joined, control: &Control) -> Result<Joined<Route>> {
        let checked = control.check_seed().is_some();
        let mut device_access = None;
        let route = |transport| -> Result<Route> {
            Ok(match transport {
                LocalTransport::Host(host) => Route::Host(host),
                LocalTransport::Device(device) if checked => {
                    let driven = HostDriven::new(device)?;
                    device_access = Some(Arc::clone(driven.device()));
                    Route::Other(Box::new(driven))
                }
                LocalTransport::Device(device) => Route::Other(device),
            })
        };
        let mut joined = joined.with(route).transpose()?;
        joined.access.device = device_access;
        Ok(joined)
    }
}

impl From<Connected> for Route {
    fn from(transport: Connected) -> Route {
        match transport {
            Connected::Host(hosts) => Route::Hosts(hosts),
            Connected::Device(device) => Route::Other(device),
        }
    }
}

/// Marks the branch that calls it as unlikely.
#[cold]
fn cold() {}

impl Route {
    /// The transport, of any kind.
    pub(crate) fn any(&self) -> &dyn Transport {
        match self {
            Route::Host(host) => host,
            Route::Hosts(hosts) => hosts,
            Route::Other(other) => &**other,
        }
    }

    /// See [`Transport::properties`].
    pub(crate) fn properties(&self) -> Properties {
        self.any().properties()
    }

    /// See [`Transport::memory`].
    pub(crate) fn memory(&self) -> &dyn Memory {
        self.any().memory()
    }

    /// The same, to wrap.
    pub(crate) fn boxed(self) -> Box<dyn Transport> {
        match self {
            Route::Host(host) => Box::new(host),
            Route::Hosts(hosts) => Box::new(hosts),
            Route::Other(other) => other,
        }
    }

    /// The transport below any wrapper, for internal operations of the library.
    #[inline(always)]
    pub(crate) fn internal(&self) -> Internal<'_> {
        match self {
            Route::Host(host) => Internal::Host(host),
            Route::Hosts(hosts) => Internal::Hosts(hosts),
            Route::Other(other) => Internal::below(&**other),
        }
    }

    /// The observer of the program's calls, if there is one.
    #[inline(always)]
    pub(crate) fn observer(&self) -> Option<&dyn Observer> {
        match self {
            Route::Host(_) | Route::Hosts(_) => None,
            Route::Other(other) => {
                cold();
                other.observer()
            }
        }
    }

    /// See [`Transport::collectives`].
    #[inline(always)]
    pub(crate) fn collectives(&self) -> Option<&dyn Collectives> {
        match self {
            Route::Host(_) | Route::Hosts(_) => None,
            Route::Other(other) => {
                cold();
                other.collectives()
            }
        }
    }

    /// See [`Transport::search`].
    #[inline(always)]
    pub(crate) fn search<'a>(
        &self,
        submission: Submission,
        search: impl FnOnce() -> Search<'a>,
    ) -> Option<Result<Found>> {
        match (self, submission) {
            (Route::Host(_) | Route::Hosts(_), _) | (_, Submission::Blocking) => None,
            (Route::Other(other), Submission::Stream(_)) => {
                cold();
                other.search(submission, &search())
            }
        }
    }

    /// See [`Transport::streams`].
    pub(crate) fn streams(&self) -> Option<&dyn Streams> {
        self.any().streams()
    }

    /// Called during a wait; delayed operations may be delivered meanwhile.
    pub(crate) fn progress(&self) {
        match self {
            Route::Host(_) => {}
            Route::Hosts(hosts) => hosts.progress(),
            Route::Other(other) => other.progress(),
        }
    }

    /// The program is about to read words of this PE.
    #[inline(always)]
    pub(crate) fn look(&self, words: SymRange) {
        if let Some(observer) = self.observer() {
            observer.look(words);
        }
    }

    /// The program has read the value of a word of this PE that is written atomically, or that it waits for.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn acquired(&self, element: SymRange, value: u64, called: Operation) {
        if let Some(observer) = self.observer() {
            observer.acquired(element, value, observer.site(called, Location::caller()));
        }
    }

    /// An operation of the program, as `called` there, to be given its arguments.
    #[inline(always)]
    pub(crate) fn issue(&self, issuer: impl Into<Issuer>, called: Operation) -> Issued<'_> {
        Issued {
            route: self,
            issuer: issuer.into(),
            called,
        }
    }

    /// The host transport, if the operation stays on this host: in a job on several hosts `is_local` decides. In a job on one host
    /// it is not called, so that this branch is as short as if there were no other.
    #[inline(always)]
    fn host_if(
        &self,
        is_local: impl FnOnce(&NetTransport) -> bool,
    ) -> std::result::Result<&HostTransport, &dyn Transport> {
        cold();
        match self {
            Route::Host(host) => Ok(host),
            Route::Hosts(hosts) if is_local(hosts) => Ok(hosts.local()),
            Route::Hosts(hosts) => Err(hosts),
            Route::Other(other) => Err(&**other),
        }
    }
}

/// An operation of the program on its way to the transport.
pub(crate) struct Issued<'a> {
    route: &'a Route,
    issuer: Issuer,
    called: Operation,
}

impl Issued<'_> {
    /// A call of the caller's caller.
    #[inline(always)]
    #[track_caller]
    fn call(&self) -> Call {
        Call {
            submission: self.issuer.submission,
            context: self.issuer.context,
            called: self.called,
            at: Location::caller(),
        }
    }

    /// A put of a value of at most 16 bytes.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn put_value<T: Pod>(self, pe: Pe, dest: u64, value: T) -> Result<()> {
        let on_host = |host: &HostTransport| host.put(pe, dest, LocalSource::from(&[value]));
        match self.route {
            Route::Host(host) => on_host(host),
            elsewhere => match elsewhere.host_if(|hosts| hosts.is_local(pe)) {
                Ok(host) => on_host(host),
                Err(other) => return put_value(other, self.call(), pe, dest, value),
            },
        }
        Ok(())
    }

    /// A get of a value of at most 16 bytes.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn get_value<T: Pod>(self, pe: Pe, source: u64) -> Result<T> {
        let on_host = |host: &HostTransport| {
            let mut value = [T::zeroed()];
            host.get(pe, source, LocalDest::from(&mut value));
            Ok(value[0])
        };
        match self.route {
            Route::Host(host) => on_host(host),
            elsewhere => match elsewhere.host_if(|hosts| hosts.is_local(pe)) {
                Ok(host) => on_host(host),
                Err(other) => get_value(other, self.call(), pe, source),
            },
        }
    }
}

#[cold]
#[inline(never)]
fn put_value<T: Pod>(other: &dyn Transport, call: Call, pe: Pe, dest: u64, value: T) -> Result<()> {
    let bytes = size_of::<T>();
    let mut words = [0; 2];
    bytemuck::bytes_of_mut(&mut words)[..bytes].copy_from_slice(bytemuck::bytes_of(&value));
    let body = Body::PutValue {
        pe,
        dest,
        value: words,
        bytes,
    };
    other.execute(Request { call, body }).map(drop)
}

#[cold]
#[inline(never)]
fn get_value<T: Pod>(other: &dyn Transport, call: Call, pe: Pe, source: u64) -> Result<T> {
    let bytes = size_of::<T>();
    let body = Body::GetValue { pe, source, bytes };
    let words = other.execute(Request { call, body })?;
    Ok(bytemuck::pod_read_unaligned(super::bytes_of(&words, bytes)))
}

/// The value that an operation returns, from the reply to its request.
trait FromReply {
    fn from_reply(reply: Reply) -> Self;
}

impl FromReply for () {
    fn from_reply(_: Reply) {}
}

impl FromReply for u64 {
    fn from_reply(reply: Reply) -> u64 {
        reply[0]
    }
}

/// Defines the program's operations, each as two functions: the case of host memory is inlined; other transports are out of line, so that they
/// do not slow it down.
macro_rules! operations {
    ($(
        $(#[$about:meta])*
        fn $name:ident / $cold_path:ident($($argument:ident: $kind:ty),*) -> $out:ty, if $is_local:ident($($of:ident)?) {
            host: |$host:ident| $on_host:expr,
            body: $body:expr $(,)?
        }
    )*) => { $(
        #[allow(clippy::too_many_arguments, reason = "they are the operation's, and its submission")]
        #[allow(unused_variables, reason = "operations without this argument do not use it")]
        #[cold]
        #[inline(never)]
        fn $cold_path(other: &dyn Transport, call: Call, $($argument: $kind),*) -> Result<$out> {
            other.execute(Request { call, body: $body }).map(FromReply::from_reply)
        }

        impl Issued<'_> {
            $(#[$about])*
            #[inline(always)]
            #[track_caller]
            pub(crate) fn $name(self, $($argument: $kind),*) -> Result<$out> {
                match self.route {
                    Route::Host($host) => Ok($on_host),
                    elsewhere => match elsewhere.host_if(|hosts| hosts.$is_local($($of)?)) {
                        Ok($host) => Ok($on_host),
                        Err(other) => $cold_path(other, self.call(), $($argument),*),
                    },
                }
            }
        }
    )* };
}

// Each has a submission. On host memory they are complete when they return; a stream runs them in order.
operations! {
    /// See [`Body::Put`].
    fn put / put_elsewhere(pe: Pe, dest: u64, source: LocalSource<'_>) -> (), if is_local(pe) {
        host: |host| host.put(pe, dest, source),
        body: Body::Put(PutRequest { pe, dest, source }, Nbi::No),
    }

    /// See [`Body::Get`].
    fn get / get_elsewhere(pe: Pe, source: u64, dest: LocalDest<'_>) -> (), if is_local(pe) {
        host: |host| host.get(pe, source, dest),
        body: Body::Get(GetRequest { pe, source, dest }, Nbi::No),
    }

    /// See [`Body::Put`]. `lasts`: the source may be read until quiet.
    fn put_nbi / put_nbi_elsewhere(pe: Pe, dest: u64, source: LocalSource<'_>, lasts: bool) -> (), if is_local(pe) {
        host: |host| host.put(pe, dest, source),
        body: Body::Put(PutRequest { pe, dest, source }, Nbi::Yes { lasts }),
    }

    /// See [`Body::Get`]. `lasts`: `dest` may be written until quiet.
    fn get_nbi / get_nbi_elsewhere(pe: Pe, source: u64, dest: LocalDest<'_>, lasts: bool) -> (), if is_local(pe) {
        host: |host| host.get(pe, source, dest),
        body: Body::Get(GetRequest { pe, source, dest }, Nbi::Yes { lasts }),
    }

    /// See [`Body::PutBlocks`].
    fn put_blocks / put_blocks_elsewhere(pe: Pe, dest: u64, source: LocalSource<'_>, transfer: &Transfer) -> (), if is_local(pe) {
        host: |host| host.put_blocks(pe, dest, source, transfer),
        body: Body::PutBlocks(PutRequest { pe, dest, source }, transfer),
    }

    /// See [`Body::GetBlocks`].
    fn get_blocks / get_blocks_elsewhere(pe: Pe, source: u64, dest: LocalDest<'_>, transfer: &Transfer) -> (), if is_local(pe) {
        host: |host| host.get_blocks(pe, source, dest, transfer),
        body: Body::GetBlocks(GetRequest { pe, source, dest }, transfer),
    }

    /// See [`Body::Atomic`].
    fn atomic / atomic_elsewhere(pe: Pe, offset: u64, width: Width, operation: Atomic) -> u64, if is_local(pe) {
        host: |host| host.atomic(pe, offset, width, operation),
        body: Body::Atomic(AtomicRequest { pe, offset, width, operation, fetches: true }),
    }

    /// As [`atomic`](Issued::atomic), without the old value.
    fn atomic_update / atomic_update_elsewhere(pe: Pe, offset: u64, width: Width, operation: Atomic) -> (), if is_local(pe) {
        host: |host| {
            host.atomic(pe, offset, width, operation);
        },
        body: Body::Atomic(AtomicRequest { pe, offset, width, operation, fetches: false }),
    }

    /// See [`Body::Signal`].
    fn signal / signal_elsewhere(pe: Pe, update: SignalUpdate) -> (), if is_local(pe) {
        host: |host| host.signal(pe, update.offset, update.value, update.op),
        body: Body::Signal { pe, update },
    }

    /// See [`Body::PutSignal`].
    fn put_signal / put_signal_elsewhere(
        pe: Pe, dest: u64, source: LocalSource<'_>, update: SignalUpdate, nbi: Nbi
    ) -> (), if is_local(pe) {
        host: |host| {
            host.put(pe, dest, source);
            host.signal(pe, update.offset, update.value, update.op);
        },
        body: Body::PutSignal(PutRequest { pe, dest, source }, update, nbi),
    }

    /// See [`Body::Read`].
    fn read / read_elsewhere(me: Pe, source: SymRange, dest: LocalDest<'_>) -> (), if is_local(me) {
        host: |host| host.get(me, source.offset(), dest),
        body: Body::Read { me, source, dest },
    }

    /// See [`Body::Write`].
    fn write / write_elsewhere(me: Pe, dest: SymRange, source: LocalSource<'_>) -> (), if is_local(me) {
        host: |host| host.put(me, dest.offset(), source),
        body: Body::Write { me, dest, source },
    }

    /// See [`Body::Fence`].
    fn fence / fence_elsewhere() -> (), if is_idle() {
        host: |host| host.fence(),
        body: Body::Fence,
    }

    /// See [`Body::Quiet`].
    fn quiet / quiet_elsewhere() -> (), if is_idle() {
        host: |host| host.quiet(),
        body: Body::Quiet,
    }

    /// See [`Body::QuietBeforeRelease`].
    fn quiet_before_release / quiet_before_release_elsewhere() -> (), if is_idle() {
        // The release itself orders the stores that came before it.
        host: |_host| (),
        body: Body::QuietBeforeRelease,
    }
}

/// The transport below any wrapper, for internal operations of the library. Errors are recorded: the next meeting returns them, and
/// [`failure`](Internal::failure) does.
#[derive(Clone, Copy)]
pub(crate) enum Internal<'a> {
    Host(&'a HostTransport),
    Hosts(&'a NetTransport),
    Other(&'a dyn Transport),
}

/// Defines the internal operations.
macro_rules! internal {
    ($($(#[$about:meta])* fn $name:ident($($argument:ident: $kind:ty),*) -> $out:ty
        = |$hosts:ident| $is_local:expr, |$host:ident| $on_host:expr, $called:expr => $body:expr;)*) => {
        impl Internal<'_> { $(
            $(#[$about])*
            #[inline(always)]
            pub(crate) fn $name(self, $($argument: $kind),*) -> $out {
                match self {
                    Internal::Host($host) => $on_host,
                    elsewhere => match elsewhere.host_if(|$hosts| $is_local) {
                        Ok($host) => $on_host,
                        Err(other) => FromReply::from_reply(execute_internal(other, $called, $body)),
                    },
                }
            }
        )* }
    };
}

internal! {
    /// See [`Body::Put`].
    fn put(pe: Pe, dest: u64, source: LocalSource<'_>) -> ()
        = |hosts| hosts.is_local(pe), |host| host.put(pe, dest, source), Operation::Put => Body::Put(PutRequest { pe, dest, source }, Nbi::No);
    /// See [`Body::Get`].
    fn get(pe: Pe, source: u64, dest: LocalDest<'_>) -> ()
        = |hosts| hosts.is_local(pe), |host| host.get(pe, source, dest), Operation::Get => Body::Get(GetRequest { pe, source, dest }, Nbi::No);
    /// See [`Body::Copy`].
    fn copy(to: Pe, dest: u64, from: Pe, source: u64, bytes: u64) -> ()
        = |hosts| hosts.is_local(to) && hosts.is_local(from), |host| host.copy(to, dest, from, source, bytes), Operation::Get => Body::Copy(CopyRequest { to, dest, from, source, bytes });
    /// See [`Body::Load`].
    fn load(called: Operation, offset: u64, bytes: usize) -> u64
        = |_hosts| true, |host| host.load(offset, bytes), called => Body::Load { offset, bytes };
    /// Reads this PE's copy of the signal at `offset`, with acquire.
    fn signal_fetch(called: Operation, offset: u64) -> u64
        = |_hosts| true, |host| host.load(offset, size_of::<u64>()), called => Body::Load { offset, bytes: size_of::<u64>() };
    /// See [`Body::QuietBeforeRelease`].
    fn quiet_before_release() -> () = |hosts| hosts.is_idle(), |_host| (), Operation::Quiet => Body::QuietBeforeRelease;
}

impl<'a> Internal<'a> {
    /// The transport below the wrappers. Host memory keeps its short way: a wait looks at its word many times.
    #[cold]
    #[inline(never)]
    fn below(other: &'a dyn Transport) -> Internal<'a> {
        let below = other.unwatched().unwrap_or(other);
        let any: &dyn Any = below;
        match any.downcast_ref::<HostTransport>() {
            Some(host) => Internal::Host(host),
            None => Internal::Other(below),
        }
    }

    /// See [`Memory::zero`](super::Memory::zero).
    pub(crate) fn zero(self, range: SymRange) {
        match self.host_if(|_| true) {
            Ok(host) => host.zero(range),
            Err(other) => other
                .memory()
                .zero(range)
                .unwrap_or_else(|error| other.keep(error)),
        }
    }

    /// As [`Route::host_if`].
    #[inline(always)]
    fn host_if(
        self,
        is_local: impl FnOnce(&NetTransport) -> bool,
    ) -> std::result::Result<&'a HostTransport, &'a dyn Transport> {
        match self {
            Internal::Host(host) => Ok(host),
            Internal::Hosts(hosts) if is_local(hosts) => Ok(hosts.local()),
            Internal::Hosts(hosts) => {
                cold();
                Err(hosts)
            }
            Internal::Other(other) => Err(other),
        }
    }

    /// See [`Body::GetAll`].
    pub(crate) fn get_many(self, requests: Vec<GetRequest<'_>>) {
        match self.host_if(|_| false) {
            Ok(host) => (requests.into_iter())
                .for_each(|GetRequest { pe, source, dest }| host.get(pe, source, dest)),
            Err(other) => {
                execute_internal(other, Operation::Get, Body::GetAll(requests));
            }
        }
    }

    /// See [`Transport::failure`].
    #[inline(always)]
    pub(crate) fn failure(self) -> Result<()> {
        match self {
            Internal::Host(_) => Ok(()),
            Internal::Hosts(hosts) => hosts.failure(),
            Internal::Other(other) => other.failure(),
        }
    }

    /// Whether reading a word is slow: see [`Properties`](super::Properties).
    #[inline(always)]
    pub(crate) fn polling_is_slow(self) -> bool {
        match self {
            Internal::Host(_) | Internal::Hosts(_) => false,
            Internal::Other(other) => other.properties().polling_is_slow,
        }
    }
}
