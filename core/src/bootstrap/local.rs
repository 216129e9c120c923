//! Jobs whose PEs are threads of one process, for tests, notebooks and programs with one thread per device. A job of one PE needs
//! nothing else, so a program that no launcher started is one, too.

use super::{check_job, stride};
use crate::runtime::{Membership, Resolved};
use crate::transport::host::control::Control;
use crate::{Error, InitAttr, Pe, Result, Runtime};
use std::sync::Mutex;

/// A job that threads of this process join.
#[derive(Debug)]
pub struct Job {
    control: Control,
    attr: Resolved,
    joined: Mutex<Vec<bool>>,
}

impl Job {
    /// Makes a job of `n_pes` PEs. Local.
    pub fn new(n_pes: Pe, attr: &InitAttr) -> Result<Job> {
        check_job(0, n_pes)?;
        let attr = attr.resolve()?;
        let control = Control::create(
            n_pes,
            stride(attr.heap_bytes, n_pes)?,
            attr.check.seed(n_pes)?,
        )?;
        Ok(Job {
            control,
            attr,
            joined: Mutex::new(vec![false; n_pes as usize]),
        })
    }

    /// What the PEs share.
    #[cfg(fuzzing)]
    pub(crate) fn control(&self) -> &Control {
        &self.control
    }

    /// Joins the job as PE `pe`.
    ///
    /// Collective over all PEs of the job.
    pub fn join(&self, pe: Pe) -> Result<Runtime> {
        crate::pe::check("pe", pe, self.control.n_pes())?;
        let mut joined = self
            .joined
            .lock()
            .unwrap_or_else(|poison| poison.into_inner());
        if std::mem::replace(&mut joined[pe as usize], true) {
            return Err(Error::invalid(
                "pe",
                pe,
                "a PE that has not joined this job yet",
            ));
        }
        drop(joined);
        Runtime::take_place(&self.control, pe, Membership::Thread)?;
        Runtime::assemble(self.control.clone(), pe, &self.attr, Membership::Thread)
    }
}

/// Runs `body` as each PE of a new job of `n_pes` PEs, one thread each, and returns the first error, by PE.
///
/// # Panics
/// If `body` panics on a PE, after every thread has ended.
pub fn run<F>(n_pes: Pe, body: F) -> Result<()>
where
    F: Fn(Runtime) -> Result<()> + Sync,
{
    run_with(n_pes, &InitAttr::default(), body)
}

/// As [`run`], with attributes.
pub fn run_with<F>(n_pes: Pe, attr: &InitAttr, body: F) -> Result<()>
where
    F: Fn(Runtime) -> Result<()> + Sync,
{
    let job = Job::new(n_pes, attr)?;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..n_pes)
            .map(|pe| {
                scope.spawn({
                    let (job, body) = (&job, &body);
                    move || body(job.join(pe)?)
                })
            })
            .collect();
        let results: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
        // A panic first: the errors of the other PEs follow from it.
        let mut first = Ok(());
        for result in results {
            match result {
                Ok(result) => first = first.and(result),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        first
    })
}
