//! A job of thread PEs that lives over many cases: making a job anew for each would take most of the time.

use nvshmemrs::local::Job;
use nvshmemrs::{InitAttr, Pe, Runtime};
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// The work of each PE before the first case, and then with each case. It panics on errors.
pub(crate) struct Plan<C, S> {
    pub(crate) setup: fn(&Runtime) -> nvshmemrs::Result<S>,
    pub(crate) body: fn(&Runtime, &mut S, &C),
}

impl<C, S> Clone for Plan<C, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C, S> Copy for Plan<C, S> {}

struct Pool<C> {
    cases: Vec<Sender<Arc<C>>>,
    results: Receiver<Result<(), String>>,
}

impl<C: Send + Sync + 'static> Pool<C> {
    fn start<S: 'static>(n: Pe, plan: Plan<C, S>) -> Pool<C> {
        let attr = InitAttr {
            heap_bytes: Some(8 << 20),
            // A PE that has gone wrong must not strand the others.
            timeout: Some(Duration::from_secs(20)),
            ..InitAttr::default()
        };
        let job = Arc::new(Job::new(n, &attr).expect("a job"));
        let (done, results) = channel();
        let cases = (0..n)
            .map(|pe| {
                let (job, done, (send, receive)) = (Arc::clone(&job), done.clone(), channel());
                std::thread::spawn(move || member(&job, pe, plan, &receive, &done));
                send
            })
            .collect();
        Pool { cases, results }
    }

    /// Runs a case on every PE; the first complaint.
    fn run(&self, case: C) -> Result<(), String> {
        let case = Arc::new(case);
        for pe in &self.cases {
            pe.send(Arc::clone(&case))
                .map_err(|_| "a PE has gone".to_string())?;
        }
        let mut first = Ok(());
        for _ in &self.cases {
            let result = self.results.recv_timeout(Duration::from_secs(60));
            first = first.and(result.unwrap_or_else(|_| Err("a PE hangs or has gone".into())));
        }
        first
    }
}

/// The life of one PE. After a complaint it leaves, so that the others end, too.
fn member<C, S>(
    job: &Job,
    pe: Pe,
    plan: Plan<C, S>,
    cases: &Receiver<Arc<C>>,
    done: &Sender<Result<(), String>>,
) {
    let rt = job.join(pe).expect("join");
    let mut state = (plan.setup)(&rt).expect("setup");
    while let Ok(case) = cases.recv() {
        let outcome = catch_unwind(AssertUnwindSafe(|| (plan.body)(&rt, &mut state, &case)));
        let result = outcome.map_err(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
            format!("PE {pe}: {}", text.unwrap_or_default())
        });
        let failed = result.is_err();
        if done.send(result).is_err() || failed {
            return;
        }
    }
    drop(state);
    rt.finalize().expect("finalize");
}

/// How many cases there are by default: fewer in the core's unit tests, where the PEs exchange messages.
const CASES: u32 = if matches!(env!("CARGO_CRATE_NAME").as_bytes(), b"nvshmemrs") {
    2_000
} else {
    50_000
};

/// How many cases a test runs: its share, in parts of a hundred, of `NVSHMEMRS_CASES`.
pub(crate) fn share(percent: u32) -> u32 {
    let all = match std::env::var("NVSHMEMRS_CASES") {
        Ok(text) => text.parse().expect("NVSHMEMRS_CASES is a number"),
        Err(_) => CASES,
    };
    (all / 100 * percent).max(1)
}

/// Runs `cases` cases on jobs of each of these numbers of PEs in turn, and says how fast that went.
pub(crate) fn check<C, S, Y>(
    name: &str,
    n_pes: &[Pe],
    cases: u32,
    plan: Plan<C, S>,
    strategy: impl Fn(Pe) -> Y,
) where
    Y: Strategy<Value = C>,
    C: Clone + Debug + Send + Sync + 'static,
    S: 'static,
{
    for &n in n_pes {
        let count = (cases / n_pes.len() as u32).max(1);
        let config = Config {
            cases: count,
            failure_persistence: None,
            max_shrink_iters: 100,
            ..Config::default()
        };
        let start = Instant::now();
        let mut pool = Pool::start(n, plan);
        let cell = std::cell::RefCell::new(&mut pool);
        TestRunner::new(config)
            .run(&strategy(n), |case| {
                let mut pool = cell.borrow_mut();
                pool.run(case).map_err(|text| {
                    // The job is of no use any more.
                    **pool = Pool::start(n, plan);
                    TestCaseError::fail(text)
                })
            })
            .unwrap_or_else(|failure| panic!("{name}, {n} PEs: {failure}"));
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{name}, {n} PEs: {count} cases, {:.0} per second",
            f64::from(count) / seconds
        );
    }
}
