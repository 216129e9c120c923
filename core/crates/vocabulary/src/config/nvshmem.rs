//! NVSHMEM's documented settings, and the effect of each here: scripts of NVSHMEM's programs may set them.

use Effect::{Nothing, Otherwise, Same};
use std::ffi::OsString;

/// The prefix of NVSHMEM's settings.
pub const PREFIX: &str = "NVSHMEM_";

/// The effect of a setting of NVSHMEM here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The same as in NVSHMEM.
    Same,
    /// Something else.
    Otherwise,
    /// Nothing.
    Nothing,
}

/// Settings of NVSHMEM with the same description.
#[derive(Debug)]
pub struct Documented {
    /// Their names, without [`PREFIX`], with spaces between them. A name that ends with `*` stands for all names with that prefix.
    names: &'static str,
    /// Their meaning in NVSHMEM.
    pub meaning: &'static str,
    /// Their effect here.
    pub here: Effect,
    /// How, or why not.
    pub why: &'static str,
}

impl Documented {
    /// Their names, without [`PREFIX`].
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.names.split(' ')
    }
}

const fn row(
    names: &'static str,
    meaning: &'static str,
    here: Effect,
    why: &'static str,
) -> Documented {
    Documented {
        names,
        meaning,
        here,
        why,
    }
}

const ONE_HOST: &str = "PEs of several hosts use MPI, whose own settings hold";
const RESERVED: &str = "the heap has its whole size from init on, set by NVSHMEM_SYMMETRIC_SIZE";
const OWN_MEETING: &str = "PEs find each other over a unix socket; NVSHMEMRS_BOOTSTRAP chooses the launcher whose variables number them";
const OWN_COLLECTIVES: &str =
    "the collectives are nvshmemrs' own and choose their algorithm by size and number of PEs";
const NO_MULTICAST: &str = "NVLink SHARP is not used";
const NO_PROXY: &str = "no thread passes operations on: GPUs load and store the peers' memory";

/// All of them, up to NVSHMEM 3.8.
#[rustfmt::skip]
pub const NVSHMEM: &[Documented] = &[
    row(
        "SYMMETRIC_SIZE",
        "bytes of symmetric heap per PE",
        Same,
        "suffixes k, m, g, t, of which the first letter counts, and fractions, as there; only the default differs",
    ),
    row(
        "DEBUG",
        "how much the library reports: VERSION, WARN, INFO, ABORT or TRACE",
        Otherwise,
        "WARN, INFO and TRACE, on standard error; VERSION and ABORT count as INFO",
    ),
    row(
        "DEBUG_SUBSYS DEBUG_FILE",
        "which parts of the library report; the file for it",
        Nothing,
        "NVSHMEM_DEBUG writes everything to standard error",
    ),
    row("DEBUG_ATTACH_DELAY", "seconds that init sleeps", Nothing, "`nvshmemrs-info --job PID` shows a job that hangs"),
    row("VERSION INFO INFO_HIDDEN", "prints the version or the settings at init", Nothing, "nvshmemrs-info prints both"),
    row("CONF_FILE", "a file of settings", Nothing, "only the environment is read, not this file, ~/.nvshmem.conf or /etc/nvshmem.conf"),
    row("HEAP_KIND", "whether the heap is memory of the GPU or of the host", Nothing, "NVSHMEMRS_MEMORY selects it: host or device"),
    row("MAX_MEMORY_PER_GPU CUMEM_GRANULARITY", "address space and steps of a heap that grows", Nothing, RESERVED),
    row("CUMEM_HANDLE_TYPE", "how GPU memory is shared with other processes", Nothing, "on one host a file descriptor is always enough"),
    row("DISABLE_CUDA_VMM", "takes the heap from cudaMalloc", Nothing, "device memory needs CUDA's virtual memory management"),
    row(
        "DISABLE_P2P LIMIT_PTR_P2P_ACCESS",
        "gives up loads and stores between GPUs",
        Nothing,
        "a job in device memory needs them; NVSHMEMRS_MEMORY=host does without",
    ),
    row("DISABLE_MNNVL MNNVL_OVERRIDE_MC_CLIQUE_ID", "NVLink between hosts", Nothing, ONE_HOST),
    row("DISABLE_NVLS DISABLE_NVLS_SHARING", "switches NVLink SHARP off", Nothing, NO_MULTICAST),
    row(
        "BYPASS_ACCESSIBILITY_CHECK ENABLE_ERROR_CHECKS",
        "fewer or more checks",
        Nothing,
        "arguments are always checked, and init fails where GPUs cannot reach each other",
    ),
    row("ENABLE_ALIGNED_MALLOC", "alignment of small allocations", Nothing, "nvshmemrs_align allocates with any alignment"),
    row("ASSERT_ATOMICS_SYNC BYPASS_FLUSH", "how writes of a network become visible", Nothing, ONE_HOST),
    row("ENABLE_LOGICAL_ENDPOINT ENABLE_RAIL_OPT", "how a network is used", Nothing, ONE_HOST),
    row(
        "CPU_AFFINITY",
        "pins PEs to the cores near their GPU",
        Nothing,
        "PEs run where the system or the launcher lets them, for example `taskset`",
    ),
    row("MAX_TEAMS", "how many teams there may be at a time", Nothing, "there may be 320, with the predefined ones"),
    row("MAX_PEER_STREAMS", "streams for copies to peers", Nothing, "copies run on the caller's stream"),
    row("CUDA_PATH", "where libcuda is", Nothing, "the dynamic linker looks for it, also in LD_LIBRARY_PATH"),
    row("BOOTSTRAP BOOTSTRAP_PMI", "how PEs find each other", Nothing, OWN_MEETING),
    row(
        "BOOTSTRAP_PLUGIN BOOTSTRAP_MPI_PLUGIN BOOTSTRAP_SHMEM_PLUGIN BOOTSTRAP_PMI_PLUGIN BOOTSTRAP_PMI2_PLUGIN \
         BOOTSTRAP_PMIX_PLUGIN BOOTSTRAP_UID_PLUGIN BOOTSTRAP_TWO_STAGE BOOTSTRAP_SHMEM_MODE",
        "libraries by which PEs find each other",
        Nothing,
        OWN_MEETING,
    ),
    row(
        "BOOTSTRAP_UID_SOCK_IFNAME BOOTSTRAP_UID_SOCK_FAMILY BOOTSTRAP_UID_SESSION_ID",
        "the sockets of jobs with a unique id",
        Nothing,
        "a unique id leads to a unix socket of this host",
    ),
    row("REMOTE_TRANSPORT", "which network library is used", Nothing, ONE_HOST),
    row(
        "IB_ENABLE_IBGDA ENABLE_MULTI_PORT IBGDA_ENABLE_MULTI_PORT ENABLE_NIC_PE_MAPPING HCA_PE_MAPPING HCA_LIST \
         HCA_PREFIX NETDEVS_POLICY DISABLE_LOCAL_ONLY_PROXY IB_GID_INDEX IB_TRAFFIC_CLASS IB_SL IB_ADDR_FAMILY \
         IB_ADDR_RANGE IB_ROCE_VERSION_NUM IB_ENABLE_RELAXED_ORDERING IB_NUM_RC_PER_DEVICE IB_DISABLE_DMABUF \
         IB_PKEY_INDEX IB_TIMEOUT IB_RETRY_CNT IB_FORCE_GRH IB_ATOMIC_POLICY IB_ROUTABLE_FLID_GID_INDEX DISABLE_GDRCOPY \
         DISABLE_IB_NATIVE_ATOMICS DISABLE_DATA_DIRECT QP_DEPTH SRQ_DEPTH IBGDA_NUM_DCT IBGDA_NUM_DCI \
         IBGDA_NUM_SHARED_DCI IBGDA_DCI_MAP_BY IBGDA_NUM_RC_PER_PE IBGDA_RC_MAP_BY IBGDA_NUM_REQUESTS_IN_BATCH \
         IBGDA_NIC_HANDLER IBGDA_FORCE_NIC_BUF_MEMTYPE GPUNETIO_* LIBFABRIC_PROVIDER LIBFABRIC_MAX_NIC_PER_PE \
         LIBFABRIC_DISABLE_BATCH_RMA LIBFABRIC_PROXY_REQUEST_BATCH_MAX LIBFABRIC_SIGNAL_WAIT_SPIN_COUNT",
        "network cards, and their driver: GPU or CPU",
        Nothing,
        ONE_HOST,
    ),
    row("PROXY_REQUEST_BATCH_MAX TRANSPORT_BATCH_MAX_OPS", "how many operations the proxy thread takes at a time", Nothing, NO_PROXY),
    row(
        "REGION_MAX_SLOTS TMA_POLICY TMA_MAX_BLOCKS",
        "regions and bulk copies in kernels of the program",
        Nothing,
        "regions have no effect, and a kernel chooses bulk copies by nvshmemrs_give_smem",
    ),
    row(
        "G_BUF_SIZE G_COALESCING_BUF_SIZE",
        "buffers for g in kernels of the program",
        Nothing,
        "g in a kernel is a load and needs no buffer",
    ),
    row("DISABLE_NCCL", "does without NCCL in collectives", Nothing, "NCCL is never used"),
    row("DISABLE_CE_COLLECTIVES", "does without copy engines in collectives", Nothing, OWN_COLLECTIVES),
    row(
        "BARRIER_DISSEM_KVAL BARRIER_TG_DISSEM_KVAL REDUCE_RECEXCH_KVAL BCAST_TREE_KVAL FCOLLECT_LL_THRESHOLD \
         FCOLLECT_LL128_THRESHOLD BCAST_ALGO FCOLLECT_ALGO REDUCE_ALGO REDUCESCATTER_ALGO REDMAXLOC_ALGO",
        "algorithms of collectives, and from which size they hold",
        Nothing,
        OWN_COLLECTIVES,
    ),
    row(
        "FCOLLECT_NVLS_THRESHOLD REDUCESCATTER_NVLS_THRESHOLD REDUCE_NVLS_THRESHOLD",
        "from which size collectives use NVLink SHARP",
        Nothing,
        NO_MULTICAST,
    ),
    row("REDUCE_SCRATCH_SIZE", "scratch memory of a team for reductions", Nothing, "reductions need none in the heap"),
    row(
        "FCOLLECT_NTHREADS REDUCESCATTER_NTHREADS REDUCE_NTHREADS FCOLLECT_MAX_CTAS REDUCESCATTER_MAX_CTAS \
         REDUCE_MAX_CTAS",
        "threads and blocks of the kernels of collectives",
        Nothing,
        "NVSHMEMRS_COLLECTIVE_SMS limits the blocks of a collective, and NVSHMEMRS_TUNING_FILE names a file of such choices",
    ),
    row("NVTX", "ranges for NVIDIA's profilers", Nothing, "NVSHMEMRS_TRACE makes ranges, too"),
    row("IGNORE_CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "how PEs share a GPU under MPS", Nothing, "PEs may share a GPU in any case"),
];

/// The row of a name, if NVSHMEM documents it.
pub fn documented(name: &str) -> Option<&'static Documented> {
    let name = name.strip_prefix(PREFIX)?;
    let is = |known: &str| match known.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == known,
    };
    NVSHMEM.iter().find(|row| row.names().any(is))
}

/// The settings of NVSHMEM in this process's environment that have no effect here.
pub fn without_effect() -> Vec<(String, &'static Documented)> {
    without_effect_of(std::env::vars_os().map(|(name, _)| name))
}

fn without_effect_of(names: impl Iterator<Item = OsString>) -> Vec<(String, &'static Documented)> {
    let names = names.filter_map(|name| name.into_string().ok());
    let found = names.filter_map(|name| Some((documented(&name)?, name)));
    let found = found.filter(|(row, _)| row.here == Nothing);
    let mut found: Vec<_> = found.map(|(row, name)| (name, row)).collect();
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SETTINGS;
    use std::collections::HashSet;

    #[test]
    fn each_name_is_in_one_row() {
        let mut seen = HashSet::new();
        for name in NVSHMEM.iter().flat_map(Documented::names) {
            assert!(seen.insert(name), "{name} is there twice");
        }
        assert!(seen.len() > 120, "only {} names", seen.len());
    }

    #[test]
    fn what_is_read_here_does_something() {
        for setting in SETTINGS {
            if let Some(row) = documented(setting.name) {
                assert_ne!(row.here, Nothing, "{}", setting.name);
            }
        }
        for row in NVSHMEM.iter().filter(|row| row.here != Nothing) {
            for name in row.names() {
                let name = format!("{PREFIX}{name}");
                assert!(SETTINGS.iter().any(|one| one.name == name), "{name}");
            }
        }
    }

    #[test]
    fn only_what_does_nothing_is_told() {
        let set = [
            "NVSHMEM_SYMMETRIC_SIZE",
            "NVSHMEM_DEBUG",
            "NVSHMEM_NVTX",
            "NVSHMEM_GPUNETIO_X",
            "NVTX",
        ];
        let told = without_effect_of(set.iter().map(OsString::from));
        let names: Vec<&str> = told.iter().map(|one| one.0.as_str()).collect();
        assert_eq!(names, ["NVSHMEM_GPUNETIO_X", "NVSHMEM_NVTX"]);
    }
}
