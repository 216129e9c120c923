//! Teams against a plain model: lists of PEs.

#[path = "common/pool.rs"]
mod pool;

use nvshmemrs::{Op, Pe, Result, Runtime, SymArray, Team, TeamConfig};
use pool::Plan;
use proptest::collection::vec;
use proptest::prelude::*;

/// The next step; the number of a team, a start and so on are taken modulo their counts.
#[derive(Clone, Debug)]
enum Step {
    Split {
        parent: usize,
        start: Pe,
        stride: Pe,
        size: Pe,
        contexts: i32,
    },
    Split2d {
        parent: usize,
        width: Pe,
    },
    Init {
        members: Vec<Pe>,
    },
    Destroy {
        which: usize,
    },
    Translate {
        from: usize,
        to: usize,
        pe: Pe,
    },
    Use {
        which: usize,
    },
    Stale {
        which: usize,
    },
}

fn steps(n: Pe) -> impl Strategy<Value = Vec<Step>> {
    let any = || 0..1000usize;
    // Mostly inside, now and then far outside.
    let number = move || {
        prop_oneof![
            20 => -n..=n,
            1 => Just(i32::MAX),
            1 => Just(i32::MIN),
        ]
    };
    let members = (
        Just((0..n).collect::<Vec<Pe>>()).prop_shuffle(),
        1..=n as usize,
    )
        .prop_map(|(mut order, size)| {
            order.truncate(size);
            Step::Init { members: order }
        });
    let step = prop_oneof![
        6 => (any(), number(), number(), number(), 0..9i32).prop_map(
            |(parent, start, stride, size, contexts)| Step::Split { parent, start, stride, size, contexts }
        ),
        2 => (any(), number()).prop_map(|(parent, width)| Step::Split2d { parent, width }),
        2 => members,
        3 => any().prop_map(|which| Step::Destroy { which }),
        2 => (any(), any(), -1..=n).prop_map(|(from, to, pe)| Step::Translate { from, to, pe }),
        4 => any().prop_map(|which| Step::Use { which }),
        1 => any().prop_map(|which| Step::Stale { which }),
    ];
    vec(step, 1..25)
}

/// A team as the model knows it, and this PE's handle if it is a member.
#[derive(Clone, Debug)]
struct Known {
    pes: Vec<Pe>,
    handle: Option<Team>,
    contexts: i32,
}

struct State {
    word: SymArray<i64>,
    id: SymArray<u64>,
    predefined: Vec<Known>,
}

fn setup(rt: &Runtime) -> Result<State> {
    let predefined = [Team::WORLD, Team::NODE, Team::SHARED, Team::GPU_LEADERS];
    // In the core's unit tests this file's jobs are on several hosts, and a team that not all are in is not the same everywhere.
    let of_all = |team: &Team| rt.team_n_pes(*team).expect("a team of this PE") == rt.n_pes();
    let predefined = predefined.into_iter().filter(of_all);
    Ok(State {
        word: rt.array(2)?,
        id: rt.array(1)?,
        predefined: predefined
            .map(|team| Known {
                pes: (0..rt.n_pes()).collect(),
                handle: Some(team),
                contexts: 0,
            })
            .collect(),
    })
}

/// The members of a split, if the arguments are fine.
fn split_model(parent: &[Pe], start: Pe, stride: Pe, size: Pe) -> Option<Vec<Pe>> {
    if size < 1 {
        return None;
    }
    let place =
        |index: i64| i64::from(start) + index * if size == 1 { 0 } else { i64::from(stride) };
    let inside = |at: i64| (0..parent.len() as i64).contains(&at);
    let fine = inside(place(0)) && inside(place(i64::from(size) - 1)) && (stride != 0 || size == 1);
    fine.then(|| {
        (0..i64::from(size))
            .map(|index| parent[place(index) as usize])
            .collect()
    })
}

/// The order of the members and how many there are, as data sees it.
fn use_team(rt: &Runtime, state: &State, team: &Known) {
    let Some(handle) = team.handle else { return };
    let me = rt.my_pe();
    let place = team.pes.iter().position(|&pe| pe == me).expect("a member");
    assert_eq!(rt.team_my_pe(handle).unwrap(), place as Pe);
    assert_eq!(rt.team_n_pes(handle).unwrap(), team.pes.len() as Pe);
    assert_eq!(rt.team_config(handle).unwrap().num_contexts, team.contexts);
    let word = &state.word;
    word.store(0, 1 << me).unwrap();
    let (dest, source) = (word.slice(1..2).unwrap(), word.slice(0..1).unwrap());
    rt.inscan_array(handle, &dest, &source, Op::Sum).unwrap();
    let expected: i64 = team.pes[..=place].iter().map(|&pe| 1i64 << pe).sum();
    assert_eq!(word.load(1).unwrap(), expected, "{team:?}");
    rt.barrier(handle).unwrap();
}

/// Every call gives the model's result, on members and others; other PEs do nothing.
fn run(rt: &Runtime, state: &mut State, steps: &Vec<Step>) {
    let me = rt.my_pe();
    let mut teams = state.predefined.clone();
    let mut stale: Vec<Team> = Vec::new();
    let fixed = teams.len();
    for step in steps {
        match step {
            Step::Split {
                parent,
                start,
                stride,
                size,
                contexts,
            } => {
                let parent = teams[parent % teams.len()].clone();
                let expected = split_model(&parent.pes, *start, *stride, *size);
                let config = TeamConfig {
                    num_contexts: *contexts,
                    unique_id: 0,
                };
                let seen = parent.handle.map(|handle| {
                    rt.team_split_strided(handle, *start, *stride, *size, Ok(config))
                });
                match (expected, seen) {
                    (Some(pes), seen) => {
                        let handle = seen.and_then(|seen| seen.expect("a split that is fine"));
                        assert_eq!(
                            handle.is_some(),
                            pes.contains(&me),
                            "{step:?} of {parent:?}"
                        );
                        let contexts = *contexts;
                        teams.push(Known {
                            pes,
                            handle,
                            contexts,
                        });
                    }
                    (None, Some(seen)) => {
                        let error = seen.expect_err("a split that cannot be");
                        assert!([1, 12].contains(&error.status()), "{step:?}: {error}");
                    }
                    (None, None) => {}
                }
            }
            Step::Split2d { parent, width } => {
                let parent = teams[parent % teams.len()].clone();
                let config = || Ok(TeamConfig::default());
                let seen = parent
                    .handle
                    .map(|handle| rt.team_split_2d(handle, *width, config(), config()));
                if *width < 1 {
                    assert!(seen.is_none_or(|seen| seen.is_err()), "{step:?}");
                    continue;
                }
                let (x, y) = seen.map(|seen| seen.expect("a 2d split")).unzip();
                let width = (*width as usize).min(parent.pes.len());
                let mine = parent.pes.iter().position(|&pe| pe == me);
                for (index, row) in parent.pes.chunks(width).enumerate() {
                    let handle = x.filter(|_| mine.map(|mine| mine / width) == Some(index));
                    teams.push(Known {
                        pes: row.to_vec(),
                        handle,
                        contexts: 0,
                    });
                }
                for column in 0..width {
                    let pes = parent
                        .pes
                        .iter()
                        .copied()
                        .skip(column)
                        .step_by(width)
                        .collect();
                    let handle = y.filter(|_| mine.map(|mine| mine % width) == Some(column));
                    teams.push(Known {
                        pes,
                        handle,
                        contexts: 0,
                    });
                }
            }
            Step::Init { members } => {
                if me == 0 {
                    state.id.store(0, rt.team_unique_id().unwrap()).unwrap();
                }
                let id = state.id.all();
                rt.broadcast_array(Team::WORLD, &id, &id, 0).unwrap();
                let config = TeamConfig {
                    num_contexts: 3,
                    unique_id: state.id.load(0).unwrap(),
                };
                let index = members.iter().position(|&pe| pe == me);
                let handle = index.map(|index| {
                    rt.team_init(config, members.len() as Pe, index as Pe)
                        .expect("team_init")
                });
                teams.push(Known {
                    pes: members.clone(),
                    handle,
                    contexts: 3,
                });
            }
            Step::Destroy { which } => {
                let which = which % teams.len();
                if which < fixed {
                    let team = teams[which].handle.expect("predefined");
                    assert_eq!(rt.team_destroy(team).unwrap_err().status(), 1);
                } else if let Some(team) = teams.remove(which).handle {
                    rt.team_destroy(team).unwrap();
                    stale.push(team);
                }
            }
            Step::Translate { from, to, pe } => {
                let (from, to) = (&teams[from % teams.len()], &teams[to % teams.len()]);
                let (Some(source), Some(dest)) = (from.handle, to.handle) else {
                    continue;
                };
                let seen = rt.team_translate_pe(source, *pe, dest);
                match usize::try_from(*pe).ok().and_then(|pe| from.pes.get(pe)) {
                    Some(world) => {
                        let place = to.pes.iter().position(|pe| pe == world);
                        assert_eq!(
                            seen.unwrap(),
                            place.map_or(-1, |place| place as Pe),
                            "{step:?}"
                        );
                    }
                    None => assert_eq!(seen.unwrap_err().status(), 12, "{step:?}"),
                }
            }
            Step::Use { which } => use_team(rt, state, &teams[which % teams.len()]),
            Step::Stale { which } if !stale.is_empty() => {
                let team = stale[which % stale.len()];
                let config = Ok(TeamConfig::default());
                assert_eq!(rt.barrier(team).unwrap_err().status(), 11);
                assert_eq!(rt.team_n_pes(team).unwrap_err().status(), 11);
                assert_eq!(rt.team_destroy(team).unwrap_err().status(), 11);
                let split = rt.team_split_strided(team, 0, 1, 1, config);
                assert_eq!(split.unwrap_err().status(), 11);
                let to = rt.team_translate_pe(Team::WORLD, 0, team);
                assert_eq!(to.unwrap_err().status(), 11);
            }
            Step::Stale { .. } => {}
        }
    }
    for team in teams.drain(fixed..).rev() {
        use_team(rt, state, &team);
        if let Some(handle) = team.handle {
            rt.team_destroy(handle).unwrap();
        }
    }
}

#[test]
fn agree_with_the_model() {
    pool::check(
        "teams",
        &[1, 2, 3, 5],
        pool::share(10),
        Plan { setup, body: run },
        steps,
    );
}

/// Makes teams of these shapes until there is no number left, and how many that were.
fn fill(rt: &Runtime, shapes: &[(Pe, Pe, Pe)]) -> Vec<Option<Team>> {
    let mut made = Vec::new();
    for (start, stride, size) in shapes.iter().cycle() {
        let config = Ok(TeamConfig::default());
        match rt.team_split_strided(Team::WORLD, *start, *stride, *size, config) {
            Ok(team) => made.push(team),
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("320") && text.contains("destroy"), "{text}");
                return made;
            }
        }
        assert!(made.len() < 5000, "no end of teams");
    }
    made
}

/// Fills the table of teams again and again, in part with teams that not every PE is in.
fn exhaust(rt: &Runtime, word: &mut SymArray<i64>, (shapes, keep): &(Vec<(Pe, Pe, Pe)>, usize)) {
    let n = rt.n_pes();
    // Where the job is at its end, every PE must be told at the same call: the number made is the same.
    let agree = |count: usize| {
        word.store(0, count as i64).unwrap();
        let (low, all) = (word.slice(1..2).unwrap(), word.slice(0..1).unwrap());
        rt.reduce_array(Team::WORLD, &low, &all, Op::Min).unwrap();
        assert_eq!(
            word.load(1).unwrap(),
            count as i64,
            "PEs disagree on when the table is full"
        );
        rt.reduce_array(Team::WORLD, &low, &all, Op::Max).unwrap();
        assert_eq!(
            word.load(1).unwrap(),
            count as i64,
            "PEs disagree on when the table is full"
        );
    };
    let fine: Vec<_> = shapes
        .iter()
        .copied()
        .filter(|(start, stride, size)| {
            split_model(&(0..n).collect::<Vec<_>>(), *start, *stride, *size).is_some()
        })
        .chain([(0, 1, n)])
        .collect();
    let mut made = fill(rt, &fine);
    agree(made.len());
    // The table is full for teams of all; after one of them has gone there is room for one.
    let all = fine.len();
    let index = (0..made.len())
        .rev()
        .find(|index| index % all == all - 1)
        .expect("a team of all");
    rt.team_destroy(made.remove(index).expect("all are members"))
        .unwrap();
    let one = rt.team_split_strided(Team::WORLD, n - 1, -1, n, Ok(TeamConfig::default()));
    made.push(one.expect("a number is free again"));
    let full = rt.team_split_strided(Team::WORLD, 0, 1, n, Ok(TeamConfig::default()));
    full.expect_err("and only one");
    for team in made.drain(keep % made.len()..).rev().flatten() {
        rt.team_destroy(team).unwrap();
    }
    for team in made.into_iter().rev().flatten() {
        rt.barrier(team).unwrap();
        rt.team_destroy(team).unwrap();
    }
    let made = fill(rt, &[(0, 1, n)]);
    assert_eq!(made.len(), 314, "320 with the six that are always there");
    for team in made.into_iter().flatten() {
        rt.team_destroy(team).unwrap();
    }
}

#[test]
fn every_member_learns_that_the_table_is_full_and_it_recovers() {
    let strategy = |n: Pe| (vec((0..n, -n..=n, 1..=n), 0..4), 0..1000usize);
    let plan = Plan {
        setup: |rt| rt.array::<i64>(2),
        body: exhaust,
    };
    pool::check(
        "full tables of teams",
        &[1, 3, 4],
        pool::share(1) / 20,
        plan,
        strategy,
    );
}
