//! Launches by graphs of one kernel, which cost the CPU less than launches of the kernel: on an H200 and its driver 580 about 2.2 us
//! instead of 3.5.
//!
//! A graph belongs to a stream, because the driver runs the launches of one after each other, on whatever streams they are. It is made when
//! the same plan has come often on the stream; then a launch with other arguments than the one before sets them (0.5 us), which leaves the
//! earlier launches as they are.

use super::Plan;
use super::launch::address;
use crate::Result;
use crate::transport::cuda::device::Device;
use crate::transport::cuda::driver::{Apart, check};
use cudarc::driver::sys::{self, CUDA_KERNEL_NODE_PARAMS, CUfunction, CUgraph, CUgraphExec};
use cudarc::driver::sys::{CUgraphNode, CUresult, CUstream};
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard};

/// Launches of a plan on a stream before it gets a graph, which takes some 30 us to make, and 112 KiB of the GPU's memory.
const OFTEN: u32 = 4;
/// Plans of a stream that are counted, or have graphs.
const PLANS: usize = 16;
/// Launches on a stream after which a plan that has not come again gives up its place to one that has none.
const UNUSED: u64 = 4 * PLANS as u64;
/// `cudaStreamPerThread`: another stream for each thread.
const PER_THREAD: u64 = 2;

/// The graphs of a GPU's streams.
#[derive(Default)]
pub(super) struct Graphs {
    /// By stream. Each has a lock of its own: a launch may wait, when much is on its stream.
    streams: Mutex<HashMap<u64, Arc<Mutex<Plans>>>>,
}

/// What has come on a stream.
#[derive(Default)]
struct Plans {
    known: Vec<Repeated>,
    /// Launches so far.
    launches: u64,
}

/// A plan that has come on a stream.
struct Repeated {
    plan: Plan,
    by: By,
    /// The number of the launch when it came last.
    last: u64,
}

/// How a plan is launched.
enum By {
    /// As a kernel; so often so far.
    Kernel(u32),
    Graph(Graph),
    /// As a kernel: the driver has made no graph of it.
    KernelForGood,
}

/// A kernel to be launched, and its parameters.
pub(super) struct Launch<'a> {
    pub(super) function: CUfunction,
    pub(super) plan: Plan,
    pub(super) args: &'a [&'a [u8]],
}

impl Launch<'_> {
    fn has_args(&self, args: &[u8]) -> bool {
        let mut rest = Some(args);
        for arg in self.args {
            rest = rest.and_then(|rest| rest.strip_prefix(*arg));
        }
        rest.is_some_and(<[u8]>::is_empty)
    }

    /// Calls `with` with what a graph's node is told.
    fn with_params<T>(&self, with: impl FnOnce(&CUDA_KERNEL_NODE_PARAMS) -> T) -> T {
        let mut addresses: Vec<*mut c_void> = self.args.iter().map(|arg| address(arg)).collect();
        with(&CUDA_KERNEL_NODE_PARAMS {
            func: self.function,
            gridDimX: self.plan.grid,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: self.plan.block,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: self.plan.shared,
            kernelParams: addresses.as_mut_ptr(),
            extra: std::ptr::null_mut(),
            kern: std::ptr::null_mut(),
            ctx: std::ptr::null_mut(),
        })
    }
}

/// A graph of one kernel.
struct Graph {
    device: Arc<Device>,
    graph: CUgraph,
    node: CUgraphNode,
    ready: CUgraphExec,
    /// The arguments it has.
    args: Vec<u8>,
}

// SAFETY: graphs may be used from any thread, by one at a time.
unsafe impl Send for Graph {}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poison| poison.into_inner())
}

impl Graphs {
    /// Launches a kernel on a stream that is not captured, whose context is the current one, if there is a graph for it; otherwise the
    /// answer is false.
    pub(super) fn launch(
        &self,
        device: &Arc<Device>,
        stream: CUstream,
        kernel: &Launch<'_>,
    ) -> bool {
        let raw = stream as u64;
        if raw == PER_THREAD {
            return false;
        }
        let of_stream = Arc::clone(lock(&self.streams).entry(raw).or_default());
        let mut plans = lock(&of_stream);
        let Some(known) = plans.find(kernel.plan) else {
            return false;
        };
        if let By::Kernel(times) = &mut known.by {
            *times += 1;
            if *times > OFTEN {
                let graph = Graph::new(device, kernel);
                known.by = graph.map_or(By::KernelForGood, By::Graph);
            }
        }
        let By::Graph(graph) = &mut known.by else {
            return false;
        };
        let launched = graph.launch(stream, kernel).is_ok();
        if !launched {
            // A graph's first launch needs memory of the GPU. If something else is wrong, the kernel's launch will tell.
            known.by = By::KernelForGood;
        }
        launched
    }

    /// Forgets a stream, whose number may be another one's later. What is on it goes on.
    pub(super) fn forget(&self, stream: u64) {
        let forgotten = lock(&self.streams).remove(&stream);
        drop(forgotten);
    }

    /// Forgets all streams.
    pub(super) fn clear(&self) {
        let forgotten = std::mem::take(&mut *lock(&self.streams));
        drop(forgotten);
    }
}

impl Plans {
    /// The entry of a plan that has come; none if there is no place for it.
    fn find(&mut self, plan: Plan) -> Option<&mut Repeated> {
        self.launches += 1;
        let last = self.launches;
        let place = match self.known.iter().position(|known| known.plan == plan) {
            Some(place) => place,
            None => self.make_place(Repeated {
                plan,
                by: By::Kernel(0),
                last,
            })?,
        };
        let known = &mut self.known[place];
        known.last = last;
        Some(known)
    }

    /// Where a new entry was put: at the end, or in the place of the one that has not come for longest.
    fn make_place(&mut self, new: Repeated) -> Option<usize> {
        if self.known.len() < PLANS {
            self.known.push(new);
            return Some(self.known.len() - 1);
        }
        let (oldest, known) = self
            .known
            .iter_mut()
            .enumerate()
            .min_by_key(|(_, known)| known.last)?;
        if new.last - known.last <= UNUSED {
            return None;
        }
        *known = new;
        Some(oldest)
    }
}

impl Graph {
    /// A graph of a kernel; the device's context is the current one.
    fn new(device: &Arc<Device>, kernel: &Launch<'_>) -> Result<Graph> {
        // The program may capture another stream meanwhile.
        let _apart = Apart::new()?;
        let mut made = Graph {
            device: Arc::clone(device),
            graph: std::ptr::null_mut(),
            node: std::ptr::null_mut(),
            ready: std::ptr::null_mut(),
            args: kernel.args.concat(),
        };
        // SAFETY: rules 1 and 2 of driver.rs; `drop` destroys it.
        let code = unsafe { sys::cuGraphCreate(&mut made.graph, 0) };
        check("cuGraphCreate", code)?;
        let (graph, node) = (made.graph, &mut made.node);
        kernel.with_params(|params| {
            // SAFETY: rules 1 to 3; the parameters are those of the launch that this stands for, and are copied.
            let code =
                unsafe { sys::cuGraphAddKernelNode_v2(node, graph, std::ptr::null(), 0, params) };
            check("cuGraphAddKernelNode", code)
        })?;
        // Without flags, it runs with the priority of the stream that it is launched on.
        // SAFETY: rules 1 to 3; `drop` destroys it.
        let code = unsafe { sys::cuGraphInstantiateWithFlags(&mut made.ready, made.graph, 0) };
        check("cuGraphInstantiateWithFlags", code)?;
        Ok(made)
    }

    /// Puts its kernel on a stream, with these arguments.
    fn launch(&mut self, stream: CUstream, kernel: &Launch<'_>) -> Result<()> {
        let _apart = Apart::new()?;
        if !kernel.has_args(&self.args) {
            kernel.with_params(|params| {
                // SAFETY: rules 1 to 3; the parameters are copied. What is launched already has its own.
                let code = unsafe {
                    sys::cuGraphExecKernelNodeSetParams_v2(self.ready, self.node, params)
                };
                check("cuGraphExecKernelNodeSetParams", code)
            })?;
            self.args.clear();
            self.args.extend(kernel.args.iter().copied().flatten());
        }
        // SAFETY: rules 1 and 3.
        check("cuGraphLaunch", unsafe {
            sys::cuGraphLaunch(self.ready, stream)
        })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if !self.device.is_ours() {
            return;
        }
        let (Ok(_current), _apart) = (self.device.enter(), Apart::new()) else {
            return;
        };
        // SAFETY: rules 1 and 3. Launches that have not ended go on; the driver frees what they use then. An error changes nothing.
        unsafe {
            if !self.ready.is_null() {
                let _: CUresult = sys::cuGraphExecDestroy(self.ready);
            }
            if !self.graph.is_null() {
                let _: CUresult = sys::cuGraphDestroy(self.graph);
            }
        }
    }
}
