//! nvshmemrs's wire over MPI: `libnvshmemrs_mpi.so`, which libnvshmemrs loads when a job has PEs on several hosts.
//!
//! It exports one symbol, [`nvshmemrs_wire_open`], and fills in the table of [`nvshmemrs_wire`].
//!
//! * [`mod@start`] initialises MPI unless the program has, and finalises an MPI that it has initialised.
//! * [`messages`] sends and receives short messages, [`transfers`] moves large data without a copy.
//! * [`table`] is the boundary: it checks arguments, turns panics and errors into a status, and holds the [lock on MPI](start::lock_mpi).
//!
//! # Rules for `unsafe`
//! * MPI is called only with the lock on MPI held, so the level MPI_THREAD_SERIALIZED is enough if the program does not call MPI. The exceptions are
//!   calls that are safe at any time: MPI_Initialized, MPI_Finalized, MPI_Query_thread, MPI_Get_library_version.
//! * MPI is called only between its start and its end. [`start`] notices when the program ends it.
//! * Memory that MPI writes or reads later is held by a raw pointer, never behind a reference, until its request is over.
//! * The documentation of [`nvshmemrs_wire`] has the obligations of the callers of a table's functions.

mod error;
mod messages;
mod start;
mod table;
mod transfers;

pub use table::nvshmemrs_wire_open;
