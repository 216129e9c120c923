//! The network between hosts: a plugin's table behind safe functions.
//!
//! # Rules of this module
//!
//! 1. A [`Table`] is made from a table that a plugin has opened, which obeys the contract of `nvshmemrs-wire` and has no other user. One
//!    thread at a time uses it, because its methods take `&mut self`.
//! 2. Memory of a transfer stays valid until its token has completed: the callers of the unsafe methods guarantee that.

use crate::{Error, Pe, Result};
use nvshmemrs_wire::{Event as Raw, Wire as RawWire, event, status};
use std::ffi::{CStr, c_char, c_void};
use std::time::Duration;

/// An event of a wire.
pub enum Event<'a> {
    /// Bytes that a PE has sent, aligned to 8.
    Message(Pe, &'a [u8]),
    /// The transfer of a token has completed. A receive has got so many bytes.
    Done(u64, usize),
    /// A PE cannot be reached any more.
    Lost(Pe),
}

/// The network between PEs, which are its ranks. No method waits, except `close`.
pub trait Wire: Send {
    /// The name of the network, for messages.
    fn name(&self) -> String;

    /// The longest message, in bytes.
    fn longest(&self) -> usize;

    /// The largest tag.
    fn largest_tag(&self) -> u32;

    /// Sends a message, which is copied. Messages of one PE to another arrive in order.
    fn send(&mut self, to: Pe, message: &[u8]) -> Result<()>;

    /// Sends memory to a PE that receives with this tag; returns a token.
    ///
    /// # Safety
    /// The memory must be valid for reads until the token has completed.
    unsafe fn send_from(&mut self, to: Pe, tag: u32, bytes: *const u8, len: usize) -> Result<u64>;

    /// Receives memory that a PE sends with this tag; returns a token.
    ///
    /// # Safety
    /// The memory must be valid for writes, and have no other user, until the token has completed.
    unsafe fn recv_into(&mut self, from: Pe, tag: u32, bytes: *mut u8, len: usize) -> Result<u64>;

    /// Cancels a transfer of `recv_into`, unless it has begun. The token completes in either case.
    fn cancel(&mut self, token: u64);

    /// Makes progress, and passes the events to `found`.
    fn poll(&mut self, found: &mut dyn FnMut(Event<'_>)) -> Result<()>;

    /// The number of messages that are not sent yet; `poll` sends them.
    fn in_flight(&self) -> u64;

    /// Closes the wire when all PEs close theirs, or after `limit`; at once if that is zero.
    fn close(&mut self, limit: Duration);
}

/// A plugin's wire.
pub struct Table {
    raw: *const RawWire,
    closed: bool,
    /// Room for the events of a poll.
    events: Box<[Raw]>,
}

// SAFETY: rule 1; the plugin lets any thread call, one at a time.
unsafe impl Send for Table {}

/// The most events of a poll.
const ROOM: usize = 64;

impl Table {
    /// The wire of a table.
    ///
    /// # Safety
    /// As rule 1 says. The table must be of this version and size, and stay until it is closed.
    pub(crate) unsafe fn new(raw: *const RawWire) -> Table {
        let none = Raw {
            kind: 0,
            rank: 0,
            token: 0,
            bytes: std::ptr::null(),
            len: 0,
        };
        Table {
            raw,
            closed: false,
            events: vec![none; ROOM].into(),
        }
    }

    fn table(&self) -> RawWire {
        // SAFETY: rule 1; each caller of a function of the table checks `closed`.
        unsafe { *self.raw }
    }

    /// The error of a status.
    #[inline]
    fn check(&self, what: &'static str, status: i32) -> Result<()> {
        match status {
            status::OK => Ok(()),
            _ => Err(self.error(what, status)),
        }
    }

    #[cold]
    fn error(&self, what: &'static str, status: i32) -> Error {
        let table = self.table();
        // SAFETY: rule 1: a text that ends with a NUL, valid until the next call.
        let why = unsafe { CStr::from_ptr((table.last_error)(table.ctx)) };
        let why = why.to_string_lossy();
        match status {
            status::ENDED => Error::NotInitialized(
                "the program has called MPI_Finalize, which ends the way to other hosts: finalize nvshmemrs first",
            ),
            // No network has said it, so it says nothing of the PE.
            status::ARGUMENT => Error::Internal(format!(
                "the wire to other hosts refuses a call of the library's: {why}"
            )),
            _ => Error::system(
                what,
                format!("the wire to other hosts reports: {why} (status {status})"),
            ),
        }
    }

    /// This process's rank, and the number of ranks.
    pub fn ranks(&self) -> (Pe, Pe) {
        let table = self.table();
        (table.rank, table.n_ranks)
    }

    /// Returns the bytes of every PE, in order; none if not all have arrived within the limit.
    ///
    /// Collective over all PEs, with equal lengths, before a transport takes the wire.
    pub fn exchange(&mut self, mine: &[u8], limit: Duration) -> Result<Option<Vec<u8>>> {
        let table = self.table();
        let mut all = vec![0; mine.len() * table.n_ranks as usize];
        let limit = limit.as_millis() as u64;
        // SAFETY: both buffers have the lengths that the function goes by; rule 1.
        let status = unsafe {
            (table.exchange)(
                table.ctx,
                mine.as_ptr(),
                mine.len(),
                all.as_mut_ptr(),
                limit,
            )
        };
        if status == status::TIMEOUT {
            return Ok(None);
        }
        self.check("exchanging the descriptions of the hosts", status)?;
        Ok(Some(all))
    }
}

impl Wire for Table {
    fn name(&self) -> String {
        let name: *const c_char = self.table().name;
        // SAFETY: rule 1: a text that ends with a NUL.
        let name = unsafe { CStr::from_ptr(name) };
        name.to_string_lossy().into_owned()
    }

    fn longest(&self) -> usize {
        self.table().max_message
    }

    fn largest_tag(&self) -> u32 {
        self.table().max_tag
    }

    fn send(&mut self, to: Pe, message: &[u8]) -> Result<()> {
        let table = self.table();
        let none = std::ptr::null();
        // SAFETY: the message is borrowed for the call, which copies it; rule 1.
        let status =
            unsafe { (table.send)(table.ctx, to, message.as_ptr(), message.len(), none, 0) };
        self.check("sending to another host", status)
    }

    unsafe fn send_from(&mut self, to: Pe, tag: u32, bytes: *const u8, len: usize) -> Result<u64> {
        let (table, mut token) = (self.table(), 0);
        // SAFETY: the caller's (rule 2), and rule 1.
        let status = unsafe { (table.send_from)(table.ctx, to, tag, bytes, len, &mut token) };
        self.check("sending memory to another host", status)?;
        Ok(token)
    }

    unsafe fn recv_into(&mut self, from: Pe, tag: u32, bytes: *mut u8, len: usize) -> Result<u64> {
        let (table, mut token) = (self.table(), 0);
        // SAFETY: the caller's (rule 2), and rule 1.
        let status = unsafe { (table.recv_into)(table.ctx, from, tag, bytes, len, &mut token) };
        self.check("receiving memory from another host", status)?;
        Ok(token)
    }

    fn cancel(&mut self, token: u64) {
        let table = self.table();
        // A transfer that cannot be cancelled completes; its token is reported.
        // SAFETY: rule 1.
        let _ = unsafe { (table.cancel)(table.ctx, token) };
    }

    fn poll(&mut self, found: &mut dyn FnMut(Event<'_>)) -> Result<()> {
        let table = self.table();
        loop {
            let (events, mut count) = (&mut self.events, 0);
            // SAFETY: there is room for as many events as are said; rule 1.
            let status = unsafe { (table.poll)(table.ctx, events.as_mut_ptr(), ROOM, &mut count) };
            for raw in &events[..count.min(ROOM)] {
                match raw.kind {
                    event::MESSAGE if raw.len > 0 => {
                        // SAFETY: rule 1: the bytes are there until the next poll, which comes after this loop.
                        let bytes = unsafe { std::slice::from_raw_parts(raw.bytes, raw.len) };
                        found(Event::Message(raw.rank, bytes));
                    }
                    event::DONE => found(Event::Done(raw.token, raw.len)),
                    event::LOST => found(Event::Lost(raw.rank)),
                    _ => {}
                }
            }
            self.check("hearing other hosts", status)?;
            if count < ROOM {
                return Ok(());
            }
        }
    }

    fn in_flight(&self) -> u64 {
        let table = self.table();
        // SAFETY: rule 1.
        unsafe { (table.in_flight)(table.ctx) }
    }

    fn close(&mut self, limit: Duration) {
        let (table, closed) = (self.table(), std::mem::replace(&mut self.closed, true));
        if !closed {
            let ctx: *mut c_void = table.ctx;
            // SAFETY: rule 1; it is called once, and nothing after it.
            let _ = unsafe { (table.close)(ctx, limit.as_millis() as u64) };
        }
    }
}
