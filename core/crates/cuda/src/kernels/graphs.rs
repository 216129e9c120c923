//! Launches by graphs of one kernel, which cost the CPU less than launches of the kernel: on an H200 and its driver 580 about 2.2 us
//! instead of 3.5.
//!
//! A graph belongs to a stream, because the driver runs the launches of one after each other, on whatever streams they are. A plan gets one
//! when it has come often on the stream; then a launch with other arguments than the one before sets them (0.5 us), which leaves the earlier
//! launches as they are.
//!
//! All are made at init, of another kernel: now and then the driver takes memory for a new one, and there it waits until no kernel of the
//! process runs (on an H200 at every 40th). A kernel that waits may never end then. What a graph that has its memory runs can be changed
//! at any time.

use super::Plan;
use super::launch::address;
use crate::Result;
use crate::lock::lock;
use crate::{CudaEvent, Device, OutsideCapture, PER_THREAD, check};
use cudarc::driver::sys::{self, CUDA_KERNEL_NODE_PARAMS, CUfunction, CUgraph, CUgraphExec};
use cudarc::driver::sys::{CUgraphNode, CUresult, CUstream};
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex};

/// How many there are. One takes some 40 us to make, and 128 KiB of the GPU's memory.
const GRAPHS: usize = 64;
/// The launch of a plan on a stream that gets a graph, if there is one; else the one after twice as many, and so on.
const OFTEN: u32 = 4;
/// Plans of a stream that are counted, or have graphs.
const PLANS: usize = 16;
/// Launches on a stream after which a plan that has not come again gives up its place to one that has none.
const UNUSED: u64 = 4 * PLANS as u64;

/// The graphs of a GPU's streams.
#[derive(Default)]
pub(super) struct Graphs {
    /// By stream. Each has a lock of its own: a launch may wait, when much is on its stream.
    streams: Mutex<HashMap<u64, Arc<Mutex<Plans>>>>,
    pool: Mutex<GraphPool>,
}

/// Graphs that no stream has.
#[derive(Default)]
struct GraphPool {
    ready: Vec<Graph>,
    /// Those of streams that are forgotten, from an event on behind their launches.
    later: Vec<(Arc<CudaEvent>, Vec<Graph>)>,
}

/// The work that is on a stream.
#[derive(Default)]
struct Plans {
    known: Vec<CountedPlan>,
    /// Graphs of plans that have given up their places.
    unused: Vec<Graph>,
    /// Launches so far.
    launches: u64,
}

/// A plan that has come on a stream.
struct CountedPlan {
    plan: Plan,
    method: LaunchMethod,
    /// The number of the launch when it came last.
    last: u64,
}

/// How a plan is launched.
enum LaunchMethod {
    /// As a kernel; so often so far.
    Kernel(u32),
    Graph(Graph),
    /// As a kernel: the driver has made an error of the graph's launch.
    KernelForGood,
}

/// A kernel to be launched, and its parameters.
pub(super) struct Launch<'a> {
    pub(super) function: CUfunction,
    pub(super) plan: Plan,
    pub(super) args: &'a [&'a [u8]],
}

impl Launch<'_> {
    /// Whether it is a launch of this plan with these arguments.
    fn is(&self, (plan, args): &(Plan, Vec<u8>)) -> bool {
        let mut rest = (self.plan == *plan).then_some(&args[..]);
        for arg in self.args {
            rest = rest.and_then(|rest| rest.strip_prefix(*arg));
        }
        rest.is_some_and(<[u8]>::is_empty)
    }

    /// Calls `with` with the parameters of a graph's node.
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
    /// Its present parameters.
    now: (Plan, Vec<u8>),
}

// SAFETY: graphs may be used from any thread, by one at a time.
unsafe impl Send for Graph {}

impl Graphs {
    /// Makes the graphs, as those of a kernel that is not launched so; its arguments are of no matter. `stream` readies them.
    pub(super) fn make(&self, device: &Arc<Device>, stream: CUstream, kernel: &Launch<'_>) {
        let made = std::iter::from_fn(|| Graph::new(device, stream, kernel).ok());
        // Where the driver makes fewer, fewer plans have one.
        lock(&self.pool).ready.extend(made.take(GRAPHS));
    }

    /// Launches a kernel on a stream that is not captured, whose context is the current one, if there is a graph for it; otherwise the
    /// answer is false.
    pub(super) fn launch(&self, stream: CUstream, kernel: &Launch<'_>) -> bool {
        let raw = stream as u64;
        if raw == PER_THREAD {
            return false;
        }
        let of_stream = Arc::clone(lock(&self.streams).entry(raw).or_default());
        let plans = &mut *lock(&of_stream);
        let Some(place) = plans.find(kernel.plan) else {
            return false;
        };
        let method = &mut plans.known[place].method;
        if let LaunchMethod::Kernel(times) = method {
            *times = times.saturating_add(1);
            if *times < OFTEN || !times.is_power_of_two() {
                return false;
            }
            match plans.unused.pop().or_else(|| lock(&self.pool).take()) {
                Some(graph) => *method = LaunchMethod::Graph(graph),
                None => return false,
            }
        }
        let LaunchMethod::Graph(graph) = method else {
            return false;
        };
        let launched = graph.launch(stream, kernel).is_ok();
        if !launched {
            // If something else is wrong, the kernel's launch will tell.
            *method = LaunchMethod::KernelForGood;
        }
        launched
    }

    /// Forgets a stream, whose number may be another one's later. What is on it goes on, until what `end` says then: an event, or none if it
    /// has run; an error if nobody will know.
    pub(super) fn forget(
        &self,
        stream: u64,
        end: impl FnOnce() -> Result<Option<Arc<CudaEvent>>>,
    ) -> Result<Option<Arc<CudaEvent>>> {
        let forgotten = lock(&self.streams).remove(&stream);
        // If another thread launches something now, by another handle of the stream's, that thread destroys them.
        let plans = forgotten.and_then(Arc::into_inner);
        let end = end();
        let graphs = plans.map_or_else(Vec::new, |plans| {
            let plans = plans.into_inner();
            plans.unwrap_or_else(|poison| poison.into_inner()).graphs()
        });
        if graphs.is_empty() {
            return end;
        }
        let pool = &mut *lock(&self.pool);
        match &end {
            Ok(None) => pool.ready.extend(graphs),
            Ok(Some(end)) => pool.later.push((Arc::clone(end), graphs)),
            // They are destroyed, and there are fewer from now on.
            Err(_) => {}
        }
        end
    }

    /// Gives all of them back.
    pub(super) fn clear(&self) {
        let forgotten = std::mem::take(&mut *lock(&self.streams));
        let pool = std::mem::take(&mut *lock(&self.pool));
        drop((forgotten, pool));
    }
}

impl GraphPool {
    /// One whose launches have all ended.
    fn take(&mut self) -> Option<Graph> {
        if self.ready.is_empty() {
            // After an error of the driver nobody knows.
            let ended = |(end, _): &mut (Arc<CudaEvent>, _)| end.query().unwrap_or(false);
            let ended = self.later.extract_if(.., ended);
            self.ready.extend(ended.flat_map(|(_, graphs)| graphs));
        }
        self.ready.pop()
    }
}

impl Plans {
    /// The place of a plan that has come; none if there is none for it.
    fn find(&mut self, plan: Plan) -> Option<usize> {
        self.launches += 1;
        let last = self.launches;
        let place = match self.known.iter().position(|known| known.plan == plan) {
            Some(place) => place,
            None => self.make_place(CountedPlan {
                plan,
                method: LaunchMethod::Kernel(0),
                last,
            })?,
        };
        self.known[place].last = last;
        Some(place)
    }

    /// Where a new entry was put: at the end, or in the place of the one that has not come for longest.
    fn make_place(&mut self, new: CountedPlan) -> Option<usize> {
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
        let before = std::mem::replace(known, new);
        self.unused.extend(before.graph());
        Some(oldest)
    }

    fn graphs(self) -> Vec<Graph> {
        let known = self.known.into_iter().filter_map(CountedPlan::graph);
        known.chain(self.unused).collect()
    }
}

impl CountedPlan {
    fn graph(self) -> Option<Graph> {
        match self.method {
            LaunchMethod::Graph(graph) => Some(graph),
            LaunchMethod::Kernel(_) | LaunchMethod::KernelForGood => None,
        }
    }
}

impl Graph {
    /// A graph of a kernel, with all that it needs of the GPU's memory when `stream` has come to here; the device's context is the current
    /// one.
    fn new(device: &Arc<Device>, stream: CUstream, kernel: &Launch<'_>) -> Result<Graph> {
        // The program may capture another stream meanwhile.
        let _outside = OutsideCapture::new()?;
        let mut made = Graph {
            device: Arc::clone(device),
            graph: std::ptr::null_mut(),
            node: std::ptr::null_mut(),
            ready: std::ptr::null_mut(),
            now: (kernel.plan, kernel.args.concat()),
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
        // SAFETY: rules 1 and 3.
        let code = unsafe { sys::cuGraphUpload(made.ready, stream) };
        check("cuGraphUpload", code)?;
        Ok(made)
    }

    /// Puts a kernel on a stream, by this graph.
    fn launch(&mut self, stream: CUstream, kernel: &Launch<'_>) -> Result<()> {
        let _outside = OutsideCapture::new()?;
        if !kernel.is(&self.now) {
            kernel.with_params(|params| {
                // SAFETY: rules 1 to 3; the parameters are copied. What is launched already has its own.
                let code = unsafe {
                    sys::cuGraphExecKernelNodeSetParams_v2(self.ready, self.node, params)
                };
                check("cuGraphExecKernelNodeSetParams", code)
            })?;
            let (plan, args) = &mut self.now;
            *plan = kernel.plan;
            args.clear();
            args.extend(kernel.args.iter().copied().flatten());
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
        let (Ok(_current), _outside) = (self.device.enter(), OutsideCapture::new()) else {
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
