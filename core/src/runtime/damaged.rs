//! A corrupted control block must lead to an error at worst, and never to an access outside of it. The fuzz targets `peer` and `board`
//! search for such blocks; their findings are tests here.

use crate::job::block::{Control, MAX_PES};
use crate::job::segment::Segment;
use crate::{Error, InitAttr, Request, Runtime, Team, local};
use std::sync::atomic::Ordering::Relaxed;

const HEAP: u64 = 2 << 20;

fn alone() -> Runtime {
    let attr = InitAttr {
        heap_bytes: Some(HEAP),
        ..InitAttr::default()
    };
    local::Job::new(1, &attr).unwrap().join(0).unwrap()
}

/// The result of a second process for a job of three PEs whose header was changed.
fn attach(change: impl FnOnce(&Control)) -> crate::Result<Control> {
    let job = Control::create(3, HEAP, Default::default(), None).unwrap();
    change(&job);
    attach_to(&job)
}

fn attach_to(job: &Control) -> crate::Result<Control> {
    let fd = rustix::io::fcntl_dupfd_cloexec(job.segment().fd().unwrap(), 0).unwrap();
    let len = job.segment().bytes();
    Control::attach(Segment::open(fd, len).unwrap())
}

#[test]
fn a_pe_that_is_none_is_gone() {
    let rt = alone();
    let header = rt.inner.control.header();
    for first in [2, 1 << 31, u32::MAX] {
        header.first_gone.overwrite(first, Relaxed);
        header.gone.overwrite(1, Relaxed);
        let error = rt.barrier(Team::WORLD).unwrap_err();
        assert!(matches!(error, Error::Internal(_)), "{first}: {error}");
        assert_eq!(rt.board().first_gone(), None);
    }
    header.gone.overwrite(0, Relaxed);
    rt.finalize().unwrap();
}

#[test]
fn a_header_that_changes_after_it_was_checked() {
    let rt = alone();
    let header = rt.inner.control.header();
    header.heap_bytes.overwrite(u64::MAX, Relaxed);
    header.n_pes.overwrite(u32::MAX, Relaxed);
    header.magic.overwrite(0, Relaxed);
    assert_eq!(rt.n_pes(), 1);
    assert_eq!(rt.heap_stats().heap_bytes, HEAP);
    let address = rt.malloc(Ok(Request::bytes(64))).unwrap().unwrap();
    rt.put(rt.symmetric("dest", address, 8).unwrap(), &[7u64][..], 0)
        .unwrap();
    rt.barrier(Team::WORLD).unwrap();
    assert_eq!(rt.board().pes().len(), 1);
    rt.finalize().unwrap();
}

#[test]
fn a_header_that_does_not_fit_its_memory() {
    attach(|_| {}).unwrap();
    let refused = |change: &dyn Fn(&Control)| {
        let error = attach(change).unwrap_err().to_string();
        assert!(error.contains("the job's memory has"), "{error}");
    };
    refused(&|job| job.header().magic.overwrite(1, Relaxed));
    refused(&|job| job.header().version.overwrite(0, Relaxed));
    for n_pes in [0, 2, 4, 4097, u32::MAX] {
        refused(&|job| job.header().n_pes.overwrite(n_pes, Relaxed));
    }
    for heap in [0, 1, HEAP - 1, HEAP + 4096, 2 * HEAP, u64::MAX, 1 << 63] {
        refused(&|job| job.header().heap_bytes.overwrite(heap, Relaxed));
    }
    for area in [1, 4096, u64::MAX] {
        refused(&|job| job.header().area_bytes.overwrite(area, Relaxed));
    }
}

#[test]
fn a_job_of_more_pes_than_there_can_be() {
    let most = Control::create(MAX_PES, HEAP, Default::default(), None).unwrap();
    attach_to(&most).unwrap();
    let more = Control::create(MAX_PES + 1, HEAP, Default::default(), None).unwrap();
    let error = attach_to(&more).unwrap_err().to_string();
    assert!(error.contains("does not fit 4097 PEs"), "{error}");
}
