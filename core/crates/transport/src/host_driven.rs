//! A heap in GPU memory whose operations a thread of the host runs, one by one: for a job whose operations must pass through a wrapper, as
//! those of a checked job. Streams of the GPU wait while a queue of the host runs their operations; collectives are meetings and copies.

use super::{
    Collectives, DeviceMemory, Found, Memory, Properties, Reply, Request, Search, StreamHold,
    StreamLifetime, Streams, Submission, TargetStream, Transport, TransportEvent, TransportStream,
};
use crate::{Error, Pe, Result};
use std::sync::Arc;

/// See the [module](self).
pub struct HostDriven {
    device: Arc<dyn DeviceMemory>,
    target_stream: Arc<dyn TargetStream>,
}

impl HostDriven {
    pub fn new(device: Box<dyn DeviceMemory>) -> Result<HostDriven> {
        let device: Arc<dyn DeviceMemory> = Arc::from(device);
        let target_stream = Arc::clone(&device).target_stream()?;
        Ok(HostDriven {
            device,
            target_stream,
        })
    }

    pub fn device(&self) -> &Arc<dyn DeviceMemory> {
        &self.device
    }

    pub fn target_stream(&self) -> &Arc<dyn TargetStream> {
        &self.target_stream
    }
}

impl Streams for HostDriven {
    fn make(&self) -> Result<Arc<dyn TransportStream>> {
        Streams::make(&*self.device)
    }

    unsafe fn adopt(
        &self,
        stream: u64,
        lifetime: StreamLifetime,
    ) -> Result<Arc<dyn TransportStream>> {
        // SAFETY: the caller vouches for the stream.
        unsafe { Streams::adopt(&*self.device, stream, lifetime) }
    }

    unsafe fn id_of(&self, stream: u64) -> Result<Option<u64>> {
        // SAFETY: the caller vouches for the stream.
        unsafe { Streams::id_of(&*self.device, stream) }
    }

    fn let_go(&self, stream: &Arc<dyn TransportStream>) {
        Streams::let_go(&*self.device, stream);
    }

    fn event(&self) -> Result<Box<dyn TransportEvent>> {
        self.device.event()
    }

    fn stream_hold(
        &self,
        stream: &Arc<dyn TransportStream>,
    ) -> Result<Option<Arc<dyn StreamHold>>> {
        let target_stream = Arc::clone(&self.target_stream);
        target_stream.stream_hold(stream.submission()).map(Some)
    }
}

impl Transport for HostDriven {
    forwards_to!(device);

    fn execute(&self, request: Request<'_>) -> Result<Reply> {
        self.device.execute(request)
    }

    fn collectives(&self) -> Option<&dyn Collectives> {
        None
    }

    fn search(&self, _: Submission, _: &Search<'_>) -> Option<Result<Found>> {
        None
    }

    fn streams(&self) -> Option<&dyn Streams> {
        Some(self)
    }
}
