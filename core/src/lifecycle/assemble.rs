//! Creates the runtime of a PE that has joined a job.

use super::stall::StallReport;
use super::status::status_writer;
use crate::callers::Callers;
use crate::debug::Level;
use crate::heap::Heap;
use crate::job::block::Control;
use crate::job::exit_registry::{Progress, RegistryReader};
use crate::job::liveness::{Watchdog, WatchdogTasks};
use crate::job::membership::Membership;
use crate::job::published::{Target, Wait};
use crate::job::state::State;
use crate::job::topology::Topology;
use crate::job::{fork, interrupt};
use crate::operation::Operation;
use crate::runtime::{Inner, Limits, Resolved, Streams};
use crate::sites::Sites;
use crate::sites::inside::write;
use crate::team::{Grouped, Teams};
use crate::track::Ledger;
use crate::transport::check::{Checked, Checker};
use crate::transport::trace::{Trace, Traced};
use crate::transport::traffic::{Counted, Traffic};
use crate::transport::{Joined, Owner, Route, Submission};
use crate::words::counted;
use crate::{Error, MemoryKind, Pe, Result, Runtime, wait};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Instant;

/// The PE as the owner of its transport.
struct TransportOwner(Weak<Inner>);

impl TransportOwner {
    fn ask<T>(&self, question: impl FnOnce(&Inner) -> Result<T>) -> Result<T> {
        match self.0.upgrade() {
            Some(inner) => question(&inner),
            None => Err(Error::NotInitialized("the runtime has been dropped")),
        }
    }
}

impl Owner for TransportOwner {
    fn wait(&self, wait: Wait, done: &dyn Fn() -> Result<bool>) -> Result<()> {
        self.ask(|inner| inner.wait_for(wait, done))
    }

    fn check(&self, operation: Operation) -> Result<()> {
        self.ask(|inner| {
            inner.check_job(operation)?;
            inner.ready()
        })
    }

    fn check_team(&self, operation: Operation, team: u32) -> Result<()> {
        self.ask(|inner| inner.check_team(operation, inner.team_state(team)))
    }

    fn break_team(&self, team: u32) {
        if let Some(inner) = self.0.upgrade() {
            inner.break_team(inner.team_state(team));
        }
    }
}

/// Begins the trace of this PE. If it cannot be written, the job goes on, and PE 0 reports it.
fn start_trace(
    path: &Path,
    control: &Control,
    me: Pe,
    memory: MemoryKind,
    sites: &Arc<Sites>,
) -> Option<Arc<Trace>> {
    let trace = Trace::start(path, control, me, memory, sites);
    if let (Err(error), 0) = (&trace, me) {
        write(&format!(
            "nvshmemrs trace: {}.pe-0: {error}; the job goes on without a trace\n",
            path.display()
        ));
    }
    trace.ok()
}

impl Runtime {
    /// Creates the runtime of PE `me`, which has joined, and waits for the others at most `until` then.
    pub(crate) fn assemble(
        control: Control,
        me: Pe,
        attr: &Resolved,
        membership: Membership,
        until: Instant,
        joined: Joined<Route>,
        registry: Option<RegistryReader>,
    ) -> Result<Runtime> {
        fork::watch();
        let heap_bytes = control.heap_bytes();
        let seed = control.check_seed();
        let sites = (attr.track || attr.trace.is_some() || seed.is_some()).then(Sites::new);
        let Joined {
            layout,
            transport,
            access,
            ..
        } = joined;
        let transport = match (seed, &sites) {
            (Some(_), Some(sites)) => {
                let (sites, below) = (Arc::clone(sites), transport.boxed());
                let check = Checker::start(&control, layout, me, below, access, sites)?;
                Route::Other(Box::new(Checked(check)))
            }
            _ => transport,
        };
        let traffic = attr
            .traffic
            .then(|| Arc::new(Traffic::new(control.n_pes())));
        let transport = match &traffic {
            Some(traffic) => Route::Other(Box::new(Counted {
                below: transport.boxed(),
                traffic: Arc::clone(traffic),
            })),
            None => transport,
        };
        let trace = match (&attr.trace, &sites) {
            (Some(path), Some(sites)) => {
                let memory = transport.properties().kind;
                start_trace(path, &control, me, memory, sites)
            }
            _ => None,
        };
        let transport = match &trace {
            Some(trace) => Route::Other(Box::new(Traced {
                below: transport.boxed(),
                trace: Arc::clone(trace),
            })),
            None => transport,
        };
        let inner = Inner {
            live: AtomicU64::new(fork::generation()),
            my_pe: me,
            n_pes: control.n_pes(),
            layout,
            transport,
            heap: Heap::new(&layout, seed.is_some()),
            teams: Teams::new(&control),
            grouped: Grouped::default(),
            streams: Streams::default(),
            contexts: AtomicU32::new(0),
            spins: AtomicU32::new(0),
            limits: Limits::new(attr, until),
            interrupted: AtomicBool::new(false),
            hook: Mutex::new(interrupt::hook()),
            debug: Level::from_environment(),
            ledger: sites.clone().filter(|_| attr.track).map(Ledger::new),
            sites,
            callers: Callers::default(),
            traffic,
            trace,
            settings: Arc::clone(&attr.settings),
            watchdog: Mutex::new(None),
            held: Mutex::new(None),
            registry,
            blamed: AtomicBool::new(false),
            static_data_error: OnceLock::new(),
            control,
        };
        let runtime = Runtime {
            inner: Arc::new(inner),
            member: true,
            submission: Submission::Blocking,
            context: 0,
        };
        let inner = &runtime.inner;
        // Kernels of a single PE, too, ask it to exit.
        let on_gpu = inner.transport.properties().kind == MemoryKind::Device;
        if membership == Membership::Process && (inner.n_pes > 1 || on_gpu) {
            let control = inner.control.clone();
            let (weak, asked) = (Arc::downgrade(inner), Arc::downgrade(inner));
            let mut of_transport = inner.transport.any().chore();
            let mut stalls = attr.stall_after.filter(|_| me == 0).map(StallReport::new);
            let tasks = WatchdogTasks {
                chore: Some(Box::new(move || {
                    if let Some(chore) = &mut of_transport {
                        chore();
                    }
                    let Some(inner) = asked.upgrade() else {
                        return;
                    };
                    inner.exit_if_a_kernel_asked();
                    if let Some(stalls) = &mut stalls {
                        stalls.look(&inner);
                    }
                })),
                answer: status_writer(inner),
                // A launcher may end this PE before the program learns of it.
                gone: Some(Box::new(move || {
                    weak.upgrade().inspect(|inner| inner.log_loss());
                })),
            };
            let watchdog = Watchdog::start(control, me, attr.stop_timeout, tasks)?;
            *crate::lock::lock(&inner.watchdog) = Some(watchdog);
        }
        let owner = TransportOwner(Arc::downgrade(inner));
        inner.transport.any().owned_by(Arc::new(owner));
        let wait = Wait {
            operation: Operation::Init,
            target: Target::Job,
        };
        {
            let _span = inner.span_of_job(Operation::Init);
            inner.wait_for_all(wait, State::Active)?;
        }
        if let Some(registry) = &inner.registry {
            registry.set_part(Progress::Joined);
        }
        inner.make_predefined(&Topology::read(&inner.control));
        inner.spins.store(wait::spins(&inner.control), Relaxed);
        if let (0, Some(seed)) = (me, seed) {
            write(&format!(
                "nvshmemrs check: on for {}, seed {seed} (NVSHMEMRS_CHECK_SEED={seed} repeats its choices)\n",
                counted(inner.n_pes as u64, "PE")
            ));
        }
        if let Some(about) = inner.transport.any().about() {
            inner.debug.write(Level::Info, me, || about);
        }
        inner.debug.write(Level::Info, me, || {
            format!(
                "joined; PEs in the job: {}; symmetric heap of each: {heap_bytes} bytes of {} memory",
                inner.n_pes,
                inner.transport.properties().kind
            )
        });
        if me == 0 {
            inner.debug.log_settings(me);
        }
        Ok(runtime)
    }
}
