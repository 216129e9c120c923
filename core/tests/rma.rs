//! One-sided operations on 1 to 4 PEs: alignments, the order of data and signals, and wrong arguments. `tests/conformance/suite` has every
//! operation and type.

use nvshmemrs::{Cmp, Error, SignalOp, local};

/// Whether PEs can load and store each other's memory. In the core's unit tests this file's jobs of two PEs are on two hosts.
fn shared() -> bool {
    env!("CARGO_CRATE_NAME") != "nvshmemrs"
}

const LEN: usize = 12;

/// The suite covers every type and operation; this is every alignment of a short copy.
#[test]
fn put_and_get_of_every_length_and_position() {
    for n in 1..=4 {
        local::run(n, |rt| {
            let (me, n) = (rt.my_pe(), rt.n_pes());
            let (right, left) = ((me + 1) % n, (me + n - 1) % n);
            let sample = |pe: i32, index: usize| pe as u8 * 16 + index as u8 + 1;
            let array = rt.array::<u8>(LEN)?;
            let mine: Vec<u8> = (0..LEN).map(|index| sample(me, index)).collect();
            for start in 0..4 {
                for len in 1..=LEN - 1 - start {
                    rt.put(array.slice(start..start + len)?, &mine[..len], right)?;
                    rt.barrier_all()?;
                    for (index, value) in array.to_vec()?.into_iter().enumerate() {
                        let expected = match index.checked_sub(start) {
                            Some(from) if from < len => sample(left, from),
                            _ => 0,
                        };
                        assert_eq!(
                            value, expected,
                            "element {index} after put of {len} at {start}"
                        );
                    }
                    let mut back = vec![0; len + 1];
                    rt.get(&mut back[..len], array.slice(start..start + len)?, right)?;
                    assert_eq!(back[..len], mine[..len]);
                    assert_eq!(back[len], 0, "get wrote past its end");
                    rt.barrier_all()?;
                    array.write(0, &[0; LEN])?;
                    rt.barrier_all()?;
                }
            }
            rt.finalize()
        })
        .unwrap();
    }
}

#[test]
fn who_sees_the_signal_sees_the_data() {
    local::run(3, |rt| {
        let (me, n) = (rt.my_pe(), rt.n_pes());
        let right = (me + 1) % n;
        let data = rt.array::<u64>(512)?;
        let signals = rt.array::<u64>(3)?;
        for round in 1..=2000u64 {
            rt.put_signal(
                data.all(),
                &vec![round; 512],
                signals.at(1)?,
                round,
                SignalOp::Set,
                right,
            )?;
            assert_eq!(rt.signal_wait(signals.at(1)?, Cmp::Ge, round)?, round);
            let copy = data.to_vec()?;
            assert!(
                copy.iter().all(|&value| value == round),
                "round {round}: {:?}",
                &copy[..4]
            );
            rt.signal_op(signals.at(2)?, 1, SignalOp::Add, (me + n - 1) % n)?;
            rt.signal_wait(signals.at(2)?, Cmp::Eq, round)?;
        }
        assert_eq!(
            rt.signal_fetch(signals.at(0)?)?,
            0,
            "a signal touched its neighbour"
        );
        rt.barrier_all()?;
        rt.put_signal_nbi(
            data.slice(0..1)?,
            &[7u64],
            signals.at(0)?,
            5,
            SignalOp::Add,
            right,
        )?;
        assert_eq!(rt.signal_wait(signals.at(0)?, Cmp::Ne, 0)?, 5);
        assert_eq!(data.load(0)?, 7);
        rt.finalize()
    })
    .unwrap();
}

#[test]
fn every_comparison_wakes_at_the_right_value() {
    local::run(2, |rt| {
        let signal = rt.array::<u64>(1)?;
        for cmp in Cmp::ALL {
            for (start, end, value) in [(5u64, 9, 7), (9, 5, 7), (7, 5, 7), (5, 7, 7)] {
                if cmp.holds(start, value) || !cmp.holds(end, value) {
                    continue;
                }
                signal.store(0, start)?;
                rt.barrier_all()?;
                if rt.my_pe() == 0 {
                    rt.signal_op(signal.at(0)?, end, SignalOp::Set, 1)?;
                } else {
                    assert_eq!(rt.signal_wait(signal.at(0)?, cmp, value)?, end, "{cmp:?}");
                }
                rt.barrier_all()?;
            }
        }
        rt.finalize()
    })
    .unwrap();
}

#[test]
fn wrong_arguments_name_argument_value_and_limit() {
    local::run(2, |rt| {
        let n = rt.n_pes();
        let array = rt.array::<f64>(10)?;
        let signal = rt.array::<u64>(1)?;
        for pe in [-1, n, i32::MAX, i32::MIN] {
            let errors = [
                rt.put(array.slice(0..1)?, &[1.0f64], pe).unwrap_err(),
                rt.get(&mut [0.0f64], array.slice(0..1)?, pe).unwrap_err(),
                rt.p(array.at(0)?, 1.0, pe).unwrap_err(),
                rt.g(array.at(0)?, pe).unwrap_err(),
                rt.signal_op(signal.at(0)?, 1, SignalOp::Set, pe)
                    .unwrap_err(),
                rt.atomic_fetch_add(signal.at(0)?, 1, pe).unwrap_err(),
                rt.put_signal(
                    array.slice(0..1)?,
                    &[1.0f64],
                    signal.at(0)?,
                    1,
                    SignalOp::Set,
                    pe,
                )
                .unwrap_err(),
            ];
            for error in errors {
                assert_eq!(
                    error,
                    Error::PeRange {
                        argument: "pe",
                        pe: pe.into(),
                        n_pes: n
                    }
                );
                assert!(error.to_string().contains(&format!("PE {pe}")), "{error}");
            }
        }
        let error = rt.put(array.slice(0..2)?, &[1.0f64], 0).unwrap_err();
        assert!(
            error.to_string().contains("must be 8 bytes") && error.to_string().contains("16 bytes"),
            "{error}"
        );
        assert!(matches!(
            array.slice(5..11).unwrap_err(),
            Error::OutOfBounds {
                start: 40,
                bytes: 48,
                limit: 80,
                ..
            }
        ));
        assert!(
            array.at(10).is_err()
                && array.read(9, &mut [0.0; 2]).is_err()
                && array.write(11, &[]).is_err()
        );

        // As a C caller passes addresses.
        let base = array.as_ptr() as u64;
        assert!(rt.symmetric("dest", base, 80).is_ok());
        let past = rt.symmetric("dest", base, 81).unwrap_err();
        assert_eq!(
            past,
            Error::OutOfBounds {
                argument: "dest",
                start: 0,
                bytes: 81,
                limit: 80
            }
        );
        assert!(rt.symmetric("dest", base + 72, usize::MAX).is_err());
        let local = 0u64;
        let stack = &raw const local as u64;
        for (address, word) in [(0, "NULL"), (stack, "outside"), (base + (1 << 30), "")] {
            let error = rt.symmetric("dest", address, 8).unwrap_err();
            assert_eq!(error.status(), 4, "{error}");
            assert!(error.to_string().contains(word), "{error}");
        }
        let peer = rt.ptr(base, 1 - rt.my_pe())?;
        assert_eq!(peer.is_some(), shared());
        if let Some(peer) = peer {
            let error = rt.symmetric("dest", peer, 8).unwrap_err();
            assert!(error.to_string().contains("part of the heap"), "{error}");
        }
        let odd = rt.element::<u64>("signal", base + 4).unwrap_err();
        assert!(odd.to_string().contains("multiple of 8"), "{odd}");
        assert!(
            rt.check_local("source", base + 8, 80).is_err(),
            "a local buffer ran past its allocation"
        );
        assert!(rt.check_local("source", stack, 8).is_ok());
        // The first PE's part is the lowest.
        if shared() || rt.my_pe() == 0 {
            let whole = base.min(peer.unwrap_or(base));
            let error = rt
                .check_local("source", whole - (1 << 30), 1 << 32)
                .unwrap_err();
            assert!(error.to_string().contains("run into it"), "{error}");
        }
        rt.finalize()
    })
    .unwrap();
}
