//! Membership: how a PE joins a job, and leaves it if init fails.

use super::block::{CPU_WORDS, Control, PeBlock};
use super::state::State;
use super::topology::{self, Id};
use super::{doorbell, liveness, locks, machine, shared_words};
use crate::{Pe, Result};

/// The form of a PE's membership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Membership {
    /// A process of its own: liveness locks and a watchdog notice the death of another one.
    Process,
    /// A thread of the one process of the job.
    Thread,
}

/// Joins as PE `me`, which uses `gpu`, in a job whose control block all PEs share: from here on its end is noticed.
pub fn take_place(
    control: &Control,
    me: Pe,
    membership: Membership,
    gpu: Option<Id>,
) -> Result<()> {
    if membership == Membership::Process {
        locks::hold(control.segment(), me)?;
    }
    let block = control.pe(me);
    shared_words::publish_process(
        block,
        std::process::id(),
        machine::pid_namespace(),
        machine::process_token(),
    );
    publish_cpus(block);
    topology::publish(control, me, gpu);
    shared_words::set_state(block, State::Active);
    doorbell::ring_everyone(control);
    Ok(())
}

/// Reverts [`take_place`], because init has failed on this PE: the others learn that it left, and before that which PE, `gone`, is the
/// reason.
pub fn give_up_place(control: &Control, me: Pe, gone: Option<Pe>) {
    if let Some(gone) = gone {
        // Also if it had not taken its place.
        shared_words::set_first_gone(control.header(), gone);
        liveness::mark_gone(control, gone, State::Dead);
    }
    liveness::mark_gone(control, me, State::Left);
}

/// Publishes the CPUs that this thread may run on.
fn publish_cpus(block: &PeBlock) {
    if let Ok(set) = rustix::thread::sched_getaffinity(None) {
        let word = |index: usize| {
            (0..64)
                .filter(|bit| index * 64 + bit < rustix::thread::CpuSet::MAX_CPU)
                .filter(|bit| set.is_set(index * 64 + bit))
                .fold(0u64, |bits, bit| bits | 1 << bit)
        };
        shared_words::publish_cpus(block, (0..CPU_WORDS).map(word));
    }
}
