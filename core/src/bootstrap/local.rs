//! Jobs whose PEs are threads of one process, for tests, notebooks and programs with one thread per device. A program without a
//! launcher is such a job of one PE.

use super::{check_job, stride};
use crate::job::block::Control;
use crate::job::membership::{self, Membership};
use crate::runtime::Resolved;
#[cfg(test)]
use crate::transport::Joined;
#[cfg(test)]
use crate::transport::pretended::Pretended;
use crate::transport::{self, JobPeers, MemoryProvider, Route};
use crate::{Error, InitAttr, Pe, Result, Runtime};
use std::sync::Mutex;
use std::time::Instant;

/// A job that threads of this process join.
#[derive(Debug)]
pub struct Job {
    control: Control,
    attr: Resolved,
    joined: Mutex<Vec<bool>>,
    /// The provider of the heap's memory.
    provider: Box<dyn MemoryProvider>,
    /// The hosts that the PEs pretend to be on, and the block of each PE's.
    #[cfg(test)]
    pretended: Option<(Pretended, Vec<Control>)>,
}

impl Job {
    /// Creates a job of `n_pes` PEs. Local.
    #[cfg_attr(test, track_caller)]
    pub fn new(n_pes: Pe, attr: &InitAttr) -> Result<Job> {
        check_job(0, n_pes)?;
        let attr = attr.resolve()?;
        let provider = transport::of_threads(attr.memory, attr.device, n_pes)?;
        let heap_bytes = match attr.heap_bytes {
            Some(bytes) => stride(bytes)?,
            None => stride(provider.default_heap(n_pes)?)?,
        };
        let check = attr.check.checked(n_pes, heap_bytes)?;
        let control = Control::create(n_pes, heap_bytes, attr.memory, check)?;
        let job = Job {
            control,
            attr,
            joined: Mutex::new(vec![false; n_pes as usize]),
            provider,
            #[cfg(test)]
            pretended: None,
        };
        #[cfg(test)]
        let job = job.on(Pretended::wanted(n_pes, std::panic::Location::caller()))?;
        Ok(job)
    }

    /// The same, on hosts that its PEs pretend to be on, or on one.
    #[cfg(test)]
    pub(crate) fn on(self, pretended: Option<Pretended>) -> Result<Job> {
        let pretended = pretended.map(|hosts| hosts.with_blocks(&self.control));
        let pretended = pretended.transpose()?;
        Ok(Job { pretended, ..self })
    }

    /// The state that the PEs share.
    #[cfg(fuzzing)]
    pub(crate) fn control(&self) -> &Control {
        &self.control
    }

    /// The way of a PE to other hosts, if there are some.
    #[cfg(test)]
    fn reach_out(
        &self,
        me: Pe,
        control: Control,
        joined: Joined,
    ) -> Result<(Control, Joined<Route>)> {
        match &self.pretended {
            None => {
                let joined = Route::joined(joined, &control)?;
                Ok((control, joined))
            }
            Some((pretended, _)) => pretended.join(me, control, joined),
        }
    }

    /// Joins the job as PE `pe`.
    ///
    /// Collective over all PEs of the job.
    pub fn join(&self, pe: Pe) -> Result<Runtime> {
        crate::error::check_pe("pe", pe, self.control.n_pes())?;
        let until = Instant::now() + self.attr.init_timeout.0;
        let mut joined = crate::lock::lock(&self.joined);
        if std::mem::replace(&mut joined[pe as usize], true) {
            return Err(Error::invalid(
                "pe",
                pe,
                "a PE that has not joined this job yet",
            ));
        }
        drop(joined);
        let control = self.control.clone();
        #[cfg(test)]
        let control = match &self.pretended {
            Some((_, blocks)) => blocks[pe as usize].clone(),
            None => control,
        };
        // The others take a PE that has its place to be there: then its memory must be.
        let joined = self.provider.join(&control, pe, JobPeers::Threads, until);
        let gpu = joined.as_ref().ok().and_then(|joined| joined.gpu);
        membership::take_place(&control, pe, Membership::Thread, gpu)?;
        #[cfg(not(test))]
        let joined = joined.and_then(|joined| Route::joined(joined, &control));
        #[cfg(test)]
        let (control, joined) =
            match joined.and_then(|joined| self.reach_out(pe, control.clone(), joined)) {
                Ok((control, joined)) => (control, Ok(joined)),
                Err(error) => (control, Err(error)),
            };
        match joined {
            Ok(joined) => {
                let (attr, me) = (&self.attr, Membership::Thread);
                Runtime::assemble(control, pe, attr, me, until, joined, None)
            }
            Err(error) => {
                membership::give_up_place(&control, pe, None);
                Err(error)
            }
        }
    }
}

/// Runs `body` as each PE of a new job of `n_pes` PEs, one thread each, and returns the first error, by PE.
///
/// # Panics
/// If `body` panics on a PE, after every thread has ended.
#[cfg_attr(test, track_caller)]
pub fn run<F>(n_pes: Pe, body: F) -> Result<()>
where
    F: Fn(Runtime) -> Result<()> + Sync,
{
    run_with(n_pes, &InitAttr::default(), body)
}

/// As [`run`], with attributes.
#[cfg_attr(test, track_caller)]
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn one_deadline_holds_for_all_of_init() {
        let attr = InitAttr {
            heap_bytes: Some(2 << 20),
            init_timeout: Some(Duration::from_secs(1000)),
            ..InitAttr::default()
        };
        let job = Job::new(2, &attr).unwrap();
        let (control, me) = (job.control.clone(), Membership::Thread);
        membership::take_place(&control, 0, me, None).unwrap();
        // The earlier steps have used up nearly all of it.
        let until = Instant::now() + Duration::from_millis(20);
        let joined = job.provider.join(&control, 0, JobPeers::Threads, until);
        let joined = Route::joined(joined.unwrap(), &control).unwrap();
        let late = Runtime::assemble(control, 0, &job.attr, me, until, joined, None).unwrap_err();
        assert!(matches!(late, Error::Timeout { .. }), "{late}");
        assert!(
            late.to_string().contains("the init_timeout given to init"),
            "{late}"
        );
    }
}
