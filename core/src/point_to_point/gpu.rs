//! Waits and tests on a stream of the GPU: a kernel looks at the elements when its turn comes.
//!
//! A wait that gives nothing back is put on the stream, and the call returns. One that gives something back, a test, and a call with
//! arrays of the caller's (a status, a value for each element) waits until the stream has run it.

use super::WaitElement;
use super::set::{Set, Values};
use crate::buffer::SymRange;
use crate::op::Cmp;
use crate::operation::Operation;
use crate::runtime::Inner;
use crate::symmetric::SymElement;
use crate::transport::Lane;
use crate::transport::cuda::CudaTransport;
use crate::transport::cuda::kernels::{WaitArgs, WaitMode};
use crate::{Error, Result, Runtime};

/// Where operations go that are called on a stream of the GPU.
#[derive(Clone, Copy)]
pub(crate) struct GpuLane<'a> {
    pub(crate) inner: &'a Inner,
    pub(crate) cuda: &'a CudaTransport,
    pub(crate) lane: Lane,
}

impl Runtime {
    /// The stream of the GPU that operations go to, if they do.
    #[inline(always)]
    pub(crate) fn gpu_lane(&self) -> Option<GpuLane<'_>> {
        match self.lane {
            Lane::Blocking => None,
            lane => self.some_gpu_lane(lane),
        }
    }

    #[cold]
    fn some_gpu_lane(&self, lane: Lane) -> Option<GpuLane<'_>> {
        let inner = &*self.inner;
        inner
            .transport
            .cuda()
            .map(|cuda| GpuLane { inner, cuda, lane })
    }
}

impl GpuLane<'_> {
    /// What a wait for elements at a place of this PE's memory has in common with all.
    fn args<T: WaitElement>(&self, range: SymRange, cmp: Cmp, mode: WaitMode) -> WaitArgs {
        WaitArgs {
            state: self.cuda.state(),
            ivars: self.inner.layout.address(self.inner.my_pe, range.offset()),
            count: range.bytes() / size_of::<T>() as u64,
            status: 0,
            values: 0,
            value: 0,
            result: 0,
            indices: 0,
            start: 0,
            cmp: cmp as u32,
            dtype: T::DTYPE as u32,
            mode,
            test: 0,
        }
    }

    fn one<T: WaitElement>(&self, ivar: SymElement<T>, cmp: Cmp, value: T) -> WaitArgs {
        WaitArgs {
            value: value.to_bits(),
            ..self.args::<T>(ivar.range(), cmp, WaitMode::One)
        }
    }

    /// Makes what comes later on the stream wait until an element holds.
    pub(crate) fn wait_until<T: WaitElement>(
        &self,
        ivar: SymElement<T>,
        cmp: Cmp,
        value: T,
    ) -> Result<()> {
        self.cuda.failure()?;
        self.cuda.begin_wait(self.lane, &self.one(ivar, cmp, value))
    }

    /// As [`wait_until`](GpuLane::wait_until); waits for the stream, too, and gives the value that held.
    pub(crate) fn wait_for<T: WaitElement>(
        &self,
        ivar: SymElement<T>,
        cmp: Cmp,
        value: T,
        operation: Operation,
    ) -> Result<u64> {
        match self.look(self.one(ivar, cmp, value))? {
            [seen, 1] => Ok(seen),
            _ => Err(self.ended(operation)),
        }
    }

    /// Whether an element holds when the stream comes to it.
    pub(crate) fn test<T: WaitElement>(
        &self,
        ivar: SymElement<T>,
        cmp: Cmp,
        value: T,
    ) -> Result<bool> {
        let args = WaitArgs {
            test: 1,
            ..self.one(ivar, cmp, value)
        };
        Ok(self.look(args)?[1] == 1)
    }

    /// Runs a look at one element: the bits seen, and whether they held.
    fn look(&self, args: WaitArgs) -> Result<[u64; 2]> {
        self.cuda.failure()?;
        self.cuda
            .fetch_wait(self.lane, &mut Vec::new(), |place| WaitArgs {
                result: place,
                indices: place + size_of::<u64>() as u64,
                ..args
            })
    }

    /// Why a kernel has left before what it waited for.
    fn ended(&self, operation: Operation) -> Error {
        let known = self
            .cuda
            .failure()
            .and_then(|()| self.inner.check_job(operation))
            .and_then(|()| self.inner.ready());
        known.err().unwrap_or_else(|| {
            Error::Internal(format!("{} ended before its time", operation.name()))
        })
    }
}

/// What came of a look at a set of elements.
pub(super) struct Found {
    /// As [`WaitArgs::result`] says.
    pub(super) result: u64,
    /// For [`WaitMode::Some`], the indices that held.
    pub(super) indices: Vec<usize>,
}

impl<T: WaitElement> Set<'_, T> {
    /// Looks at the elements on the GPU, if the operation goes there. A wait for all that needs nothing of the caller's is put on the
    /// stream, and counts as ended.
    pub(super) fn on_gpu(&self, mode: WaitMode, waits: Option<Operation>) -> Option<Result<Found>> {
        self.search_on_gpu(0, mode, waits)
    }

    /// As [`on_gpu`](Set::on_gpu), for any element: the first from `start` on, or else the first one before it.
    pub(super) fn any_on_gpu(
        &self,
        start: usize,
        waits: Option<Operation>,
    ) -> Option<Result<Option<usize>>> {
        let found = self.search_on_gpu(start, WaitMode::Any, waits)?;
        Some(found.map(|found| {
            let index = usize::try_from(found.result).ok();
            index.filter(|&index| index < self.len)
        }))
    }

    fn search_on_gpu(
        &self,
        start: usize,
        mode: WaitMode,
        waits: Option<Operation>,
    ) -> Option<Result<Found>> {
        let lane = self.rt.gpu_lane()?;
        // Nothing is to be looked at: the host knows the answer.
        (self.len > 0).then(|| self.look_on_gpu(lane, start, mode, waits))
    }

    fn look_on_gpu(
        &self,
        lane: GpuLane<'_>,
        start: usize,
        mode: WaitMode,
        waits: Option<Operation>,
    ) -> Result<Found> {
        lane.cuda.failure()?;
        let range = SymRange::new(self.offset, (self.len * size_of::<T>()) as u64);
        let mut args = lane.args::<T>(range, self.cmp, mode);
        args.test = waits.is_none().into();
        args.start = start as u64;
        let mailbox = lane.cuda.mailbox();
        let mut arrays = Vec::new();
        if let Some(status) = self.status {
            let array = mailbox.scratch(size_of_val(status))?;
            array.write(bytemuck::cast_slice(status));
            args.status = array.address();
            arrays.push(array);
        }
        match self.values {
            Values::Same(value) => args.value = value.to_bits(),
            Values::Each(values) => {
                let array = mailbox.scratch(size_of_val(values))?;
                array.write(bytemuck::cast_slice(values));
                args.values = array.address();
                arrays.push(array);
            }
        }
        if mode == WaitMode::All && waits.is_some() && arrays.is_empty() {
            lane.cuda.begin_wait(lane.lane, &args)?;
            return Ok(Found {
                result: 1,
                indices: Vec::new(),
            });
        }
        if mode == WaitMode::Some {
            let array = mailbox.scratch(self.len * size_of::<u64>())?;
            args.indices = array.address();
            arrays.push(array);
        }
        let [result, _] = lane
            .cuda
            .fetch_wait(lane.lane, &mut arrays, |place| WaitArgs {
                result: place,
                ..args
            })?;
        let in_vain = match mode {
            WaitMode::Any => result == u64::MAX && self.is_anything_left(),
            WaitMode::Some => result == 0 && self.is_anything_left(),
            _ => result == 0,
        };
        if let (Some(operation), true) = (waits, in_vain) {
            return Err(lane.ended(operation));
        }
        let indices = match (mode, arrays.last()) {
            (WaitMode::Some, Some(array)) => {
                let words = array.words((result as usize).min(self.len));
                words.into_iter().map(|index| index as usize).collect()
            }
            _ => Vec::new(),
        };
        Ok(Found { result, indices })
    }

    /// Whether there is an element that is not excluded.
    fn is_anything_left(&self) -> bool {
        (0..self.len).any(|index| !self.excluded(index))
    }
}
