//! Large transfers: MPI reads and writes the memory of the caller.

use crate::error::{Failure, Result, check};
use crate::messages::{count, null, test};
use mpi::ffi;
use nvshmemrs_wire::status;
use std::collections::VecDeque;
use std::ffi::c_int;

/// The longest piece that one call of MPI moves: its lengths are of 31 bits.
const PIECE: usize = 1 << 30;

/// One transfer under way.
struct Transfer {
    token: u64,
    rank: c_int,
    receives: bool,
    /// Its pieces that are not over.
    requests: VecDeque<ffi::MPI_Request>,
    /// Bytes of completed requests.
    moved: usize,
}

/// A transfer that is over.
pub(crate) struct Done {
    pub(crate) token: u64,
    pub(crate) rank: c_int,
    pub(crate) len: usize,
}

/// All that are under way on the communicator of the transfers.
pub(crate) struct Transfers {
    comm: ffi::MPI_Comm,
    transfers: Vec<Transfer>,
    last: u64,
}

impl Transfers {
    pub(crate) fn new(comm: ffi::MPI_Comm) -> Transfers {
        Transfers {
            comm,
            transfers: Vec::new(),
            last: 0,
        }
    }

    /// Begins to send. The lock on MPI is held, as for all that follows.
    ///
    /// # Safety
    /// The bytes must stay readable until the transfer is over.
    pub(crate) unsafe fn send(
        &mut self,
        to: c_int,
        tag: c_int,
        bytes: *const u8,
        len: usize,
    ) -> Result<u64> {
        let comm = self.comm;
        self.begin(to, false, len, |at, piece, request| {
            // SAFETY: the caller promises that the bytes stay.
            let sent = unsafe {
                let bytes = bytes.add(at).cast();
                ffi::MPI_Isend(
                    bytes,
                    piece as c_int,
                    ffi::RSMPI_UINT8_T,
                    to,
                    tag,
                    comm,
                    request,
                )
            };
            check(sent, "MPI_Isend")
        })
    }

    /// Begins to receive.
    ///
    /// # Safety
    /// The bytes must stay writable until the transfer is over, and nobody may hold a reference to them.
    pub(crate) unsafe fn receive(
        &mut self,
        from: c_int,
        tag: c_int,
        bytes: *mut u8,
        len: usize,
    ) -> Result<u64> {
        let comm = self.comm;
        self.begin(from, true, len, |at, piece, request| {
            // SAFETY: the caller promises that the bytes stay, and are MPI's meanwhile.
            let posted = unsafe {
                let bytes = bytes.add(at).cast();
                ffi::MPI_Irecv(
                    bytes,
                    piece as c_int,
                    ffi::RSMPI_UINT8_T,
                    from,
                    tag,
                    comm,
                    request,
                )
            };
            check(posted, "MPI_Irecv")
        })
    }

    fn begin(
        &mut self,
        rank: c_int,
        receives: bool,
        len: usize,
        mut piece: impl FnMut(usize, usize, &mut ffi::MPI_Request) -> Result<()>,
    ) -> Result<u64> {
        self.last += 1;
        let token = self.last;
        let mut requests = VecDeque::with_capacity(len.div_ceil(PIECE));
        let mut begun = Ok(());
        for at in (0..len).step_by(PIECE) {
            let mut request = null();
            begun = piece(at, PIECE.min(len - at), &mut request);
            if begun.is_err() {
                break;
            }
            requests.push_back(request);
        }
        if begun.is_ok() || !requests.is_empty() {
            self.transfers.push(Transfer {
                token,
                rank,
                receives,
                requests,
                moved: 0,
            });
        }
        begun.map(|()| token)
    }

    /// Ends a receive of which nothing has come.
    pub(crate) fn cancel(&mut self, token: u64) -> Result<()> {
        let Some(transfer) = self
            .transfers
            .iter_mut()
            .find(|transfer| transfer.token == token)
        else {
            return Ok(());
        };
        if !transfer.receives {
            let why = "only a token of recv_into can be cancelled";
            return Err(Failure::new(status::ARGUMENT, why));
        }
        for request in &mut transfer.requests {
            // SAFETY: the request is one of a receive that is not over as far as this process knows.
            check(unsafe { ffi::MPI_Cancel(request) }, "MPI_Cancel")?;
        }
        Ok(())
    }

    /// The next transfer that is over, at or after number `*at` of those under way.
    pub(crate) fn next(&mut self, at: &mut usize) -> Result<Option<Done>> {
        while let Some(transfer) = self.transfers.get_mut(*at) {
            while let Some(request) = transfer.requests.front_mut() {
                let tested = test(request);
                if let Ok(None) = tested {
                    break;
                }
                // A transfer that has failed is over, too, and is reported once.
                transfer.requests.pop_front();
                transfer.moved += match tested? {
                    // The status of a send has no count.
                    Some(status) if transfer.receives => count(&status)?,
                    _ => 0,
                };
            }
            if transfer.requests.is_empty() {
                let transfer = self.transfers.remove(*at);
                return Ok(Some(Done {
                    token: transfer.token,
                    rank: transfer.rank,
                    len: transfer.moved,
                }));
            }
            *at += 1;
        }
        Ok(None)
    }

    /// Whether none is under way.
    pub(crate) fn is_empty(&self) -> bool {
        self.transfers.is_empty()
    }
}
