//! GPU memory of the heap: a reserved address range for the parts of all PEs, and the memory mapped into it.
//!
//! A process has one range. PEs that are threads share it, so that each allocation is mapped once. A PE allocates memory on its
//! GPU; the PEs of other processes map it from a file descriptor. Memory stays mapped until the range is dropped or `unmap` is
//! called; the driver keeps an allocation as long as it is mapped anywhere.
//!
//! The rules are those of [`driver`](crate::driver), and:
//!
//! 4. `base` is the start of a reservation of `span` bytes, which lives as long as the `Segment`. `mapped` lists the mappings
//!    within it.

use crate::device;
use crate::lock::lock;
use crate::{Completion, Device, check};
use crate::{Error, Result};
use cudarc::driver::sys::{self, CUmemGenericAllocationHandle};
use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

/// The handle type by which memory is exported.
const BY_FD: sys::CUmemAllocationHandleType =
    sys::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

/// An allocation of GPU memory.
#[derive(Debug)]
pub(crate) struct Memory {
    handle: CUmemGenericAllocationHandle,
    bytes: u64,
}

impl Memory {
    /// Allocates `bytes` bytes, a multiple of the granularity, on a GPU.
    pub(crate) fn make(device: &Device, bytes: u64) -> Result<Memory> {
        let mut handle = 0;
        let properties = device::allocation_properties(device.raw());
        // SAFETY: rules 1 and 2; `drop` releases it.
        let code = unsafe { sys::cuMemCreate(&mut handle, bytes as usize, &properties, 0) };
        check("cuMemCreate", code)?;
        Ok(Memory { handle, bytes })
    }

    /// Imports memory that another PE allocated and exported.
    pub(crate) fn import(fd: OwnedFd, bytes: u64) -> Result<Memory> {
        let mut handle = 0;
        let fd_as_pointer = fd.as_raw_fd() as usize as *mut _;
        // SAFETY: rules 1 and 2; the descriptor is open, and the driver does not take ownership of it.
        let code =
            unsafe { sys::cuMemImportFromShareableHandle(&mut handle, fd_as_pointer, BY_FD) };
        check("cuMemImportFromShareableHandle", code)?;
        Ok(Memory { handle, bytes })
    }

    /// The allocation that is mapped at an address of this process, of `bytes` bytes.
    pub(crate) fn mapped_at(address: u64, bytes: u64) -> Result<Memory> {
        let mut handle = 0;
        // SAFETY: rules 1 and 2; for an address without a mapping the driver returns an error.
        let code = unsafe { sys::cuMemRetainAllocationHandle(&mut handle, address as *mut _) };
        check("cuMemRetainAllocationHandle", code)?;
        Ok(Memory { handle, bytes })
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Exports a descriptor with which other processes can map the memory.
    pub(crate) fn export(&self) -> Result<OwnedFd> {
        let mut fd = -1;
        // SAFETY: rules 1 to 3: for this type of handle the driver writes an `int`.
        let code = unsafe {
            sys::cuMemExportToShareableHandle((&raw mut fd).cast(), self.handle, BY_FD, 0)
        };
        check("cuMemExportToShareableHandle", code)?;
        // SAFETY: the driver has just opened this descriptor for the caller.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        // Child programs do not inherit it.
        rustix::io::fcntl_setfd(&fd, rustix::io::FdFlags::CLOEXEC)
            .map_err(|error| Error::system("fcntl of a descriptor of GPU memory", error))?;
        Ok(fd)
    }

    /// The reason why the memory cannot be part of the symmetric heap of `device`; `None` if it can.
    pub(crate) fn unfit(&self, device: &Device) -> Result<Option<&'static str>> {
        let mut properties = device::allocation_properties(device.raw());
        // SAFETY: rules 1 to 3.
        let code =
            unsafe { sys::cuMemGetAllocationPropertiesFromHandle(&mut properties, self.handle) };
        check("cuMemGetAllocationPropertiesFromHandle", code)?;
        let place = properties.location;
        Ok(
            if place.type_ != device::location(0).type_ || place.id != device.raw() {
                Some("it is not memory of this PE's GPU")
            } else if properties.requestedHandleTypes.0 & BY_FD.0 == 0 {
                Some(
                    "it was not allocated with requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR",
                )
            } else {
                None
            },
        )
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: rules 1 and 3: the handle was created or retained once. Mappings of the memory stay.
        let _ = unsafe { sys::cuMemRelease(self.handle) };
    }
}

/// Start and length of the mapping that contains an address.
pub(crate) fn mapping_of(address: u64) -> Result<(u64, u64)> {
    let (mut base, mut bytes) = (0, 0);
    // SAFETY: rules 1 and 2; for an address without a mapping the driver returns an error.
    let code = unsafe { sys::cuMemGetAddressRange_v2(&mut base, &mut bytes, address) };
    check("cuMemGetAddressRange", code)?;
    Ok((base, bytes as u64))
}

/// A reserved range of GPU addresses, and its mappings.
pub(crate) struct Segment {
    base: u64,
    span: u64,
    state: Mutex<State>,
}

struct State {
    /// The GPUs of this process that access the range.
    devices: Vec<Arc<Device>>,
    /// The mappings: start and bytes.
    mapped: BTreeMap<u64, u64>,
    /// The completions of the kernels of this process's PEs.
    completions: Vec<Weak<Completion>>,
}

impl std::fmt::Debug for Segment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} bytes of GPU addresses at {:#x}",
            self.span, self.base
        )
    }
}

impl Segment {
    /// Reserves `span` bytes for the GPUs of this process, of which `device` is the first; at `preferred`, unless that is 0. The
    /// start is a multiple of `alignment`, a power of two, and of the granularity.
    pub(crate) fn reserve(
        device: &Arc<Device>,
        span: u64,
        alignment: u64,
        preferred: u64,
    ) -> Result<Segment> {
        let _current = device.enter()?;
        let alignment = device.properties().granularity.max(alignment) as usize;
        let mut base = 0;
        // SAFETY: rules 1 and 2; `drop` frees it.
        let code =
            unsafe { sys::cuMemAddressReserve(&mut base, span as usize, alignment, preferred, 0) };
        check("cuMemAddressReserve", code)?;
        Ok(Segment {
            base,
            span,
            state: Mutex::new(State {
                devices: vec![Arc::clone(device)],
                mapped: BTreeMap::new(),
                completions: Vec::new(),
            }),
        })
    }

    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// The smallest number of collective blocks that can be resident at once on any GPU of this process that uses the range.
    pub(crate) fn blocks(&self) -> i32 {
        let state = self.lock();
        let all = state.devices.iter().map(|device| device.blocks());
        all.min().unwrap_or(0)
    }

    /// Adds the kernels of a PE of this process to the kernels that [`end_all`](Segment::end_all) ends.
    pub(crate) fn join(&self, completion: &Arc<Completion>) {
        self.lock().completions.push(Arc::downgrade(completion));
    }

    /// Ends the waiting kernels of all PEs of this process.
    pub(crate) fn end_all(&self) {
        for completion in self.lock().completions.iter().filter_map(Weak::upgrade) {
            completion.end_all();
        }
    }

    /// Gives a further GPU of this process access to the range. Each PE that is a thread has a GPU of its own, so the GPU must be
    /// new.
    pub(crate) fn attach(&self, device: &Arc<Device>) -> Result<()> {
        let mut state = self.lock();
        if state
            .devices
            .iter()
            .any(|one| one.ordinal() == device.ordinal())
        {
            return Err(Error::NotSupported(format!(
                "two PEs that are threads of one process use {device}, but each thread must have a GPU of its own (`device` at init). \
                 Processes may share a GPU"
            )));
        }
        let _current = device.enter()?;
        for (&start, &bytes) in &state.mapped {
            allow(start, bytes, std::slice::from_ref(device))?;
        }
        state.devices.push(Arc::clone(device));
        Ok(())
    }

    /// Maps memory at an address of the range, for all GPUs of this process.
    pub(crate) fn map(&self, address: u64, memory: &Memory) -> Result<()> {
        let end = address.checked_add(memory.bytes);
        assert!(
            address >= self.base && end.is_some_and(|end| end <= self.base + self.span),
            "a mapping outside the range"
        );
        let mut state = self.lock();
        let _current = state.devices[0].enter()?;
        // SAFETY: rules 1 and 3; the address is within the range (rule 4, just checked), and the driver refuses an address that
        // is mapped already.
        let code = unsafe { sys::cuMemMap(address, memory.bytes as usize, 0, memory.handle, 0) };
        check("cuMemMap", code)?;
        state.mapped.insert(address, memory.bytes);
        let allowed = allow(address, memory.bytes, &state.devices);
        if allowed.is_err() {
            remove_mappings(&mut state, address, memory.bytes);
        }
        allowed
    }

    /// Removes the mappings in `bytes` bytes from `address` on. They must no longer be in use.
    pub(crate) fn unmap(&self, address: u64, bytes: u64) {
        let mut state = self.lock();
        let Ok(_current) = state.devices[0].enter() else {
            return;
        };
        remove_mappings(&mut state, address, bytes);
    }
}

/// Gives GPUs of this process read and write access to a mapping.
fn allow(address: u64, bytes: u64, devices: &[Arc<Device>]) -> Result<()> {
    let descriptors: Vec<_> = devices
        .iter()
        .map(|device| sys::CUmemAccessDesc {
            location: device::location(device.raw()),
            flags: sys::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
        })
        .collect();
    // SAFETY: rules 1 to 3.
    let code = unsafe {
        sys::cuMemSetAccess(
            address,
            bytes as usize,
            descriptors.as_ptr(),
            descriptors.len(),
        )
    };
    check("cuMemSetAccess", code)
}

fn remove_mappings(state: &mut State, address: u64, bytes: u64) {
    let inside: Vec<_> = state
        .mapped
        .range(address..address + bytes)
        .map(|(&start, &bytes)| (start, bytes))
        .collect();
    for (start, bytes) in inside {
        state.mapped.remove(&start);
        // SAFETY: rules 1 and 4: this is a whole mapping, made by `map`; the caller ensures that it is not in use. The call fails
        // only if the driver has shut down, when no mapping is left.
        let _ = unsafe { sys::cuMemUnmap(start, bytes as usize) };
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        let (base, span) = (self.base, self.span);
        let mut state = self.lock();
        // A forked child does not touch the GPU.
        if !state.devices[0].is_ours() {
            return;
        }
        let first = Arc::clone(&state.devices[0]);
        let Ok(_current) = first.enter() else {
            return;
        };
        // A transport with unfinished work keeps the segment for good, so nothing is in use here.
        remove_mappings(&mut state, base, span);
        // SAFETY: rules 1 and 4; the range has no mappings any more.
        let _ = unsafe { sys::cuMemAddressFree(base, span as usize) };
    }
}
