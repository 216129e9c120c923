//! The loaded kernels of a GPU, and their launches.

use super::graphs::{Graphs, Launch};
use super::plan::{Kernel, Plan, Role};
use super::{AtomicArgs, CollectiveArgs, StridedArgs, WaitArgs, WaitMode};
use crate::driver::{self, too_late};
use crate::op::SignalOp;
use crate::transport::{Atomic, Width};
use crate::{CudaEvent, Device, check, images};
use crate::{Error, Result};
use bytemuck::bytes_of;
use cudarc::driver::sys::{self, CUfunction, CUmodule, CUresult, CUstream};
use std::ffi::{CString, c_void};
use std::sync::Arc;

/// Threads of a block of the copy kernels.
const THREADS: u32 = 256;
/// The most threads of a kernel of one block.
const ONE_BLOCK: u64 = 512;
/// The most blocks of a copy; in a longer copy, each thread moves several pieces.
const COPY_BLOCKS: u64 = 128;
/// Bytes that a thread moves at a time.
const PIECE: u64 = 16;
/// The smallest copy with pieces of [`PIECE`] bytes although its two sides are aligned differently (ASKEW in copy.cuh).
const ASKEW: u64 = 128;
/// The most bytes that one block copies for a put with a signal: two pieces for each of its threads.
const SMALL: u64 = 2 * ONE_BLOCK * PIECE;
/// The largest copy by a kernel before a signal's kernel, which would begin 8 us later behind the copy engine, on an H200.
const WITHOUT_ENGINE: u64 = 4 << 20;

/// The first driver whose graphs have programmatic edges.
const GRAPHS_WITH_EDGES: i32 = 12030;

/// How a signal follows a copy on a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignalMethod {
    /// One kernel of one block does both.
    OneKernel,
    /// One kernel copies, another updates the signal.
    TwoKernels,
    /// The copy engine copies, the stream sets the signal.
    Written,
    /// The copy engine copies, a kernel updates the signal.
    AfterEngine,
}

/// The kernels of a GPU.
pub(crate) struct Kernels {
    device: Arc<Device>,
    module: CUmodule,
    /// In the order of [`Kernel::all`].
    functions: Vec<CUfunction>,
    /// Whether a stream can write a word.
    writes: bool,
    graphs: Graphs,
    /// Whether a kernel of a graph can be launched before the kernel before it has ended.
    early: bool,
    /// The source of the image, for messages.
    origin: String,
}

// SAFETY: by the driver's documentation, a module and its functions may be used from any thread.
unsafe impl Send for Kernels {}
// SAFETY: as above.
unsafe impl Sync for Kernels {}

/// Whether an image cannot be used here, although another image may work.
fn unfit(code: CUresult) -> bool {
    use CUresult::*;
    matches!(
        code,
        CUDA_ERROR_NO_BINARY_FOR_GPU
            | CUDA_ERROR_UNSUPPORTED_PTX_VERSION
            | CUDA_ERROR_INVALID_IMAGE
            | CUDA_ERROR_INVALID_PTX
            | CUDA_ERROR_JIT_COMPILER_NOT_FOUND
            | CUDA_ERROR_JIT_COMPILATION_DISABLED
    )
}

impl Kernels {
    /// Loads the kernels of `device` from the first image that the driver takes.
    pub(crate) fn load(device: &Arc<Device>) -> Result<Kernels> {
        let (major, minor) = device.properties().capability;
        let mut search = images::Search::new(images::Arch::new(major, minor));
        let current = device.enter()?;
        let (module, origin) = loop {
            let image = search.next_image()?;
            let mut module = std::ptr::null_mut();
            // SAFETY: rules 1 and 2 of driver.rs; the image is whole (its digest was compared) and PTX ends with NUL. `drop` unloads it.
            let code = unsafe { sys::cuModuleLoadData(&mut module, image.bytes().as_ptr().cast()) };
            if unfit(code) {
                search.refused(&image, &format!("{code:?}"));
                continue;
            }
            check("cuModuleLoadData", code)?;
            break (module, image.origin().to_string());
        };
        drop(current);
        let mut kernels = Kernels {
            device: Arc::clone(device),
            module,
            functions: Vec::new(),
            writes: writes(device)?,
            graphs: Graphs::default(),
            early: (major, minor) >= (9, 0) && driver::start()? >= GRAPHS_WITH_EDGES,
            origin,
        };
        let _current = device.enter()?;
        for kernel in Kernel::all() {
            let name = CString::new(kernel.name()).expect("names have no NUL");
            let mut function = std::ptr::null_mut();
            // SAFETY: rules 1 to 3.
            let code = unsafe { sys::cuModuleGetFunction(&mut function, module, name.as_ptr()) };
            if code == CUresult::CUDA_ERROR_NOT_FOUND {
                return Err(Error::Internal(format!(
                    "the kernels' image ({}) has no {}",
                    kernels.origin,
                    kernel.name()
                )));
            }
            check("cuModuleGetFunction", code)?;
            kernels.functions.push(function);
        }
        let any = Launch {
            function: kernels.functions[Kernel::Signal.index()],
            plan: single(Kernel::Signal, 1),
            args: &[bytes_of(&0_u64), bytes_of(&0_u64), bytes_of(&0_u32)],
        };
        kernels.graphs.make(device, device.stream(), &any);
        Ok(kernels)
    }

    /// The source of the image, for messages.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    /// Puts a kernel on a stream. `args`: the kernel's parameters.
    #[inline]
    fn launch<const N: usize>(
        &self,
        stream: CUstream,
        plan: Plan,
        args: &[&[u8]; N],
    ) -> Result<()> {
        let _current = self.device.enter()?;
        let function = self.functions[plan.kernel.index()];
        // A launched graph cannot become part of a captured graph in this way.
        let captured = self.device.is_captured(stream)?;
        if !captured
            && self.graphs.launch(
                stream,
                &Launch {
                    function,
                    plan,
                    args,
                },
            )
        {
            return Ok(());
        }
        if captured && self.early && plan.may_begin_early() {
            return launch_early(function, stream, plan, args);
        }
        let mut addresses = args.map(address);
        // SAFETY: rules 1 to 3 of driver.rs. The functions below pass each kernel the parameters that its .cu file declares, whose
        // sizes are asserted on both sides; the driver copies them before it returns.
        let code = unsafe {
            sys::cuLaunchKernel(
                function,
                plan.grid,
                1,
                1,
                plan.block,
                1,
                1,
                plan.shared,
                stream,
                addresses.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        check("cuLaunchKernel", code)
    }

    /// Called when the program or the library releases a stream. `end` records an event behind its work, unless that is complete; the
    /// result of `end` is returned.
    pub(crate) fn forget_stream(
        &self,
        stream: u64,
        end: impl FnOnce() -> Result<Option<Arc<CudaEvent>>>,
    ) -> Result<Option<Arc<CudaEvent>>> {
        self.graphs.forget(stream, end)
    }

    /// Copies `bytes` bytes between addresses that the GPU can access; the ranges may overlap.
    pub(crate) fn copy(&self, stream: CUstream, dest: u64, source: u64, bytes: u64) -> Result<()> {
        if bytes == 0 || dest == source {
            return Ok(());
        }
        let plan = copy_plan(dest, source, bytes);
        self.launch(
            stream,
            plan,
            &[bytes_of(&dest), bytes_of(&source), bytes_of(&bytes)],
        )
    }

    /// Copies blocks; the blocks of `dest` overlap neither each other nor the source.
    pub(crate) fn copy_strided(&self, stream: CUstream, args: &StridedArgs) -> Result<()> {
        let bytes = args.block.saturating_mul(args.count);
        if bytes == 0 {
            return Ok(());
        }
        let plan = spread(Kernel::CopyStrided, bytes.div_ceil(4));
        self.launch(stream, plan, &[bytes_of(args)])
    }

    /// Stores a value of up to 16 bytes; 1, 2, 4 or 8 aligned bytes in one access.
    pub(crate) fn put_value(&self, stream: CUstream, dest: u64, value: &[u8]) -> Result<()> {
        let mut both = [0; 16];
        both[..value.len()].copy_from_slice(value);
        let [low, high]: [u64; 2] = bytemuck::cast(both);
        let bytes = value.len() as u64;
        let args = &[
            bytes_of(&dest),
            bytes_of(&low),
            bytes_of(&high),
            bytes_of(&bytes),
        ];
        self.launch(stream, single(Kernel::PutValue, 1), args)
    }

    /// Updates a signal after all earlier work of the stream.
    pub(crate) fn signal(
        &self,
        stream: CUstream,
        signal: u64,
        value: u64,
        op: SignalOp,
    ) -> Result<()> {
        let add = u32::from(op == SignalOp::Add);
        let args = &[bytes_of(&signal), bytes_of(&value), bytes_of(&add)];
        self.launch(stream, single(Kernel::Signal, 1), args)
    }

    /// The best method for a signal behind a copy of `bytes` bytes that a kernel could do.
    pub(crate) fn signal_method(
        &self,
        stream: CUstream,
        op: SignalOp,
        bytes: u64,
    ) -> Result<SignalMethod> {
        if bytes <= SMALL {
            return Ok(SignalMethod::OneKernel);
        }
        // In a graph, the write would be a node that not every driver supports.
        let written = op == SignalOp::Set && self.writes && !self.device.is_captured(stream)?;
        Ok(match written {
            true => SignalMethod::Written,
            false if bytes <= WITHOUT_ENGINE => SignalMethod::TwoKernels,
            false => SignalMethod::AfterEngine,
        })
    }

    /// The stream itself sets a signal, which is visible after all earlier work of the stream.
    pub(crate) fn write_signal(&self, stream: CUstream, signal: u64, value: u64) -> Result<()> {
        let _current = self.device.enter()?;
        // With the default flags, all earlier work of the stream is visible before the word.
        let flags = sys::CUstreamWriteValue_flags::CU_STREAM_WRITE_VALUE_DEFAULT as u32;
        // SAFETY: rules 1 and 3; the word is aligned, and in the heap, which is mapped.
        let code = unsafe { sys::cuStreamWriteValue64_v2(stream, signal, value, flags) };
        check("cuStreamWriteValue64", code)
    }

    /// Copies bytes between ranges that do not overlap, then updates a signal.
    pub(crate) fn put_signal(
        &self,
        stream: CUstream,
        (dest, source, bytes): (u64, u64, u64),
        (signal, value, op): (u64, u64, SignalOp),
    ) -> Result<()> {
        let add = u32::from(op == SignalOp::Add);
        self.launch(
            stream,
            single(Kernel::PutSignal, bytes.div_ceil(PIECE)),
            &[
                bytes_of(&dest),
                bytes_of(&source),
                bytes_of(&bytes),
                bytes_of(&signal),
                bytes_of(&value),
                bytes_of(&add),
            ],
        )
    }

    /// Performs an atomic operation at `address`. The old value, as wide as the word, goes to `result`, unless that is 0.
    pub(crate) fn atomic(
        &self,
        stream: CUstream,
        address: u64,
        width: Width,
        operation: Atomic,
        result: u64,
    ) -> Result<()> {
        let (number, value, cond) = operation.parts();
        let args = AtomicArgs {
            address,
            value,
            cond,
            result,
            operation: number.into(),
            bytes: width.bytes() as u32,
        };
        self.launch(stream, single(Kernel::Atomic, 1), &[bytes_of(&args)])
    }

    /// Runs a wait or a test on the stream.
    pub(crate) fn wait(&self, stream: CUstream, args: &WaitArgs) -> Result<()> {
        let threads = match args.mode {
            WaitMode::One => 1,
            // Whole warps, which vote.
            _ => args.count.clamp(2, 256),
        };
        self.launch(stream, single(Kernel::Wait, threads), &[bytes_of(args)])
    }

    /// Orders earlier work of the stream before later work, for every PE.
    pub(crate) fn fence(&self, stream: CUstream) -> Result<()> {
        self.launch(stream, single(Kernel::Fence, 1), &[])
    }

    /// Completes earlier work of the stream, visibly for every PE.
    pub(crate) fn quiet(&self, stream: CUstream) -> Result<()> {
        self.launch(stream, single(Kernel::Quiet, 1), &[])
    }

    /// Runs a collective on the stream.
    #[inline]
    pub(crate) fn collective(
        &self,
        stream: CUstream,
        plan: Plan,
        args: &CollectiveArgs,
    ) -> Result<()> {
        self.launch(stream, plan, &[bytes_of(args)])
    }
}

impl Drop for Kernels {
    fn drop(&mut self) {
        if !self.device.is_ours() {
            return;
        }
        self.graphs.clear();
        if let Ok(_current) = self.device.enter() {
            // SAFETY: rules 1 and 3; no kernel of the module is in flight, because the owner of the transport waits before it drops it.
            let code = unsafe { sys::cuModuleUnload(self.module) };
            debug_assert!(code == CUresult::CUDA_SUCCESS || too_late(code), "{code:?}");
        }
    }
}

/// Puts a kernel that itself waits for the previous kernel on a captured stream: its blocks begin while the previous kernel ends.
#[cold]
fn launch_early<const N: usize>(
    function: CUfunction,
    stream: CUstream,
    plan: Plan,
    args: &[&[u8]; N],
) -> Result<()> {
    let mut edge = sys::CUlaunchAttribute {
        id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
        pad: [0; 4],
        value: sys::CUlaunchAttributeValue {
            programmaticStreamSerializationAllowed: 1,
        },
    };
    let config = sys::CUlaunchConfig {
        gridDimX: plan.grid,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: plan.block,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: plan.shared,
        hStream: stream,
        attrs: &mut edge,
        numAttrs: 1,
    };
    let mut addresses = args.map(address);
    // SAFETY: as in `Kernels::launch`; the driver copies the configuration, too.
    let code = unsafe {
        sys::cuLaunchKernelEx(
            &config,
            function,
            addresses.as_mut_ptr(),
            std::ptr::null_mut(),
        )
    };
    check("cuLaunchKernelEx", code)
}

/// A parameter's address, for the driver, which only reads it.
pub(super) fn address(parameter: &[u8]) -> *mut c_void {
    parameter.as_ptr().cast_mut().cast()
}

/// One block of whole warps with at least `threads` threads, up to [`ONE_BLOCK`]; or of one thread, whose work is done once.
fn single(kernel: Kernel, threads: u64) -> Plan {
    let block = match threads {
        0 | 1 => 1,
        _ => threads.next_multiple_of(32).min(ONE_BLOCK),
    };
    Plan {
        kernel,
        role: Role::Whole,
        grid: 1,
        block: block as u32,
        shared: 0,
        chunk: 0,
        takes_private_memory: false,
    }
}

/// A thread for each of `pieces` pieces, up to [`COPY_BLOCKS`] blocks.
fn spread(kernel: Kernel, pieces: u64) -> Plan {
    if pieces <= u64::from(THREADS) {
        return single(kernel, pieces);
    }
    Plan {
        kernel,
        role: Role::Whole,
        grid: pieces.div_ceil(THREADS.into()).min(COPY_BLOCKS) as u32,
        block: THREADS,
        shared: 0,
        chunk: 0,
        takes_private_memory: false,
    }
}

fn copy_plan(dest: u64, source: u64, bytes: u64) -> Plan {
    if dest.abs_diff(source) < bytes {
        return single(Kernel::Move, bytes.div_ceil(PIECE));
    }
    // The bytes that a thread moves at a time.
    let both = (dest ^ source) | PIECE;
    let piece = match 1 << both.trailing_zeros() {
        small if small < 8 && bytes >= ASKEW => PIECE,
        aligned => aligned,
    };
    spread(Kernel::Copy, bytes.div_ceil(piece))
}

/// Whether a stream of a GPU can write a word of eight bytes.
fn writes(device: &Device) -> Result<bool> {
    let asked = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS;
    let mut can = 0;
    // SAFETY: rules 1 and 2 of driver.rs.
    let code = unsafe { sys::cuDeviceGetAttribute(&mut can, asked, device.raw()) };
    check("cuDeviceGetAttribute", code)?;
    Ok(can != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_that_overlap_have_one_block() {
        let moved = copy_plan(100, 108, 64 << 10);
        assert_eq!(
            (moved.kernel, moved.grid, moved.block),
            (Kernel::Move, 1, 512)
        );
        assert_eq!(copy_plan(100, 108, 8).kernel, Kernel::Copy);
        assert_eq!(copy_plan(100, 107, 8).kernel, Kernel::Move);
        assert_eq!(copy_plan(107, 100, 8).kernel, Kernel::Move);
        assert_eq!(copy_plan(1 << 40, 1 << 41, 8), single(Kernel::Copy, 1));
        let blocks = [1, 2, 33, 5000].map(|threads| single(Kernel::Signal, threads).block);
        assert_eq!(blocks, [1, 32, 64, 512]);
        let large = copy_plan(1 << 40, 1 << 41, 64 << 10);
        assert_eq!((large.grid, large.block), (16, 256));
        let askew = copy_plan(1 << 40, (1 << 41) + 1, 64 << 10);
        assert_eq!((askew.grid, askew.block), (16, 256));
        assert_eq!(copy_plan(1 << 40, (1 << 41) + 1, 100).block, 128);
        assert_eq!(copy_plan(1 << 40, (1 << 41) + 4, 100).block, 32);
    }

    /// Functions are found by their place in [`Kernel::all`], and every kernel is in the sources.
    #[test]
    fn the_sources_have_every_kernel_and_no_other() {
        for (index, kernel) in Kernel::all().enumerate() {
            assert_eq!(kernel.index(), index);
        }
        let mut there: Vec<String> = Vec::new();
        for (file, text) in images::SOURCES {
            for kernel in text
                .split("KERNEL ")
                .skip(1)
                .filter(|_| file.ends_with(".cu"))
            {
                // `entered` of team.cuh waits for collectives, whose kernels have a CollectiveCall.
                let waits = [
                    "follow_previous_kernel();",
                    "wait_for_previous_kernel();",
                    "CollectiveCall call(c",
                    "send_from_root(c",
                    "send_from_root_lamport(c",
                    "exchange_parts(c",
                    "exchange_parts_lamport(c",
                    "reduce_flags<T>(c)",
                    "reduce_lamport<T>(c)",
                    "reduce_direct<T>(c)",
                ];
                let body = kernel.split("\n}").next().unwrap_or_default();
                assert!(
                    waits.iter().any(|wait| body.contains(wait)),
                    "{kernel} does not wait for the previous kernel"
                );
            }
            for line in text.lines() {
                let words =
                    line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '#');
                if line.starts_with("KERNEL") {
                    there.extend(
                        words
                            .filter(|word| word.starts_with("nvshmemrs_"))
                            .map(String::from),
                    );
                } else if file.ends_with("reduce.cu") {
                    // The lists of INTEGER_REDUCTIONS and OTHER_REDUCTIONS.
                    for name in line.split(" X(").skip(1) {
                        let name = name.split(',').next().unwrap_or_default();
                        there.extend(
                            ["", "_flags", "_lamport"]
                                .map(|end| format!("nvshmemrs_reduce_{name}{end}")),
                        );
                    }
                }
            }
        }
        there.sort();
        let mut known: Vec<String> = Kernel::all().map(Kernel::name).collect();
        known.sort();
        // Signed and unsigned integers share kernels.
        known.dedup();
        assert_eq!(there, known);
    }
}
