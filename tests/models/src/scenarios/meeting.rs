//! The meeting of a collective.

use super::super::job::{Error, Inner, MemberCall, Operation, Pe, all, job};
use super::super::sync::{JoinHandle, spawn};
use std::sync::Arc;

/// Runs `body` as each PE; PE 0 is the caller's thread.
fn run<T: Send + 'static>(
    pes: Vec<Arc<Inner>>,
    body: impl Fn(&Inner) -> T + Copy + Send + 'static,
) -> Vec<T> {
    let mut pes = pes.into_iter();
    let first = pes.next().expect("a job has PEs");
    let others: Vec<JoinHandle<T>> = pes.map(|pe| spawn(move || body(&pe))).collect();
    let mut results = vec![body(&first)];
    results.extend(others.into_iter().map(|other| other.join().unwrap()));
    results
}

fn call(arg: u64) -> MemberCall {
    let mut call = MemberCall::plain(Operation::Reduce);
    call.args[0] = arg;
    call
}

/// Every member reads every member's payload of each epoch, after the meeting and before its next one.
pub(crate) fn payloads_arrive_whole(members: Pe, epochs: u64) {
    run(job(members, 0), move |pe| {
        for epoch in 1..=epochs {
            let collective = pe.collective();
            let met = collective
                .meet(call(0), &[epoch * 100 + pe.my_pe as u64, epoch])
                .expect("equal calls");
            assert_eq!(met, epoch);
            for member in 0..members {
                let mut words = [0; 2];
                collective.payload(member, met, &mut words);
                assert_eq!(
                    words,
                    [epoch * 100 + member as u64, epoch],
                    "payload of member {member}"
                );
            }
        }
    });
}

/// In epoch 1 the last member calls with another argument: every member learns it, and epoch 2 is sound again.
pub(crate) fn a_mismatch_is_seen_by_all(members: Pe) {
    run(job(members, 0), move |pe| {
        let differs = pe.my_pe == members - 1;
        let collective = pe.collective();
        assert!(
            collective.meet(call(differs.into()), &[]).is_err(),
            "a mismatch went unseen"
        );
        assert_eq!(
            collective.meet(call(0), &[]),
            Ok(2),
            "the epoch after a mismatch"
        );
    });
}

/// In epoch 1 one member brings an error of its own: it gets that one, the others an error.
pub(crate) fn an_error_of_one_is_an_error_of_all(members: Pe) {
    run(job(members, 0), move |pe| {
        let collective = pe.collective();
        let mut bad = call(0);
        let own = Error::Internal("own".into());
        bad.error = (pe.my_pe == 0).then(|| own.clone());
        let error = collective
            .meet(bad, &[])
            .expect_err("an error of one member went unseen");
        assert_eq!(error == own, pe.my_pe == 0);
        assert_eq!(collective.meet(call(0), &[]), Ok(2));
    });
}

/// The last member has a deadline that may pass, and then leaves: nobody waits for ever, a member that sees all others arrive succeeds, and
/// any other member learns which member left.
pub(crate) fn a_member_that_leaves_strands_nobody(members: Pe) {
    let mut pes = job(members, 0);
    let last = Arc::get_mut(&mut pes[members as usize - 1]).expect("the job is not shared yet");
    last.patience = Some(0);
    run(pes, move |pe| {
        for epoch in 1..=2 {
            let met = pe
                .enter(all(0), Operation::Reduce)
                .and_then(|collective| collective.meet(call(0), &[]));
            match met {
                Ok(met) => assert_eq!(met, epoch),
                Err(Error::Timeout { .. }) => return assert_eq!(pe.my_pe, members - 1),
                Err(Error::TeamBroken { pe, .. }) => {
                    return assert_eq!(pe, members - 1, "the member that left");
                }
                Err(error) => panic!("{error:?}"),
            }
        }
    });
}
