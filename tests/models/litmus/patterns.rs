//! The table of litmus tests.

use super::{Bench, DATA, HOME, Litmus, Outcome, Rule, Seen};
use Rule::{Allowed, Forbidden, Weak};
use nvshmemrs::{Cmp, Pe, Result, SignalOp, SymElement};

const fn outcome(name: &'static str, rule: Rule, is: fn(&Seen) -> bool, example: Seen) -> Outcome {
    Outcome {
        name,
        rule,
        is,
        example,
    }
}

const fn seen(read: [[u64; 2]; 4], x: u64, y: u64) -> Seen {
    Seen { read, x, y }
}

const NONE: [u64; 2] = [0, 0];

/// PE 0 and PE 1 read a word each.
const fn pair(first: u64, second: u64) -> Seen {
    seen([[first, 0], [second, 0], NONE, NONE], 0, 0)
}

/// PE 1 reads two words.
const fn reader(first: u64, second: u64) -> Seen {
    seen([NONE, [first, second], NONE, NONE], 0, 0)
}

/// The two outcomes of message passing: the reader has seen the flag, so it sees the data.
const MESSAGE: &[Outcome] = &[
    outcome("flag, data", Allowed, |s| s.read[1] == [1, 7], reader(1, 7)),
    outcome(
        "flag, no data",
        Forbidden,
        |s| s.read[1] == [1, 0],
        reader(1, 0),
    ),
];

/// As `MESSAGE`, for a reader that looks once.
const GLANCE: &[Outcome] = &[
    outcome("flag, data", Allowed, |s| s.read[1] == [1, 7], reader(1, 7)),
    outcome("no flag", Allowed, |s| s.read[1][0] == 0, reader(0, 0)),
    outcome(
        "flag, no data",
        Forbidden,
        |s| s.read[1] == [1, 0],
        reader(1, 0),
    ),
];

const fn store_buffering(none: Rule) -> [Outcome; 2] {
    [
        outcome(
            "0/0",
            none,
            |s| s.read[0][0] == 0 && s.read[1][0] == 0,
            pair(0, 0),
        ),
        outcome(
            "0/1 or 1/0 or 1/1",
            Allowed,
            |s| s.read[0][0] + s.read[1][0] > 0,
            pair(0, 1),
        ),
    ]
}

const fn load_buffering(both: Rule) -> [Outcome; 2] {
    [
        outcome(
            "1/1",
            both,
            |s| s.read[0][0] == 1 && s.read[1][0] == 1,
            pair(1, 1),
        ),
        outcome(
            "0/0 or 0/1 or 1/0",
            Allowed,
            |s| s.read[0][0] + s.read[1][0] < 2,
            pair(0, 0),
        ),
    ]
}

/// PE 2 and PE 3 read two words each, in opposite order.
const fn independent(disagree: Rule) -> [Outcome; 2] {
    [
        outcome(
            "the readers disagree on the order",
            disagree,
            |s| s.read[2] == [1, 0] && s.read[3] == [1, 0],
            seen([NONE, NONE, [1, 0], [1, 0]], 1, 1),
        ),
        outcome(
            "they agree",
            Allowed,
            |_| true,
            seen([NONE, NONE, [1, 1], [1, 0]], 1, 1),
        ),
    ]
}

const SB_QUIET: &[Outcome] = &store_buffering(Forbidden);
const SB_WEAK: &[Outcome] = &store_buffering(Allowed);
const SB_ATOMIC: &[Outcome] = &store_buffering(Weak);
const LB_WEAK: &[Outcome] = &load_buffering(Weak);
const LB_ATOMIC: &[Outcome] = &load_buffering(Forbidden);
const IRIW_WEAK: &[Outcome] = &independent(Weak);
const IRIW_ATOMIC: &[Outcome] = &independent(Forbidden);

/// PE 0 writes 64 words of 7 to PE 1.
fn send(b: &Bench<'_>, set: usize) -> Result<()> {
    b.rt.put(
        b.data.slice(set * DATA..(set + 1) * DATA)?,
        &[7u64; DATA],
        HOME,
    )
}

/// 7 if all words of the data are there.
fn received(b: &Bench<'_>, set: usize) -> Result<u64> {
    let mut words = [0u64; DATA];
    b.data.read(set * DATA, &mut words)?;
    Ok(if words.iter().all(|&word| word == 7) {
        7
    } else {
        0
    })
}

/// The reader's end of message passing: waits for the flag, then reads.
fn await_flag(b: &Bench<'_>, set: usize) -> Result<[u64; 2]> {
    b.rt.wait_until(b.y(set)?, Cmp::Eq, 1)?;
    Ok([1, received(b, set)?])
}

/// The reader's end if it looked for the flag once. Without the flag it must not read the data, which would be a race.
fn glance(b: &Bench<'_>, set: usize, flag: bool) -> Result<[u64; 2]> {
    Ok(match flag {
        true => [1, received(b, set)?],
        false => NONE,
    })
}

/// Message passing: PE 0 sends the data and then the flag; PE 1 waits for the flag, or looks at it as it likes, and reads.
macro_rules! message {
    ($name:literal, $program:literal, |$b:ident, $set:ident| $send:block) => {
        message!(
            $name,
            $program,
            MESSAGE,
            |$b, $set| $send,
            await_flag($b, $set)
        )
    };
    ($name:literal, $program:literal, $outcomes:expr, |$b:ident, $set:ident| $send:block, $receive:expr) => {
        Litmus {
            name: $name,
            program: $program,
            n_pes: 2,
            meets: false,
            body: |$b: &Bench<'_>, pe: Pe, $set: usize| -> Result<[u64; 2]> {
                match pe {
                    0 => {
                        $send;
                        Ok(NONE)
                    }
                    _ => $receive,
                }
            },
            outcomes: $outcomes,
        }
    };
}

/// PE 0 writes x and PE 1 y, and PEs 2 and 3 read both, in opposite order.
macro_rules! independent {
    ($name:literal, $program:literal, $outcomes:expr, |$b:ident, $word:ident| $write:expr, $read:expr) => {
        Litmus {
            name: $name,
            program: $program,
            n_pes: 4,
            meets: false,
            body: |$b: &Bench<'_>, pe: Pe, set: usize| -> Result<[u64; 2]> {
                let (x, y) = ($b.x(set)?, $b.y(set)?);
                let write = |$word: SymElement<u64>| $write.map(|_| NONE);
                let read = |$word: SymElement<u64>| $read;
                match pe {
                    0 => write(x),
                    1 => write(y),
                    2 => Ok([read(x)?, read(y)?]),
                    _ => Ok([read(y)?, read(x)?]),
                }
            },
            outcomes: $outcomes,
        }
    };
}

/// Two PEs do the same with x and y the other way round.
macro_rules! crossed {
    ($name:literal, $program:literal, $outcomes:expr, |$b:ident, $own:ident, $other:ident| $read:expr) => {
        Litmus {
            name: $name,
            program: $program,
            n_pes: 2,
            meets: false,
            body: |$b: &Bench<'_>, pe: Pe, set: usize| -> Result<[u64; 2]> {
                let (x, y) = ($b.x(set)?, $b.y(set)?);
                let ($own, $other) = if pe == 0 { (x, y) } else { (y, x) };
                Ok([$read, 0])
            },
            outcomes: $outcomes,
        }
    };
}

macro_rules! untorn {
    ($name:literal, $program:literal, $t:ty) => {
        Litmus {
            name: $name,
            program: $program,
            n_pes: 2,
            meets: false,
            body: |b, pe, set| {
                let size = size_of::<$t>() as u64;
                let word = b.rt.element::<$t>(
                    "word",
                    b.data.as_ptr() as u64 + (set * DATA) as u64 * 8 + size,
                )?;
                if pe == 0 {
                    for value in [<$t>::MAX, 0, <$t>::MAX] {
                        b.rt.p(word, value, HOME)?;
                    }
                    return Ok(NONE);
                }
                // 1 for the whole element, 0 for nothing, 2 for a part.
                let judge = |value: $t| match value {
                    0 => 0,
                    <$t>::MAX => 1,
                    _ => 2,
                };
                Ok([judge(b.rt.g(word, HOME)?), judge(b.rt.g(word, HOME)?)])
            },
            outcomes: &[
                outcome(
                    "old or new",
                    Allowed,
                    |s| s.read[1][0] < 2 && s.read[1][1] < 2,
                    reader(0, 1),
                ),
                outcome("a part", Forbidden, |_| true, reader(2, 0)),
            ],
        }
    };
}

/// Every test.
pub(crate) const TESTS: &[Litmus] = &[
    message!(
        "MP+fence",
        "put data; fence; p flag ∥ wait_until flag; read data",
        |b, set| {
            send(b, set)?;
            b.rt.fence()?;
            b.rt.p(b.y(set)?, 1, HOME)?;
        }
    ),
    message!(
        "MP+nbi+quiet",
        "put_nbi data; quiet; p flag ∥ wait_until flag; read data",
        |b, set| {
            b.rt.put_nbi(
                b.data.slice(set * DATA..(set + 1) * DATA)?,
                &[7u64; DATA],
                HOME,
            )?;
            b.rt.quiet()?;
            b.rt.p(b.y(set)?, 1, HOME)?;
        }
    ),
    message!(
        "MP+signal",
        "put data; signal_op flag ∥ wait_until flag; read data",
        |b, set| {
            send(b, set)?;
            b.rt.signal_op(b.y(set)?, 1, SignalOp::Add, HOME)?;
        }
    ),
    message!(
        "MP+put_signal",
        "put_signal data, flag ∥ wait_until flag; read data",
        |b, set| {
            let data = b.data.slice(set * DATA..(set + 1) * DATA)?;
            b.rt.put_signal(data, &[7u64; DATA], b.y(set)?, 1, SignalOp::Set, HOME)?;
        }
    ),
    message!(
        "MP+put_signal_nbi",
        "put_signal_nbi data, flag ∥ wait_until flag; read data",
        |b, set| {
            let data = b.data.slice(set * DATA..(set + 1) * DATA)?;
            b.rt.put_signal_nbi(data, &[7u64; DATA], b.y(set)?, 1, SignalOp::Set, HOME)?;
        }
    ),
    message!(
        "MP+fence+atomic",
        "put data; fence; atomic_inc flag ∥ wait_until flag; read data",
        |b, set| {
            send(b, set)?;
            b.rt.fence()?;
            b.rt.atomic_inc(b.y(set)?, HOME)?;
        }
    ),
    message!(
        "MP+signal_wait",
        "put data; signal_op flag ∥ signal_wait flag; read data",
        MESSAGE,
        |b, set| {
            send(b, set)?;
            b.rt.signal_op(b.y(set)?, 1, SignalOp::Set, HOME)?;
        },
        Ok([b.rt.signal_wait(b.y(set)?, Cmp::Ne, 0)?, received(b, set)?])
    ),
    message!(
        "MP+test",
        "put data; fence; p flag ∥ test flag once; if seen, read data",
        GLANCE,
        |b, set| {
            send(b, set)?;
            b.rt.fence()?;
            b.rt.p(b.y(set)?, 1, HOME)?;
        },
        glance(b, set, b.rt.test(b.y(set)?, Cmp::Ne, 0)?)
    ),
    message!(
        "MP+atomics",
        "put data; atomic_set flag ∥ atomic_fetch flag once; if seen, read data",
        GLANCE,
        |b, set| {
            send(b, set)?;
            b.rt.atomic_set(b.y(set)?, 1, HOME)?;
        },
        glance(b, set, b.rt.atomic_fetch(b.y(set)?, HOME)? == 1)
    ),
    crossed!(
        "SB+quiet",
        "p x; quiet; g y ∥ p y; quiet; g x",
        SB_QUIET,
        |b, own, other| {
            b.rt.p(own, 1, HOME)?;
            b.rt.quiet()?;
            b.rt.g(other, HOME)?
        }
    ),
    crossed!(
        "SB+atomics+quiet",
        "atomic_set x; quiet; atomic_fetch y ∥ the same with y, x",
        SB_QUIET,
        |b, own, other| {
            b.rt.atomic_set(own, 1, HOME)?;
            b.rt.quiet()?;
            b.rt.atomic_fetch(other, HOME)?
        }
    ),
    crossed!(
        "SB+fence",
        "p x; fence; g y ∥ p y; fence; g x",
        SB_WEAK,
        |b, own, other| {
            b.rt.p(own, 1, HOME)?;
            b.rt.fence()?;
            b.rt.g(other, HOME)?
        }
    ),
    crossed!(
        "SB+swap",
        "atomic_swap x; atomic_fetch y ∥ the same with y, x",
        SB_ATOMIC,
        |b, own, other| {
            b.rt.atomic_swap(own, 1, HOME)?;
            b.rt.atomic_fetch(other, HOME)?
        }
    ),
    crossed!("LB", "g x; p y ∥ g y; p x", LB_WEAK, |b, own, other| {
        let read = b.rt.g(own, HOME)?;
        b.rt.p(other, 1, HOME)?;
        read
    }),
    crossed!(
        "LB+atomics",
        "atomic_fetch x; atomic_set y ∥ the same with y, x",
        LB_ATOMIC,
        |b, own, other| {
            let read = b.rt.atomic_fetch(own, HOME)?;
            b.rt.atomic_set(other, 1, HOME)?;
            read
        }
    ),
    independent!(
        "IRIW+set+fetch",
        "atomic_set x ∥ atomic_set y ∥ atomic_fetch x, y ∥ atomic_fetch y, x",
        IRIW_WEAK,
        |b, word| b.rt.atomic_set(word, 1, HOME),
        b.rt.atomic_fetch(word, HOME)
    ),
    independent!(
        "IRIW+swap+fetch_add",
        "atomic_swap x ∥ atomic_swap y ∥ atomic_fetch_add 0 to x, y ∥ to y, x",
        IRIW_ATOMIC,
        |b, word| b.rt.atomic_swap(word, 1, HOME),
        b.rt.atomic_fetch_add(word, 0, HOME)
    ),
    Litmus {
        name: "CoRR",
        program: "p x = 1; p x = 2 ∥ g x; g x",
        n_pes: 2,
        meets: false,
        body: |b, pe, set| {
            let x = b.x(set)?;
            if pe == 0 {
                b.rt.p(x, 1, HOME)?;
                b.rt.p(x, 2, HOME)?;
                return Ok(NONE);
            }
            Ok([b.rt.g(x, HOME)?, b.rt.g(x, HOME)?])
        },
        outcomes: &[
            outcome(
                "the second is not older",
                Allowed,
                |s| s.read[1][0] <= s.read[1][1],
                reader(0, 2),
            ),
            outcome(
                "the second is older",
                Forbidden,
                |s| s.read[1][0] > s.read[1][1],
                reader(2, 1),
            ),
        ],
    },
    Litmus {
        name: "2+2W+fence",
        program: "p x = 1; fence; p y = 2 ∥ p y = 1; fence; p x = 2",
        n_pes: 2,
        meets: false,
        body: |b, pe, set| {
            let (x, y) = (b.x(set)?, b.y(set)?);
            let (first, second) = if pe == 0 { (x, y) } else { (y, x) };
            b.rt.p(first, 1, HOME)?;
            b.rt.fence()?;
            b.rt.p(second, 2, HOME)?;
            Ok(NONE)
        },
        outcomes: &[
            outcome(
                "x = 1, y = 1",
                Forbidden,
                |s| s.x == 1 && s.y == 1,
                seen([NONE; 4], 1, 1),
            ),
            outcome(
                "x = 2 or y = 2",
                Allowed,
                |s| s.x == 2 || s.y == 2,
                seen([NONE; 4], 2, 1),
            ),
        ],
    },
    Litmus {
        name: "put+barrier+get",
        program: "put data to PE 1; barrier; get data from the other",
        n_pes: 2,
        meets: true,
        body: |b, pe, set| {
            if pe == 0 {
                send(b, set)?;
            }
            b.rt.barrier_all()?;
            let mut words = [0u64; DATA];
            b.rt.get(
                &mut words,
                b.data.slice(set * DATA..(set + 1) * DATA)?,
                HOME,
            )?;
            Ok([words.iter().all(|&word| word == 7).into(), 0])
        },
        outcomes: &[
            outcome(
                "all of it, on both",
                Allowed,
                |s| s.read[0][0] == 1 && s.read[1][0] == 1,
                pair(1, 1),
            ),
            outcome(
                "not all",
                Forbidden,
                |s| s.read[0][0] + s.read[1][0] < 2,
                pair(1, 0),
            ),
        ],
    },
    Litmus {
        name: "put+atomic",
        program: "p x = 100 ∥ atomic_fetch_add 1 to x",
        n_pes: 2,
        meets: false,
        body: |b, pe, set| {
            match pe {
                0 => b.rt.p(b.x(set)?, 100, HOME)?,
                _ => drop(b.rt.atomic_fetch_add(b.x(set)?, 1, HOME)?),
            }
            Ok(NONE)
        },
        outcomes: &[
            outcome(
                "x = 100 or 101",
                Allowed,
                |s| s.x == 100 || s.x == 101,
                seen([NONE; 4], 101, 0),
            ),
            outcome(
                "x = 1: the put was lost",
                Forbidden,
                |s| s.x == 1,
                seen([NONE; 4], 1, 0),
            ),
        ],
    },
    untorn!("1 byte", "p old, new ∥ g", u8),
    untorn!("2 bytes", "p old, new ∥ g", u16),
    untorn!("4 bytes", "p old, new ∥ g", u32),
    untorn!("8 bytes", "p old, new ∥ g", u64),
];
