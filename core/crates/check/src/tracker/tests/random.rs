//! Random programs: the tracker reports nothing that the model does not, and all that it does.

use super::model::{Model, Pair, Published};
use super::*;
use proptest::prelude::*;
use std::sync::atomic::Ordering::Relaxed;

/// One step of a random program.
#[derive(Clone)]
enum Step {
    Access {
        kind: Kind,
        to: Pe,
        start: u64,
        bytes: u64,
    },
    Word {
        kind: Kind,
        to: Pe,
        word: u64,
    },
    Acquire {
        to: Pe,
        word: u64,
    },
    Fence,
    Quiet,
    Meet {
        members: u8,
        completing: bool,
    },
    Deliver {
        index: usize,
    },
}

impl std::fmt::Debug for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Step::Access {
                kind,
                to,
                start,
                bytes,
            } => {
                write!(f, "{kind:?} PE {to} {start}..{}", start + bytes)
            }
            Step::Word { kind, to, word } => write!(f, "{kind:?} PE {to} word {word}"),
            Step::Acquire { to, word } => write!(f, "acquire PE {to} word {word}"),
            Step::Fence => write!(f, "fence"),
            Step::Quiet => write!(f, "quiet"),
            Step::Meet {
                members,
                completing,
            } => write!(f, "meet {members:b} {completing}"),
            Step::Deliver { index } => write!(f, "deliver {index}"),
        }
    }
}

/// Words of each PE: the first ones are data, the others flags.
const WORDS: u64 = 6;
const DATA_WORDS: u64 = 3;

fn step(n: Pe) -> impl Strategy<Value = (Pe, Step)> {
    let kinds = prop_oneof![
        4 => Just(Kind::Put),
        1 => Just(Kind::PutSignal),
        2 => Just(Kind::Get),
        1 => Just(Kind::GetNbi),
    ];
    let range = (0..WORDS * 8, 1..24_u64);
    let access = (kinds, 0..n, range).prop_map(|(kind, to, (start, bytes))| Step::Access {
        kind,
        to,
        start,
        bytes: bytes.min(WORDS * 8 - start),
    });
    let words = prop_oneof![
        4 => Just(Kind::Put),
        3 => Just(Kind::Atomic),
        1 => Just(Kind::AtomicFetch),
        1 => Just(Kind::AtomicLoad),
    ];
    let word = (words, 0..n, 0..WORDS).prop_map(|(kind, to, word)| Step::Word { kind, to, word });
    let flag = (DATA_WORDS..WORDS, 0..n).prop_map(|(word, to)| Step::Acquire { to, word });
    let own =
        (any::<bool>(), 0..WORDS * 8, 1..24_u64).prop_map(|(write, start, bytes)| Step::Access {
            kind: if write { Kind::Store } else { Kind::Load },
            to: Pe::MAX,
            start,
            bytes: bytes.min(WORDS * 8 - start),
        });
    let one = prop_oneof![
        5 => access,
        5 => word,
        7 => flag,
        4 => own,
        2 => Just(Step::Fence),
        2 => Just(Step::Quiet),
        1 => (any::<u8>(), any::<bool>())
            .prop_map(|(members, completing)| Step::Meet { members, completing }),
        4 => (0..64_usize).prop_map(|index| Step::Deliver { index }),
    ];
    (0..n, one)
}

fn program() -> impl Strategy<Value = (Pe, Vec<(Pe, Step)>)> {
    (2..=4 as Pe).prop_flat_map(|n| (Just(n), prop::collection::vec(step(n), 1..60)))
}

struct Under {
    to: Pe,
    start: u64,
    bytes: u64,
    stamp: ReleaseStamp,
    published: [Published; 2],
}

/// The tracker and both models, side by side.
struct Run {
    job: Job,
    exact: Model,
    loose: Model,
    /// For each PE, the operations issued and not yet in effect.
    under: Vec<Vec<Under>>,
    exact_pairs: Vec<(Pe, Pair)>,
    /// Sites at which the loose model finds something, by PE.
    loose_sites: Vec<(Pe, u16)>,
}

impl Run {
    fn deliver(&mut self, me: Pe, index: usize) {
        let one = self.under[me as usize].remove(index);
        let tracker = &self.job.trackers[me as usize];
        tracker.delivered(one.to, one.start, one.bytes, one.stamp);
        for (model, published) in [&mut self.exact, &mut self.loose]
            .into_iter()
            .zip(&one.published)
        {
            model.delivered(one.to as usize, one.start, one.bytes, published);
        }
    }

    fn complete(&mut self, me: Pe) {
        while !self.under[me as usize].is_empty() {
            self.deliver(me, 0);
        }
    }

    fn access(&mut self, me: Pe, kind: Kind, to: Pe, start: u64, bytes: u64, site: u16) {
        let (pe, owner) = (me as usize, to as usize);
        let tracker = &self.job.trackers[pe];
        tracker.access(kind, to, start, bytes, site);
        let pairs = self.exact.access(kind, pe, owner, start, bytes, site);
        self.exact_pairs
            .extend(pairs.into_iter().map(|pair| (me, pair)));
        let found = self.loose.access(kind, pe, owner, start, bytes, site);
        if !found.is_empty() {
            self.loose_sites.push((me, site));
        }
        if kind == Kind::Store {
            self.loose.stored(pe, owner, start, bytes);
        }
        if kind == Kind::Store || !kind.writes() {
            return;
        }
        let fenced = kind.is_atomic();
        let stamp = self.job.trackers[pe].release(to, start, fenced);
        let published =
            [&mut self.exact, &mut self.loose].map(|model| model.release(pe, owner, fenced));
        self.under[pe].push(Under {
            to,
            start,
            bytes,
            stamp,
            published,
        });
    }

    fn acquire(&mut self, me: Pe, to: Pe, word: u64, site: u16) {
        let tracker = &self.job.trackers[me as usize];
        tracker.acquire(to, word * 8, 8, 0, site);
        self.exact.acquire(me as usize, to as usize, word * 8);
        self.loose.acquire(me as usize, to as usize, word * 8);
    }

    fn of(n: Pe, steps: &[(Pe, Step)], holds: bool) -> Run {
        let mut run = Run {
            job: Job::new(n),
            exact: Model::new(n as usize, false),
            loose: Model::new(n as usize, true),
            under: (0..n).map(|_| Vec::new()).collect(),
            exact_pairs: Vec::new(),
            loose_sites: Vec::new(),
        };
        for (site, (me, step)) in (1..).zip(steps) {
            let me = *me;
            match step.clone() {
                Step::Access {
                    kind,
                    to,
                    start,
                    bytes,
                } => {
                    let to = if to == Pe::MAX { me } else { to };
                    run.access(me, kind, to, start, bytes, site);
                }
                Step::Word { kind, to, word } => {
                    run.access(me, kind, to, word * 8, 8, site);
                    if kind == Kind::AtomicFetch {
                        let last = run.under[me as usize].len() - 1;
                        run.deliver(me, last);
                    }
                    if kind != Kind::Atomic && kind != Kind::Put {
                        run.acquire(me, to, word, site);
                    }
                }
                Step::Acquire { to, word } => {
                    // Most look at their own flags.
                    let to = if site % 4 == 0 { to } else { me };
                    run.acquire(me, to, word, site);
                }
                Step::Fence => {
                    run.job.trackers[me as usize].fence();
                    run.exact.fence(me as usize);
                    run.loose.fence(me as usize);
                }
                Step::Quiet => {
                    run.complete(me);
                    run.job.trackers[me as usize].quiet();
                    run.exact.quiet(me as usize);
                    run.loose.quiet(me as usize);
                }
                Step::Meet {
                    members,
                    completing,
                } => {
                    let members: Vec<Pe> = (0..n).filter(|pe| members >> pe & 1 != 0).collect();
                    if completing {
                        members.iter().for_each(|&pe| run.complete(pe));
                    }
                    run.job.meet(&members, "broadcast", completing);
                    run.exact.meet(&members, completing);
                    run.loose.meet(&members, completing);
                }
                Step::Deliver { index } => {
                    let len = run.under[me as usize].len();
                    if len > 0 {
                        run.deliver(me, index % len);
                    }
                }
            }
            if !holds {
                (0..n).for_each(|pe| run.complete(pe));
            }
        }
        run
    }

    fn pairs(&self) -> Vec<(Pe, Pair)> {
        let all = self.job.trackers.iter().enumerate();
        all.flat_map(|(pe, tracker)| {
            let pairs = tracker.reports.pairs();
            pairs
                .into_iter()
                .map(move |(_, (_, now, other, before))| (pe as Pe, (now, other, before)))
        })
        .collect()
    }

    /// Nothing is reported that is not wrong.
    fn check_sound(&self) -> std::result::Result<(), TestCaseError> {
        for pair in self.pairs() {
            prop_assert!(self.exact_pairs.contains(&pair), "{pair:?} is in order");
        }
        Ok(())
    }

    /// All that is wrong is reported, unless an access had to go.
    fn check_complete(&self) -> std::result::Result<(), TestCaseError> {
        let evicted = |tracker: &Tracker| tracker.shadow.evicted.load(Relaxed);
        if self.job.trackers.iter().any(evicted) {
            return Ok(());
        }
        let pairs = self.pairs();
        for &(me, site) in &self.loose_sites {
            let found = pairs.iter().any(|(pe, pair)| (*pe, pair.0) == (me, site));
            prop_assert!(found, "PE {me} does not report step {site}");
        }
        Ok(())
    }
}

/// `PROPTEST_CASES` runs more.
fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    let asked = std::env::var_os("PROPTEST_CASES").is_some();
    ProptestConfig {
        cases: if asked { default.cases } else { 3000 },
        failure_persistence: None,
        ..default
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_takes_effect_at_once((n, steps) in program()) {
        let run = Run::of(n, &steps, false);
        run.check_sound()?;
        run.check_complete()?;
    }

    #[test]
    fn what_is_held_back((n, steps) in program()) {
        Run::of(n, &steps, true).check_sound()?;
    }
}
