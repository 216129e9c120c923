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
use crate::{HeapStats, Pe, Runtime, Team};
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Most allocations that are listed.
const MOST: usize = 1000;

/// The status of a PE. The fields have the names of the values of package nvshmemrs-inspect.
#[derive(Serialize)]
struct Status {
    /// The library's version.
    library: &'static str,
    settings: Vec<Setting>,
    heap: Heap,
    allocations: Vec<Allocation>,
    allocations_left_out: u64,
    teams: Vec<Membership>,
    streams: Vec<Stream>,
    checker: Option<Checker>,
    traffic: Option<Vec<Traffic>>,
    /// Whether call sites are recorded.
    tracked: bool,
}

#[derive(Serialize)]
struct Setting {
    name: &'static str,
    value: String,
    source: &'static str,
}

#[derive(Serialize)]
struct Heap {
    memory: String,
    bytes: u64,
    used_bytes: u64,
    free_bytes: u64,
    largest_free_bytes: u64,
    allocations: u64,
    released: u64,
}

#[derive(Serialize)]
struct Allocation {
    offset: u64,
    bytes: u64,
    place: Option<String>,
    released: bool,
    registered: bool,
}

#[derive(Serialize)]
struct Membership {
    number: u32,
    name: String,
    my_pe: Pe,
    n_pes: Pe,
    start: Pe,
    stride: Pe,
    list: Option<Vec<Pe>>,
    place: Option<String>,
}

#[derive(Serialize)]
struct Stream {
    submitted: u64,
    done: u64,
    error: Option<String>,
    place: Option<String>,
}

#[derive(Serialize)]
struct Checker {
    found: u64,
    reports: Vec<String>,
}

#[derive(Serialize)]
struct Traffic {
    pe: Pe,
    puts: u64,
    put_bytes: u64,
    gets: u64,
    get_bytes: u64,
    atomics: u64,
    signals: u64,
}

/// Places in the program, by the objects made there.
type Made = BTreeMap<(Resource, u64), String>;

impl Status {
    fn of(inner: &Arc<Inner>) -> Status {
        let made: Option<Made> = inner.ledger.as_ref().map(|ledger| {
            let all = ledger.unfreed(&HashSet::new()).into_iter();
            all.map(|one| ((one.resource, one.number), one.place))
                .collect()
        });
        let place = |resource, number| made.as_ref()?.get(&(resource, number)).cloned();
        let (allocations, allocations_left_out) = allocations(inner, place);
        let states = inner.teams.states.iter();
        let streams = inner.live_streams().into_iter().map(|stream| {
            let (submitted, done, error) = stream.position();
            Stream {
                submitted,
                done: done.min(submitted),
                error,
                place: place(Resource::Stream, Arc::as_ptr(&stream).cast::<()>() as u64),
            }
        });
        Status {
            library: env!("CARGO_PKG_VERSION"),
            settings: settings(inner),
            heap: heap(inner),
            allocations,
            allocations_left_out,
            teams: states
                .filter_map(|state| membership(state, place))
                .collect(),
            streams: streams.collect(),
            checker: inner.transport.observer().map(|observer| Checker {
                found: observer.findings().0,
                reports: observer.reports(),
            }),
            traffic: inner.traffic.as_ref().map(|traffic| {
                let told = traffic.read().into_iter().map(|moved| Traffic {
                    pe: moved.pe,
                    puts: moved.puts.0,
                    put_bytes: moved.puts.1,
                    gets: moved.gets.0,
                    get_bytes: moved.gets.1,
                    atomics: moved.atomics,
                    signals: moved.signals,
                });
                told.collect()
            }),
            tracked: made.is_some(),
        }
    }
}

fn settings(inner: &Inner) -> Vec<Setting> {
    let told = inner.settings.iter().map(|value| Setting {
        name: value.setting.name,
        value: presentable(value.setting.name, value.value.clone()),
        source: value.source.name(),
    });
    told.collect()
}

fn heap(inner: &Arc<Inner>) -> Heap {
    let HeapStats {
        heap_bytes,
        used_bytes,
        free_bytes,
        largest_free_bytes,
        allocations,
        released,
    } = Runtime::view(inner).heap_stats();
    Heap {
        memory: inner.transport.properties().kind.to_string(),
        bytes: heap_bytes,
        used_bytes,
        free_bytes,
        largest_free_bytes,
        allocations,
        released,
    }
}

/// The first allocations and registered buffers, and how many more there are.
fn allocations(
    inner: &Inner,
    place: impl Fn(Resource, u64) -> Option<String>,
) -> (Vec<Allocation>, u64) {
    let state = inner.heap.lock();
    let allocated = state.allocator.live().map(|block| Allocation {
        offset: block.offset,
        bytes: block.bytes,
        place: place(Resource::Allocation, block.offset),
        released: state.released.contains(&block.id),
        registered: false,
    });
    let registered = &state.registered;
    let buffers = registered.buffers.values().map(|buffer| {
        let offset = registered.start + buffer.block.offset;
        Allocation {
            offset,
            bytes: buffer.block.bytes,
            place: place(Resource::Buffer, offset),
            released: false,
            registered: true,
        }
    });
    let all = state.allocator.count() + registered.buffers.len() as u64;
    let first: Vec<Allocation> = allocated.chain(buffers).take(MOST).collect();
    let left_out = all - first.len() as u64;
    (first, left_out)
}

/// The team that has a number, if one has.
fn membership(
    state: &TeamState,
    place: impl Fn(Resource, u64) -> Option<String>,
) -> Option<Membership> {
    let handle = state.handle();
    let members = state.members();
    // It may have been made or ended meanwhile.
    if handle == Team::INVALID || !state.is(handle) {
        return None;
    }
    let (start, stride, list) = members.parts();
    Some(Membership {
        number: state.index,
        name: team::short_name(state.index),
        my_pe: state.my_pe(),
        n_pes: members.n_pes,
        start,
        stride,
        list: list.map(<[Pe]>::to_vec),
        place: place(Resource::Team, handle.number()),
    })
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
        let text = catch_unwind(AssertUnwindSafe(|| serde_json::to_vec(&Status::of(&inner))));
        let Ok(Ok(text)) = text else { return };
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
            let _ = status_file.write(&text);
        }
    })
}
