//! The deterministic allocator against a plain model: a map of taken bytes.

use nvshmemrs::{Allocator, Block};
use proptest::prelude::*;

/// A quarter of the cases of all models; `NVSHMEMRS_CASES` asks for more than 50000 of them.
fn cases() -> u32 {
    match std::env::var("NVSHMEMRS_CASES") {
        Ok(text) => text.parse::<u32>().expect("NVSHMEMRS_CASES is a number") / 4,
        Err(_) => 12_500,
    }
}

#[derive(Clone, Debug)]
enum Step {
    Allocate { bytes: u64, alignment: u64 },
    Free { which: usize },
    Resize { which: usize, bytes: u64 },
    FreeUnknown { offset: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = prop_oneof![
        1..200u64,
        1..4096u64,
        Just(1 << 14),
        Just(u64::MAX),
        Just(u64::MAX - 63)
    ];
    prop_oneof![
        3 => (bytes, 0..10u32).prop_map(|(bytes, shift)| Step::Allocate { bytes, alignment: 8 << shift }),
        2 => any::<usize>().prop_map(|which| Step::Free { which }),
        1 => (any::<usize>(), 1..4096u64).prop_map(|(which, bytes)| Step::Resize { which, bytes }),
        1 => (0..1u64 << 14).prop_map(|offset| Step::FreeUnknown { offset }),
    ]
}

/// The model: every live block, nothing else.
fn check(allocator: &Allocator, live: &[Block]) {
    let mut blocks = live.to_vec();
    blocks.sort_by_key(|block| block.offset);
    let seen: Vec<Block> = allocator.live().copied().collect();
    assert_eq!(seen, blocks);
    for pair in blocks.windows(2) {
        assert!(
            pair[0].offset + pair[0].taken <= pair[1].offset,
            "blocks overlap: {pair:?}"
        );
    }
    let mut ids: Vec<u32> = blocks.iter().map(|block| block.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), blocks.len(), "an id is used twice");
    // The largest gap between blocks, and the free bytes in all, follow from the blocks alone.
    let mut at = 0;
    let (mut free, mut largest) = (0, 0);
    for (start, end) in blocks
        .iter()
        .map(|block| (block.offset, block.offset + block.taken))
        .chain([(allocator.size(), allocator.size())])
    {
        free += start - at;
        largest = largest.max(start - at);
        at = end;
    }
    assert_eq!(allocator.size() - allocator.used(), free);
    assert_eq!(allocator.largest(), largest);
    assert_eq!(allocator.count(), blocks.len() as u64);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn agrees_with_the_model(
        steps in prop::collection::vec(step(), 1..80),
        quarantine in prop_oneof![Just(0), 64..1u64 << 13],
    ) {
        let mut allocator = Allocator::new(1 << 14).with_quarantine(quarantine);
        let mut twin = Allocator::new(1 << 14).with_quarantine(quarantine);
        let mut live: Vec<Block> = Vec::new();
        for step in steps {
            match step {
                Step::Allocate { bytes, alignment } => {
                    let block = allocator.allocate(bytes, alignment);
                    // Another PE with the same history comes to the same block.
                    prop_assert_eq!(block, twin.allocate(bytes, alignment));
                    match block {
                        Some(block) => {
                            prop_assert_eq!(block.offset % alignment.max(64), 0);
                            prop_assert_eq!(block.bytes, bytes);
                            prop_assert!(block.taken >= bytes && block.taken < bytes + 64);
                            prop_assert!(block.offset + block.taken <= allocator.size());
                            live.push(block);
                        }
                        // With the alignment that every block has, refusal means that no gap is large enough.
                        None if alignment <= 64 => prop_assert!(bytes > allocator.largest()),
                        None => {}
                    }
                }
                Step::Free { which } if !live.is_empty() => {
                    let block = live.swap_remove(which % live.len());
                    prop_assert_eq!(allocator.free(block.offset), Some(block));
                    prop_assert_eq!(twin.free(block.offset), Some(block));
                    prop_assert_eq!(allocator.free(block.offset), None, "a double free was accepted");
                }
                Step::Free { .. } => {}
                Step::Resize { which, bytes } if !live.is_empty() => {
                    let which = which % live.len();
                    let before = live[which];
                    let fits = bytes <= before.taken;
                    let expected = fits.then_some(Block { bytes, ..before });
                    prop_assert_eq!(allocator.resize(before.offset, bytes), expected);
                    prop_assert_eq!(twin.resize(before.offset, bytes), expected);
                    live[which] = expected.unwrap_or(before);
                }
                Step::Resize { which, bytes } => {
                    prop_assert_eq!(allocator.resize(which as u64, bytes), None, "nothing is live");
                }
                Step::FreeUnknown { offset } => {
                    if live.iter().all(|block| block.offset != offset) {
                        prop_assert_eq!(allocator.free(offset), None);
                    }
                    let inside = live.iter().find(|b| (b.offset..b.offset + b.taken).contains(&offset));
                    prop_assert_eq!(allocator.find(offset), inside);
                }
            }
            check(&allocator, &live);
        }
        for block in live {
            allocator.free(block.offset);
        }
        prop_assert_eq!(allocator.largest(), allocator.size(), "freeing everything leaves fragments");
    }
}

#[test]
fn what_is_in_quarantine_is_not_used_again() {
    let mut allocator = Allocator::new(1 << 12).with_quarantine(1 << 10);
    let block = |allocator: &mut Allocator, bytes| allocator.allocate(bytes, 8).expect("room");
    let first = block(&mut allocator, 512);
    allocator.free(first.offset);
    assert!(allocator.is_quarantined(first.offset));
    let second = block(&mut allocator, 512);
    assert_ne!(second.offset, first.offset);
    assert_eq!(allocator.take_left(), []);
    // More than the quarantine holds: the first block leaves it.
    let third = block(&mut allocator, 640);
    allocator.free(third.offset);
    assert_eq!(allocator.take_left(), [(first.offset, 512)]);
    assert!(!allocator.is_quarantined(first.offset));
    // Nothing else fits: the rest leaves it, too.
    allocator.free(second.offset);
    assert_eq!(allocator.take_left(), [(third.offset, 640)]);
    assert_eq!(block(&mut allocator, 1 << 12).offset, 0);
    assert_eq!(allocator.take_left(), [(second.offset, 512)]);
    // A block that is larger than all of it is free at once.
    allocator.free(0);
    assert!(!allocator.is_quarantined(0));
    assert_eq!(allocator.largest(), 1 << 12);
}
