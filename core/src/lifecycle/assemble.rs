//! Making the runtime of a PE that has taken its place in a job.

use crate::debug::Level;
use crate::heap::Heap;
use crate::job::block::Control;
use crate::job::layout::Layout;
use crate::job::liveness::{self, Chore, Watchdog};
use crate::job::membership::Membership;
use crate::job::places::Places;
use crate::job::published::{Target, Wait};
use crate::job::roll::Word;
use crate::job::state::State;
use crate::job::{fork, interrupt};
use crate::operation::Operation;
use crate::runtime::{Inner, Resolved, Streams};
use crate::sites::Sites;
use crate::team::Teams;
use crate::track::Ledger;
#[cfg(test)]
use crate::transport::channel::ChannelTransport;
use crate::transport::check::{self, Checked, Checker};
use crate::transport::cuda::CudaTransport;
use crate::transport::host::HostTransport;
use crate::transport::{Lane, Route};
use crate::{Error, Pe, Result, Runtime, wait};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex};
use std::time::Instant;

impl Inner {
    /// Ends the kernels of this PE that wait for one that is gone, or on a broken team; for the watchdog.
    fn kernels_chore(&self) -> Option<Chore> {
        let completion = Arc::clone(self.transport.cuda()?.completion());
        let (control, me) = (self.control.clone(), self.my_pe);
        Some(Box::new(move || completion.watch(&control, me)))
    }
}

impl Runtime {
    /// Makes the runtime of PE `me`, which has taken its place, and waits for the others, `until` when they must be there.
    pub(crate) fn assemble(
        control: Control,
        me: Pe,
        attr: &Resolved,
        membership: Membership,
        until: Instant,
        cuda: Option<CudaTransport>,
        word: Option<Word>,
    ) -> Result<Runtime> {
        fork::watch();
        let heap_bytes = control.heap_bytes();
        let seed = control.check_seed();
        let sites = (attr.track || seed.is_some()).then(Sites::new);
        let (layout, transport) = match cuda {
            Some(cuda) => (cuda.layout(), Route::Other(Box::new(cuda))),
            None => {
                let layout = Layout::new(
                    control.segment().base() + Control::heap_offset(control.n_pes()),
                    Control::stride(heap_bytes),
                    heap_bytes,
                    me,
                    control.n_pes(),
                );
                let host = HostTransport::new(Arc::clone(control.segment()), layout, me);
                let proper = Route::Host(host);
                #[cfg(test)]
                let proper = ChannelTransport::over(proper, attr.links.as_ref(), &control, me)?;
                let transport = match (seed, &sites) {
                    (Some(_), Some(sites)) => {
                        let (sites, below) = (Arc::clone(sites), proper.boxed());
                        let check = Checker::start(&control, layout, me, below, sites)?;
                        Route::Other(Box::new(Checked(check)))
                    }
                    _ => proper,
                };
                (layout, transport)
            }
        };
        let left = until.saturating_duration_since(Instant::now());
        let inner = Inner {
            live: AtomicU64::new(fork::generation()),
            my_pe: me,
            n_pes: control.n_pes(),
            layout,
            transport,
            heap: Heap::new(&layout),
            teams: Teams::new(&control),
            streams: Streams::default(),
            spins: AtomicU32::new(0),
            timeout: attr.timeout,
            init_until: crate::clock::now_ns().saturating_add(left.as_nanos() as u64),
            interrupted: AtomicBool::new(false),
            hook: Mutex::new(interrupt::hook()),
            debug: Level::from_environment(),
            ledger: sites.clone().filter(|_| attr.track).map(Ledger::new),
            sites,
            watchdog: Mutex::new(None),
            word: Mutex::new(word),
            control,
        };
        if membership == Membership::Process && inner.n_pes > 1 {
            let control = inner.control.clone();
            let chore = inner.kernels_chore();
            let watchdog = Watchdog::start(control, me, attr.stop_timeout, chore)?;
            *crate::lock::lock(&inner.watchdog) = Some(watchdog);
        }
        let runtime = Runtime {
            inner: Arc::new(inner),
            member: true,
            lane: Lane::Blocking,
        };
        let inner = &runtime.inner;
        if let Some(cuda) = inner.transport.cuda() {
            let weak = Arc::downgrade(inner);
            cuda.wait_by(Box::new(move |wait, done| match weak.upgrade() {
                Some(inner) => inner.wait_for(wait, done),
                None => Err(Error::NotInitialized("the runtime has been dropped")),
            }));
        }
        let wait = Wait {
            operation: Operation::Init,
            target: Target::Job,
        };
        inner.wait(wait, || liveness::all_are(&inner.control, State::Active))?;
        inner.make_predefined(&Places::read(&inner.control));
        inner.spins.store(wait::spins(&inner.control), Relaxed);
        if let (0, Some(seed)) = (me, seed) {
            check::write(&format!(
                "nvshmemrs check: on for {} PEs, seed {seed} (NVSHMEMRS_CHECK_SEED={seed} repeats its choices)\n",
                inner.n_pes
            ));
        }
        if let Some(cuda) = inner.transport.cuda() {
            inner.debug.write(Level::Info, me, || {
                format!(
                    "{}, kernels from {}",
                    cuda.device(),
                    cuda.kernels().origin()
                )
            });
        }
        inner.debug.write(Level::Info, me, || {
            format!(
                "joined; PEs in the job: {}; symmetric heap of each: {heap_bytes} bytes of {} memory",
                inner.n_pes,
                inner.transport.any().kind()
            )
        });
        Ok(runtime)
    }
}
