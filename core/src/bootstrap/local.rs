//! Jobs whose PEs are threads of one process, for tests, notebooks and programs with one thread per device. A job of one PE needs
//! nothing else, so a program that no launcher started is one, too.

use super::{check_job, default_heap, stride};
use crate::job::block::Control;
use crate::job::membership::{self, Membership};
use crate::runtime::Resolved;
#[cfg(test)]
use crate::transport::channel::Links;
use crate::transport::cuda::{self, Company, CudaTransport, Device, Threads};
use crate::{Error, InitAttr, MemoryKind, Pe, Result, Runtime};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// A job that threads of this process join.
#[derive(Debug)]
pub struct Job {
    control: Control,
    attr: Resolved,
    joined: Mutex<Vec<bool>>,
    /// On GPUs: what the PEs share besides the control block.
    threads: Option<Arc<Threads>>,
    /// The GPU that the size of the heap was taken from, for the PE that uses it.
    first: Mutex<Option<Arc<Device>>>,
}

impl Job {
    /// Makes a job of `n_pes` PEs. Local.
    #[cfg_attr(test, track_caller)]
    pub fn new(n_pes: Pe, attr: &InitAttr) -> Result<Job> {
        check_job(0, n_pes)?;
        let attr = attr.resolve()?;
        #[cfg(test)]
        let attr = Resolved {
            links: Links::wanted(n_pes, std::panic::Location::caller()),
            ..attr
        };
        let on_device = attr.memory == MemoryKind::Device;
        let first = match on_device {
            true => {
                Threads::check(n_pes, attr.device)?;
                let ordinal = cuda::device::choose(attr.device, 0)?;
                Some(Ok(Arc::new(Device::open(ordinal)?)))
            }
            false => None,
        };
        let heap_bytes = match attr.heap_bytes {
            Some(bytes) => stride(bytes)?,
            None => stride(default_heap(first.as_ref(), n_pes)?)?,
        };
        let control = match on_device {
            true => Control::create_for_device(n_pes, heap_bytes)?,
            false => Control::create(n_pes, heap_bytes, attr.check.checked(n_pes, heap_bytes)?)?,
        };
        Ok(Job {
            control,
            attr,
            joined: Mutex::new(vec![false; n_pes as usize]),
            threads: on_device.then(Arc::default),
            first: Mutex::new(first.transpose()?),
        })
    }

    /// What the PEs share.
    #[cfg(fuzzing)]
    pub(crate) fn control(&self) -> &Control {
        &self.control
    }

    /// How the PEs reach each other, if by messages only.
    #[cfg(test)]
    pub(crate) fn links(&self) -> Option<&Arc<Links>> {
        self.attr.links.as_ref()
    }

    /// Joins the job as PE `pe`.
    ///
    /// Collective over all PEs of the job.
    pub fn join(&self, pe: Pe) -> Result<Runtime> {
        crate::error::check_pe("pe", pe, self.control.n_pes())?;
        let until = Instant::now() + self.attr.init_timeout;
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
        // The others take a PE that has its place to be there: then its memory must be.
        let cuda = match &self.threads {
            None => Ok(None),
            Some(threads) => {
                let company = Company::Threads(Arc::clone(threads));
                CudaTransport::join(&control, pe, self.device(pe), company, until).map(Some)
            }
        };
        let used = cuda.as_ref().ok().and_then(Option::as_ref);
        let gpu = used.map(|cuda| cuda.uuid());
        membership::take_place(&control, pe, Membership::Thread, gpu)?;
        match cuda {
            Ok(cuda) => {
                let (attr, me) = (&self.attr, Membership::Thread);
                Runtime::assemble(control, pe, attr, me, until, cuda, None)
            }
            Err(error) => {
                membership::give_up_place(&control, pe, None);
                Err(error)
            }
        }
    }

    /// The GPU of PE `pe`.
    fn device(&self, pe: Pe) -> Result<Arc<Device>> {
        let ordinal = cuda::device::choose(self.attr.device, pe)?;
        let mut first = crate::lock::lock(&self.first);
        match first.take_if(|device| device.ordinal() == ordinal) {
            Some(device) => Ok(device),
            None => Device::open(ordinal).map(Arc::new),
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
        // What came before has used up all but a moment of it.
        let until = Instant::now() + Duration::from_millis(20);
        let late = Runtime::assemble(control, 0, &job.attr, me, until, None, None).unwrap_err();
        assert!(matches!(late, Error::Timeout { .. }), "{late}");
        assert!(
            late.to_string().contains("NVSHMEMRS_INIT_TIMEOUT"),
            "{late}"
        );
    }
}
