//! GPU memory of the heap: a reserved range of addresses for all PEs' parts, and memory mapped into it.
//!
//! A process has one range, which the PEs that are its threads share, so that each piece of memory is mapped once. A piece is made
//! by one PE on its GPU; the PEs of other processes map it from a file descriptor. A range's memory is there until the range is
//! dropped, or `unmap` takes it out; the driver keeps memory as long as anybody maps it.
//!
//! The rules are those of [`driver`](crate::driver), and:
//!
//! 4. `base` is the start of a reservation of `span` bytes, which lives as long as the `Segment`. What is mapped within it is in `mapped`.

use crate::device;
use crate::lock::lock;
use crate::{Completion, Device, check};
use crate::{Error, Result};
use cudarc::driver::sys::{self, CUmemGenericAllocationHandle};
use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

/// How memory is handed over.
const BY_FD: sys::CUmemAllocationHandleType =
    sys::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

/// A piece of a GPU's memory, wherever it is mapped.
#[derive(Debug)]
pub(crate) struct Memory {
    handle: CUmemGenericAllocationHandle,
    bytes: u64,
}

impl Memory {
    /// Makes `bytes` bytes, a multiple of the granularity, on a GPU.
    pub(crate) fn make(device: &Device, bytes: u64) -> Result<Memory> {
        let mut handle = 0;
        let properties = device::allocation_properties(device.raw());
        // SAFETY: rules 1 and 2; `drop` releases it.
        let code = unsafe { sys::cuMemCreate(&mut handle, bytes as usize, &properties, 0) };
        check("cuMemCreate", code)?;
        Ok(Memory { handle, bytes })
    }

    /// Takes memory that another PE made and exported.
    pub(crate) fn import(fd: OwnedFd, bytes: u64) -> Result<Memory> {
        let mut handle = 0;
        let fd_as_pointer = fd.as_raw_fd() as usize as *mut _;
        // SAFETY: rules 1 and 2; the descriptor is open, and the driver takes what it needs of it.
        let code =
            unsafe { sys::cuMemImportFromShareableHandle(&mut handle, fd_as_pointer, BY_FD) };
        check("cuMemImportFromShareableHandle", code)?;
        Ok(Memory { handle, bytes })
    }

    /// The memory that is mapped at an address of this process, `bytes` bytes.
    pub(crate) fn mapped_at(address: u64, bytes: u64) -> Result<Memory> {
        let mut handle = 0;
        // SAFETY: rules 1 and 2; an address that is no mapping is an error of the driver's.
        let code = unsafe { sys::cuMemRetainAllocationHandle(&mut handle, address as *mut _) };
        check("cuMemRetainAllocationHandle", code)?;
        Ok(Memory { handle, bytes })
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// A descriptor with which other processes can map it.
    pub(crate) fn export(&self) -> Result<OwnedFd> {
        let mut fd = -1;
        // SAFETY: rules 1 to 3: for this type of handle the driver writes an `int`.
        let code = unsafe {
            sys::cuMemExportToShareableHandle((&raw mut fd).cast(), self.handle, BY_FD, 0)
        };
        check("cuMemExportToShareableHandle", code)?;
        // SAFETY: the driver has just opened it for us.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        // Programs that this one starts have no use for it.
        rustix::io::fcntl_setfd(&fd, rustix::io::FdFlags::CLOEXEC)
            .map_err(|error| Error::system("fcntl of a descriptor of GPU memory", error))?;
        Ok(fd)
    }

    /// Why it cannot be part of the symmetric heap of `device`, if it cannot.
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
                    "it was not made with requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR",
                )
            } else {
                None
            },
        )
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: rules 1 and 3: the handle was made, or taken, once. Memory that is mapped stays.
        let _ = unsafe { sys::cuMemRelease(self.handle) };
    }
}

/// The mapping of `cuMemMap` that an address lies in: its start and length.
pub(crate) fn mapping_of(address: u64) -> Result<(u64, u64)> {
    let (mut base, mut bytes) = (0, 0);
    // SAFETY: rules 1 and 2; an address that is no mapping is an error of the driver's.
    let code = unsafe { sys::cuMemGetAddressRange_v2(&mut base, &mut bytes, address) };
    check("cuMemGetAddressRange", code)?;
    Ok((base, bytes as u64))
}

/// A reserved range of GPU addresses, and what is mapped in it.
pub(crate) struct Segment {
    base: u64,
    span: u64,
    state: Mutex<State>,
}

struct State {
    /// The GPUs of this process that use it.
    devices: Vec<Arc<Device>>,
    /// What is mapped: start and bytes.
    mapped: BTreeMap<u64, u64>,
    /// How the kernels of the PEs of this process end.
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
    /// Reserves `span` bytes for the GPUs of this process, of which `device` is the first; at `preferred`, unless it is 0. They begin at a
    /// multiple of `alignment`, a power of two, and of what the GPU maps.
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

    /// The least blocks of a collective that the GPUs of this process that use it run at the same time.
    pub(crate) fn blocks(&self) -> i32 {
        let state = self.lock();
        let all = state.devices.iter().map(|device| device.blocks());
        all.min().unwrap_or(0)
    }

    /// Adds a PE of this process to those whose kernels [`end_all`](Segment::end_all) ends.
    pub(crate) fn join(&self, completion: &Arc<Completion>) {
        self.lock().completions.push(Arc::downgrade(completion));
    }

    /// Ends the kernels that wait, of all PEs of this process.
    pub(crate) fn end_all(&self) {
        for completion in self.lock().completions.iter().filter_map(Weak::upgrade) {
            completion.end_all();
        }
    }

    /// Lets a further GPU of this process use the range. It must not be there yet: PEs that are threads have a GPU each.
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
        // SAFETY: rules 1 and 3; the range is ours (rule 4, just checked), and the driver refuses what is mapped already.
        let code = unsafe { sys::cuMemMap(address, memory.bytes as usize, 0, memory.handle, 0) };
        check("cuMemMap", code)?;
        state.mapped.insert(address, memory.bytes);
        let allowed = allow(address, memory.bytes, &state.devices);
        if allowed.is_err() {
            remove_mappings(&mut state, address, memory.bytes);
        }
        allowed
    }

    /// Takes what is mapped in `bytes` bytes from `address` on out of the range. Nobody may be using it.
    pub(crate) fn unmap(&self, address: u64, bytes: u64) {
        let mut state = self.lock();
        let Ok(_current) = state.devices[0].enter() else {
            return;
        };
        remove_mappings(&mut state, address, bytes);
    }
}

/// Lets GPUs of this process read and write what is mapped at an address.
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
        // SAFETY: rules 1 and 4: it is a whole mapping, made by `map`; whoever takes it out knows that nobody uses it. A failure, when
        // the driver has shut down, costs nothing.
        let _ = unsafe { sys::cuMemUnmap(start, bytes as usize) };
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        let (base, span) = (self.base, self.span);
        let mut state = self.lock();
        // A forked child leaves the GPU alone.
        if !state.devices[0].is_ours() {
            return;
        }
        let first = Arc::clone(&state.devices[0]);
        let Ok(_current) = first.enter() else {
            return;
        };
        // A transport whose work has not come to its end holds the range for good.
        remove_mappings(&mut state, base, span);
        // SAFETY: rules 1 and 4; nothing is mapped in it any more.
        let _ = unsafe { sys::cuMemAddressFree(base, span as usize) };
    }
}
