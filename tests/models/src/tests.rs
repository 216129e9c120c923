//! Every model, as it is and weakened.

use crate::weak::{must_fail, with, with_naps_that_end};
use crate::{loomed, shuttled};

/// Every interleaving; `preemptions` bounds how often a thread may be stopped where it could go on.
fn loom(preemptions: Option<usize>, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    builder.max_branches = 20_000;
    builder.check(model);
}

/// Where the random schedules start: fixed, so that every run tries the same ones. `MODELS_SEED` asks for others.
fn seed() -> u64 {
    match std::env::var("MODELS_SEED") {
        Ok(words) => words.parse().expect("MODELS_SEED is a number"),
        Err(_) => 1,
    }
}

/// Random schedules, and as many that change thread seldom, where many bugs hide.
fn shuttle(rounds: usize, model: fn()) {
    let config = shuttle_config();
    let random = shuttle::scheduler::RandomScheduler::new_from_seed(seed(), rounds);
    shuttle::Runner::new(random, config.clone()).run(model);
    let seldom = shuttle::scheduler::PctScheduler::new_from_seed(seed(), 3, rounds);
    shuttle::Runner::new(seldom, config).run(model);
}

/// As [`shuttle`], for threads that wait for each other in turns, which need a fair schedule.
fn shuttle_fairly(rounds: usize, model: fn()) {
    let random = shuttle::scheduler::RandomScheduler::new_from_seed(seed(), rounds);
    shuttle::Runner::new(random, shuttle_config()).run(model);
}

fn shuttle_config() -> shuttle::Config {
    let mut config = shuttle::Config::new();
    config.silence_warnings = true;
    config.max_steps = shuttle::MaxSteps::FailAfter(100_000);
    config
}

mod lookup {
    use super::*;
    use loomed::scenarios::lookup::a_hit_is_never_a_mixture as model;

    const LOW: (u64, u64) = (64, 128);
    const HIGH: (u64, u64) = (128, 192);

    #[test]
    fn a_hit_is_never_a_mixture() {
        loom(None, || model(LOW, HIGH));
        loom(None, || model(HIGH, LOW));
    }

    #[test]
    fn the_model_can_fail() {
        for place in [
            "line: no fence",
            "line: no second look",
            "line: odd is fine",
            "line: relaxed end",
        ] {
            must_fail(place, &["mixture"], || loom(None, || model(LOW, HIGH)));
        }
        must_fail("line: relaxed start", &["mixture"], || {
            loom(None, || model(HIGH, LOW))
        });
    }
}

mod calls {
    use super::*;
    use loomed::scenarios::calls::no_call_uses_a_freed_object as model;

    #[test]
    fn no_call_uses_a_freed_object() {
        loom(None, || model(1));
        loom(Some(2), || model(2));
    }

    #[test]
    fn the_model_can_fail() {
        for place in [
            "calls: no fence of the call",
            "calls: no fence of the end",
            "calls: relaxed end",
            "calls: no look",
        ] {
            must_fail(place, &["used after its end"], || loom(None, || model(1)));
        }
    }
}

mod board {
    use super::*;
    use loomed::scenarios::board::a_report_is_never_a_mixture as model;

    #[test]
    fn a_report_is_never_a_mixture() {
        loom(Some(1), || model(2));
    }

    #[test]
    fn the_model_can_fail() {
        for place in [
            "board: no fence",
            "board: no fence of the writer",
            "board: no second look",
            "board: relaxed id",
        ] {
            must_fail(place, &["mixture"], || loom(Some(1), || model(2)));
        }
    }
}

mod meeting {
    use super::*;
    use loomed::scenarios::meeting as small;
    use shuttled::scenarios::meeting as large;

    #[test]
    fn payloads_arrive_whole() {
        loom(Some(2), || small::payloads_arrive_whole(2, 3));
        shuttle(2000, || large::payloads_arrive_whole(3, 4));
    }

    #[test]
    fn mismatches_are_seen_by_all() {
        loom(Some(2), || small::a_mismatch_is_seen_by_all(2));
        shuttle(2000, || large::a_mismatch_is_seen_by_all(3));
        loom(Some(2), || small::an_error_of_one_is_an_error_of_all(2));
        shuttle(2000, || large::an_error_of_one_is_an_error_of_all(3));
    }

    #[test]
    fn a_member_that_leaves_strands_nobody() {
        loom(Some(2), || small::a_member_that_leaves_strands_nobody(2));
        shuttle(2000, || large::a_member_that_leaves_strands_nobody(3));
    }

    #[test]
    fn the_models_can_fail() {
        // A member that comes too early, or sees too little, finds words of another epoch, in the payload or the signature.
        let wrong = ["payload of member", "equal calls"];
        for place in [
            "slots: one instead of two",
            "meet: relaxed mark",
            "meet: relaxed look",
            "meet: one is not waited for",
        ] {
            must_fail(place, &wrong, || {
                loom(Some(2), || small::payloads_arrive_whole(2, 2))
            });
        }
        must_fail("slots: one instead of two", &wrong, || {
            shuttle(2000, || large::payloads_arrive_whole(3, 4))
        });
        let unseen = ["unseen"];
        must_fail("meet: signatures not compared", &unseen, || {
            loom(Some(2), || small::a_mismatch_is_seen_by_all(2))
        });
        must_fail("meet: signatures not compared", &unseen, || {
            loom(Some(2), || small::an_error_of_one_is_an_error_of_all(2));
        });
        must_fail("leave: no mark", &["exceeded max_steps"], || {
            shuttle(200, || large::a_member_that_leaves_strands_nobody(3));
        });
    }
}

mod doorbell {
    use super::*;
    use loomed::scenarios::doorbell as small;
    use shuttled::scenarios::doorbell as large;

    /// A bell can be lost, to the race that wait.rs names and to no other: with full barriers on both sides none is, and none
    /// where memory has one order.
    #[test]
    fn only_the_named_race_loses_a_bell() {
        for model in [small::a_signal_ends_the_wait, || {
            small::an_arrival_ends_the_wait(1)
        }] {
            with("doorbell: full barriers", || loom(Some(3), model));
            must_fail("doorbell: as it is", &["a bell was lost"], || {
                loom(Some(3), model)
            });
        }
        shuttle(10_000, large::a_signal_ends_the_wait);
        shuttle(10_000, || large::an_arrival_ends_the_wait(2));
    }

    #[test]
    fn naps_end_every_wait() {
        with_naps_that_end(|| {
            loom(Some(3), small::a_signal_ends_the_wait);
            loom(Some(3), || small::an_arrival_ends_the_wait(1));
        });
    }

    #[test]
    fn the_models_can_fail() {
        for place in [
            "doorbell: no second look",
            "doorbell: rings read late",
            "doorbell: no ring",
        ] {
            must_fail(place, &["a bell was lost"], || {
                shuttle(10_000, large::a_signal_ends_the_wait)
            });
            must_fail(place, &["a bell was lost"], || {
                shuttle(10_000, || large::an_arrival_ends_the_wait(1))
            });
        }
    }
}

mod releases {
    use super::*;
    use loomed::scenarios::releases as small;
    use shuttled::scenarios::releases as large;

    #[test]
    fn all_free_the_same() {
        loom(Some(1), || small::all_free_the_same(2, 1));
        shuttle(2000, || large::all_free_the_same(3, 3));
        loom(Some(1), small::nothing_is_freed_before_all_have_released);
        loom(Some(1), small::a_failed_round_frees_nothing);
    }

    #[test]
    fn the_models_can_fail() {
        must_fail("release: one meeting", &["were not freed"], || {
            shuttle(2000, || large::all_free_the_same(3, 3));
        });
        must_fail("release: one is not asked", &["freed although"], || {
            shuttle(2000, large::nothing_is_freed_before_all_have_released);
        });
    }
}

mod liveness {
    use super::*;
    use loomed::scenarios::liveness as small;

    #[test]
    fn deaths_are_seen_by_all_and_named_rightly() {
        loom(Some(3), small::the_one_named_is_dead);
        loom(Some(3), small::a_death_around_finalize_strands_nobody);
    }

    #[test]
    fn the_models_can_fail() {
        let model = || loom(Some(3), small::the_one_named_is_dead);
        must_fail(
            "gone: counted before it is named",
            &["names a PE that lives"],
            model,
        );
        must_fail("gone: relaxed count", &["names a PE that lives"], model);
        must_fail("gone: nobody is told", &["unseen"], model);
    }
}

mod teams {
    use super::*;
    use loomed::scenarios::teams as small;
    use shuttled::scenarios::teams as large;

    #[test]
    fn numbers_are_used_again() {
        loom(Some(2), small::a_number_is_used_again);
        shuttle(5000, large::a_number_is_used_again);
    }

    #[test]
    fn broken_numbers_are_used_again() {
        shuttle(5000, large::a_broken_number_is_used_again);
    }

    #[test]
    fn splits_come_apart() {
        shuttle_fairly(2000, || large::splits_come_apart(2));
    }

    #[test]
    fn ids_bring_members_together() {
        shuttle(6000, || large::ids_bring_members_together(2, 4));
    }

    #[test]
    fn the_models_can_fail() {
        for place in [
            "number: no mark",
            "number: no second look",
            "number: no fence",
        ] {
            must_fail(place, &["mismatch in epoch 1"], || {
                loom(Some(2), small::a_number_is_used_again)
            });
        }
        let broken = ["PE 0 never came", "a new team is whole"];
        for place in [
            "number: gone on is fine",
            "number: broken and not skipped",
            "number: broken and not told",
        ] {
            must_fail(place, &broken, || {
                shuttle(20_000, large::a_broken_number_is_used_again)
            });
        }
        let apart = [
            "different numbers",
            "one number",
            "a new team",
            "this PE is a member",
        ];
        for place in ["claim: not asked", "split: claims of the others not asked"] {
            must_fail(place, &apart, || {
                shuttle_fairly(2000, || large::splits_come_apart(2))
            });
        }
    }
}

mod streams {
    use super::*;
    use loomed::scenarios::streams as small;
    use shuttled::scenarios::streams as large;

    #[test]
    fn jobs_run_in_order() {
        loom(Some(2), small::jobs_run_in_order);
        shuttle(2000, large::jobs_run_in_order);
    }

    #[test]
    fn what_a_job_wrote_is_seen() {
        loom(Some(2), || small::what_a_job_wrote_is_seen(false));
        loom(Some(2), || small::what_a_job_wrote_is_seen(true));
    }

    #[test]
    fn events_order_streams() {
        shuttle(2000, large::events_order_streams);
    }

    #[test]
    fn threads_share_a_stream() {
        shuttle(2000, large::threads_share_a_stream);
    }

    #[test]
    fn an_abandoned_stream_strands_nobody() {
        loom(Some(2), small::an_abandoned_stream_strands_nobody);
        shuttle(2000, large::an_abandoned_stream_strands_nobody);
    }

    #[test]
    fn the_models_can_fail() {
        for place in ["stream: relaxed count", "stream: relaxed look"] {
            must_fail(place, &["not seen"], || {
                loom(Some(2), || small::what_a_job_wrote_is_seen(false))
            });
        }
        must_fail("event: relaxed mark", &["not seen"], || {
            loom(Some(2), || small::what_a_job_wrote_is_seen(true))
        });
        must_fail(
            "stream: last in, first out",
            &["the first error", "order of the jobs"],
            || shuttle(200, large::jobs_run_in_order),
        );
        must_fail(
            "stream: not rung",
            &["deadlock", "exceeded max_steps"],
            || shuttle(200, large::jobs_run_in_order),
        );
        must_fail("stream: no wait for the event", &["too early"], || {
            shuttle(200, large::events_order_streams)
        });
        must_fail("stream: one is not waited for", &["too early"], || {
            shuttle(200, large::threads_share_a_stream)
        });
        must_fail("stream: not closed", &["deadlock"], || {
            shuttle(200, large::jobs_run_in_order)
        });
    }
}

mod sending {
    use super::*;
    use loomed::scenarios::sending::Send::{Added, Now};
    use loomed::scenarios::sending::nothing_stays_behind as model;
    use shuttled::scenarios::sending::Send::{Added as DrawnAdded, Now as DrawnNow};
    use shuttled::scenarios::sending::nothing_stays_behind as drawn;

    #[test]
    fn nothing_stays_behind() {
        loom(None, || model(&[&[Added(0)], &[Added(1)]]));
        loom(None, || model(&[&[Added(0)], &[Added(0)]]));
        loom(None, || model(&[&[Now(0)], &[Now(1)]]));
        loom(None, || model(&[&[Now(0)], &[Added(0)]]));
        // These PEs share a bit.
        loom(None, || model(&[&[Now(0)], &[Added(64)]]));
        loom(Some(3), || model(&[&[Added(0), Now(1)], &[Now(1)]]));
        shuttle(2000, || {
            let first = &[DrawnAdded(0), DrawnNow(1), DrawnAdded(64)];
            drawn(&[first, &[DrawnAdded(1), DrawnNow(1)], &[DrawnNow(0)]]);
        });
    }

    #[test]
    fn the_model_can_fail() {
        for place in [
            "sending: no look after the lock",
            "sending: a plain look after the lock",
        ] {
            must_fail(place, &["a PE is to be sent something"], || {
                loom(None, || model(&[&[Added(0)], &[Added(1)]]));
            });
        }
    }
}
