//! The status of a PE, written on request. Its watchdog composes it and writes it to the [status file](crate::job::status_file), also while
//! all threads of the PE wait or compute.
//!
//! No lock that is taken here is held by a thread that waits for another PE.

use crate::config::presentable;
use crate::job::liveness::WatchdogTask;
use crate::job::status_file::StatusFile;
use crate::job::team;
use crate::runtime::Inner;
use crate::team::TeamState;
use crate::track::Resource;
use crate::{Runtime, Team};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Most allocations that are listed.
const MOST: usize = 1000;

/// Places in the program, by the objects made there.
type Made = BTreeMap<(Resource, u64), String>;

/// The status of a PE. The fields have the names of the values of package nvshmemrs-inspect.
fn status(inner: &Arc<Inner>) -> Value {
    let made: Option<Made> = inner.ledger.as_ref().map(|ledger| {
        let all = ledger.unfreed(&HashSet::new()).into_iter();
        all.map(|one| ((one.resource, one.number), one.place))
            .collect()
    });
    let place = |resource, number| made.as_ref()?.get(&(resource, number)).cloned();
    let (allocations, allocations_left_out) = allocations(inner, place);
    let settings = inner.settings.iter().map(|value| {
        json!({
            "name": value.setting.name,
            "value": presentable(value.setting.name, value.value.clone()),
            "source": value.source.name(),
        })
    });
    let states = inner.teams.states.iter();
    let teams = states.filter_map(|state| membership(state, place));
    let streams = inner.live_streams().into_iter().map(|stream| {
        let (submitted, done, error) = stream.position();
        json!({
            "submitted": submitted,
            "done": done.min(submitted),
            "error": error,
            "place": place(Resource::Stream, Arc::as_ptr(&stream).cast::<()>() as u64),
        })
    });
    let checker = inner.transport.observer().map(|observer| {
        json!({
            "found": observer.findings().0,
            "reports": observer.reports(),
        })
    });
    let traffic = inner.traffic.as_ref().map(|traffic| {
        let told = traffic.read().into_iter().map(|moved| {
            json!({
                "pe": moved.pe,
                "puts": moved.puts.0,
                "put_bytes": moved.puts.1,
                "gets": moved.gets.0,
                "get_bytes": moved.gets.1,
                "atomics": moved.atomics,
                "signals": moved.signals,
            })
        });
        told.collect::<Vec<_>>()
    });
    json!({
        "library": env!("CARGO_PKG_VERSION"),
        "settings": settings.collect::<Vec<_>>(),
        "heap": heap(inner),
        "allocations": allocations,
        "allocations_left_out": allocations_left_out,
        "teams": teams.collect::<Vec<_>>(),
        "streams": streams.collect::<Vec<_>>(),
        "checker": checker,
        "traffic": traffic,
        // Whether call sites are recorded.
        "tracked": made.is_some(),
    })
}

fn heap(inner: &Arc<Inner>) -> Value {
    let stats = Runtime::view(inner).heap_stats();
    json!({
        "memory": inner.transport.properties().kind.to_string(),
        "bytes": stats.heap_bytes,
        "used_bytes": stats.used_bytes,
        "free_bytes": stats.free_bytes,
        "largest_free_bytes": stats.largest_free_bytes,
        "allocations": stats.allocations,
        "released": stats.released,
    })
}

/// The first allocations and registered buffers, and how many more there are.
fn allocations(
    inner: &Inner,
    place: impl Fn(Resource, u64) -> Option<String>,
) -> (Vec<Value>, u64) {
    let state = inner.heap.lock();
    let allocated = state.allocator.live().map(|block| {
        json!({
            "offset": block.offset,
            "bytes": block.bytes,
            "place": place(Resource::Allocation, block.offset),
            "released": state.released.contains(&block.id),
            "registered": false,
        })
    });
    let registered = &state.registered;
    let buffers = registered.buffers.values().map(|buffer| {
        let offset = registered.start + buffer.block.offset;
        json!({
            "offset": offset,
            "bytes": buffer.block.bytes,
            "place": place(Resource::Buffer, offset),
            "released": false,
            "registered": true,
        })
    });
    let all = state.allocator.count() + registered.buffers.len() as u64;
    let first: Vec<Value> = allocated.chain(buffers).take(MOST).collect();
    let left_out = all - first.len() as u64;
    (first, left_out)
}

/// The team that has a number, if one has.
fn membership(state: &TeamState, place: impl Fn(Resource, u64) -> Option<String>) -> Option<Value> {
    let handle = state.handle();
    let members = state.members();
    // It may have been made or ended meanwhile.
    if handle == Team::INVALID || !state.is(handle) {
        return None;
    }
    let (start, stride, list) = members.parts();
    Some(json!({
        "number": state.index,
        "name": team::short_name(state.index),
        "my_pe": state.my_pe(),
        "n_pes": members.n_pes,
        "start": start,
        "stride": stride,
        "list": list,
        "place": place(Resource::Team, handle.number()),
    }))
}

/// The watchdog's task on each request of an observer.
pub(super) fn status_writer(inner: &Arc<Inner>) -> WatchdogTask {
    let inner = Arc::downgrade(inner);
    let mut status_file: Option<StatusFile> = None;
    Box::new(move || {
        // The end of a PE waits for this thread, so this thread never has the last reference.
        let Some(inner) = inner.upgrade() else { return };
        // One PE queries the other hosts, so that the board has their waits.
        if let Some(remote) = inner.control.remote()
            && remote.hosts().local_pes().first() == Some(&inner.my_pe)
        {
            remote.refresh_reports(&inner.control);
        }
        let _ = catch_unwind(AssertUnwindSafe(|| inner.describe_waits()));
        // The thread must continue to watch after any error here.
        let text = catch_unwind(AssertUnwindSafe(|| status(&inner).to_string()));
        let Ok(text) = text else { return };
        if status_file
            .as_ref()
            .is_some_and(|status_file| !status_file.is_there())
        {
            // The program has closed the descriptor.
            status_file = None;
        }
        if status_file.is_none() {
            status_file = StatusFile::new(&inner.control, inner.my_pe).ok();
        }
        // The reader learns that there is no answer.
        if let Some(status_file) = &mut status_file {
            let _ = status_file.write(text.as_bytes());
        }
    })
}
