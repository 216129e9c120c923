//! Short messages: copied into slots on both sides.
//!
//! A ring of receives from any rank is posted all the time. MPI matches messages with receives in the order of posting, so the oldest
//! receive gets the oldest message, and only that receive is tested. Messages without a free receive wait inside MPI.

use crate::error::{Result, check};
use mpi::ffi;
use std::collections::VecDeque;
use std::ffi::c_int;

/// The longest message. Longer ones would leave the fast path of the usual networks.
pub(crate) const MAX_MESSAGE: usize = 8192;
/// Receives that are posted at a time.
const RECEIVES: usize = 64;
/// Slots that are kept for further sends.
const KEPT: usize = 256;
/// The only tag of messages.
const TAG: c_int = 0;

/// Memory of one message, aligned to 8 bytes. MPI reads or writes it while its request is open.
struct Slot(Box<[u64]>);

impl Slot {
    fn new() -> Slot {
        Slot(vec![0; MAX_MESSAGE / 8].into_boxed_slice())
    }

    fn bytes(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// A message that has come.
pub(crate) struct Message {
    pub(crate) from: c_int,
    pub(crate) bytes: *const u8,
    pub(crate) len: usize,
}

/// The receives and sends in flight on the communicator of the messages.
pub(crate) struct Messages {
    comm: ffi::MPI_Comm,
    /// Posted, the oldest first.
    receives: VecDeque<(Slot, ffi::MPI_Request)>,
    /// Returned to the caller, until its next call.
    given: Vec<Slot>,
    /// Sent, the oldest first, and not yet taken by MPI.
    sends: VecDeque<Sent>,
    free: Vec<Slot>,
    /// Ranks that MPI could not send to, and whether they have been reported.
    lost: Vec<(c_int, bool)>,
}

/// A message on its way.
struct Sent {
    to: c_int,
    slot: Slot,
    request: ffi::MPI_Request,
}

impl Messages {
    /// Posts the receives. The lock on MPI is held, as for all that follows.
    pub(crate) fn new(comm: ffi::MPI_Comm) -> Result<Messages> {
        let mut messages = Messages {
            comm,
            receives: VecDeque::with_capacity(RECEIVES),
            given: Vec::new(),
            sends: VecDeque::new(),
            free: Vec::new(),
            lost: Vec::new(),
        };
        for _ in 0..RECEIVES {
            messages.post(Slot::new())?;
        }
        Ok(messages)
    }

    fn post(&mut self, mut slot: Slot) -> Result<()> {
        let mut request = null();
        // SAFETY: the slot lives in the ring until its request is over, and nobody looks at it meanwhile.
        let posted = unsafe {
            ffi::MPI_Irecv(
                slot.bytes().cast(),
                MAX_MESSAGE as c_int,
                ffi::RSMPI_UINT8_T,
                ffi::RSMPI_ANY_SOURCE,
                TAG,
                self.comm,
                &mut request,
            )
        };
        check(posted, "MPI_Irecv")?;
        self.receives.push_back((slot, request));
        Ok(())
    }

    /// Takes back the messages that were given to the caller.
    pub(crate) fn take_back(&mut self) -> Result<()> {
        while let Some(slot) = self.given.pop() {
            self.post(slot)?;
        }
        Ok(())
    }

    /// The next message, if one has come. Its memory stays until [`take_back`](Messages::take_back).
    pub(crate) fn next(&mut self) -> Result<Option<Message>> {
        let Some((_, request)) = self.receives.front_mut() else {
            return Ok(None);
        };
        let Some(status) = test(request)? else {
            return Ok(None);
        };
        let Some((mut slot, _)) = self.receives.pop_front() else {
            return Ok(None);
        };
        let message = Message {
            from: status.MPI_SOURCE,
            bytes: slot.bytes(),
            len: length(&status)?,
        };
        self.given.push(slot);
        Ok(Some(message))
    }

    /// Sends a message of two parts, which together are at most [`MAX_MESSAGE`] bytes.
    ///
    /// # Safety
    /// Both parts must be readable.
    pub(crate) unsafe fn send(&mut self, to: c_int, parts: [(*const u8, usize); 2]) -> Result<()> {
        self.reap();
        let mut slot = self.free.pop().unwrap_or_else(Slot::new);
        let mut len = 0;
        for (bytes, part) in parts {
            if part > 0 {
                // SAFETY: the caller promises the source, and both parts fit the slot, which nobody else uses.
                unsafe { std::ptr::copy_nonoverlapping(bytes, slot.bytes().add(len), part) };
            }
            len += part;
        }
        let mut request = null();
        // SAFETY: the slot lives in the queue until its request is over.
        let sent = unsafe {
            ffi::MPI_Isend(
                slot.bytes().cast(),
                len as c_int,
                ffi::RSMPI_UINT8_T,
                to,
                TAG,
                self.comm,
                &mut request,
            )
        };
        check(sent, "MPI_Isend")?;
        // MPI has taken most of them by now.
        let sent = Sent { to, slot, request };
        if let Some(sent) = self.try_settle(sent) {
            self.sends.push_back(sent);
        }
        Ok(())
    }

    /// Reclaims the slot of a completed send; returns the send if it is in flight. A failed send means that its receiver is lost, and
    /// says nothing about other ranks.
    fn try_settle(&mut self, mut sent: Sent) -> Option<Sent> {
        match test(&mut sent.request) {
            Ok(None) => return Some(sent),
            Ok(Some(_)) if self.free.len() < KEPT => self.free.push(sent.slot),
            Ok(Some(_)) => {}
            Err(_) => {
                // MPI may still read it.
                std::mem::forget(sent.slot);
                self.lose(sent.to);
            }
        }
        None
    }

    /// Takes back the slots of messages that MPI has taken meanwhile.
    pub(crate) fn reap(&mut self) {
        while let Some(sent) = self.sends.pop_front() {
            if let Some(sent) = self.try_settle(sent) {
                self.sends.push_front(sent);
                return;
            }
        }
    }

    /// A rank cannot be reached.
    pub(crate) fn lose(&mut self, rank: c_int) {
        if self.lost.iter().all(|(lost, _)| *lost != rank) {
            self.lost.push((rank, false));
        }
    }

    /// A rank that is lost, each once.
    pub(crate) fn lost(&mut self) -> Option<c_int> {
        let (rank, told) = self.lost.iter_mut().find(|(_, told)| !*told)?;
        *told = true;
        Some(*rank)
    }

    /// Messages that MPI has not taken yet.
    pub(crate) fn in_flight(&self) -> usize {
        self.sends.len()
    }

    /// Cancels the receives. Memory that MPI may still use is never freed.
    pub(crate) fn end(mut self) -> Result<()> {
        let mut ended = Ok(());
        while let Some((slot, mut request)) = self.receives.pop_front() {
            // SAFETY: the request is one of a receive that is not over as far as this process knows.
            let cancelled = check(unsafe { ffi::MPI_Cancel(&mut request) }, "MPI_Cancel");
            // A cancelled receive is over at once where MPI cancels locally, as it does for a receive without a match.
            let over = cancelled.and_then(|()| test(&mut request));
            if !matches!(over, Ok(Some(_))) {
                ended = ended.and(over.map(|_| ()));
                std::mem::forget(slot);
            }
        }
        self.forget();
        ended
    }

    /// Gives up all that is under way without a call to MPI, which may still use the memory.
    pub(crate) fn forget(mut self) {
        self.receives.drain(..).for_each(std::mem::forget);
        let sent = self.sends.drain(..).map(|sent| sent.slot);
        sent.for_each(std::mem::forget);
    }
}

/// No request.
pub(crate) fn null() -> ffi::MPI_Request {
    // SAFETY: it is a constant of MPI's.
    unsafe { ffi::RSMPI_REQUEST_NULL }
}

/// The status of a request, if it is over.
pub(crate) fn test(request: &mut ffi::MPI_Request) -> Result<Option<ffi::MPI_Status>> {
    let mut done: c_int = 0;
    let mut status = std::mem::MaybeUninit::<ffi::MPI_Status>::zeroed();
    // SAFETY: the request is open, and MPI writes the two answers. A status is plain numbers, for which 0 will do.
    let (tested, status) = unsafe {
        let tested = ffi::MPI_Test(request, &mut done, status.as_mut_ptr());
        (tested, status.assume_init())
    };
    check(tested, "MPI_Test")?;
    Ok((done != 0).then_some(status))
}

/// How many bytes came; 0 for a receive that was cancelled.
pub(crate) fn count(status: &ffi::MPI_Status) -> Result<usize> {
    let mut cancelled: c_int = 0;
    // SAFETY: the status is that of a request that is over.
    let tested = unsafe { ffi::MPI_Test_cancelled(status, &mut cancelled) };
    check(tested, "MPI_Test_cancelled")?;
    match cancelled {
        0 => length(status),
        _ => Ok(0),
    }
}

/// How many bytes came with a receive that was not cancelled.
fn length(status: &ffi::MPI_Status) -> Result<usize> {
    let mut count: c_int = 0;
    // SAFETY: the status is that of a request that is over.
    let counted = unsafe { ffi::MPI_Get_count(status, ffi::RSMPI_UINT8_T, &mut count) };
    check(counted, "MPI_Get_count")?;
    Ok(usize::try_from(count).unwrap_or(0))
}
