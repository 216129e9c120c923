use super::*;
use std::collections::HashMap;

const N_PES: Pe = 3;

/// An operation, as the tests know it.
#[derive(Clone, Copy, Debug)]
struct Op {
    number: usize,
    target_range: TargetRange,
    fences: u32,
    word: bool,
    after_puts: bool,
    /// The number of a signal's data.
    data: Option<usize>,
}

/// A queue, and the fate of the operations that were given to it.
struct Bench {
    queue: Queue<Op>,
    random: Random,
    issued: Vec<Op>,
    delivered: Vec<usize>,
    /// For each operation, how many ticks after its issue it was due.
    delays: Vec<u64>,
}

impl Bench {
    /// `seed` is the queue's; `program` chooses the operations.
    fn new(seed: u64, program: u64) -> Bench {
        Bench {
            queue: Queue::new(seed, N_PES, 1 << 20),
            random: Random::new(program),
            issued: Vec::new(),
            delivered: Vec::new(),
            delays: Vec::new(),
        }
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.random.next() % limit
    }

    /// Gives an operation to the queue, as the checker does.
    fn issue(
        &mut self,
        target_range: TargetRange,
        word: bool,
        after: After,
        data: Option<usize>,
    ) -> u64 {
        let op = Op {
            number: self.issued.len(),
            target_range,
            fences: self.queue.fences(),
            word,
            after_puts: after == After::Puts,
            data,
        };
        self.issued.push(op);
        let (queue, delivered) = (&mut self.queue, &mut self.delivered);
        queue.tick(|op| delivered.push(op.number));
        let overlapping = queue.overlapping(target_range);
        if overlapping != 0 {
            queue.settle(overlapping, |op| delivered.push(op.number));
        }
        let due = queue.draw(target_range.pe, after, word);
        self.delays.push(due - queue.now());
        if due > queue.now() {
            queue.hold(due, Some(target_range), word, 8, op);
        } else {
            delivered.push(op.number);
        }
        due
    }

    fn target_range(&mut self, word: bool) -> TargetRange {
        let bytes = match self.below(4) {
            _ if word => 8,
            0 => 300,
            1 => 24,
            _ => 8,
        };
        TargetRange {
            pe: self.below(N_PES as u64) as Pe,
            offset: 8 * self.below(if word { 8 } else { 400 }),
            bytes,
        }
    }

    fn step(&mut self) {
        match self.below(16) {
            0 | 1 => self.queue.fence(),
            2..=4 => {
                let target_range = self.target_range(true);
                self.issue(target_range, true, After::Puts, None);
            }
            5 | 6 => {
                let target_range = self.target_range(false);
                let data = self.issued.len();
                let due = self.issue(target_range, false, After::Fences, None);
                let offset = 8 * self.below(8);
                let signal = TargetRange {
                    offset,
                    bytes: 8,
                    ..target_range
                };
                self.issue(signal, true, After::Tick(due), Some(data));
            }
            _ => {
                let target_range = self.target_range(false);
                self.issue(target_range, false, After::Fences, None);
            }
        }
    }

    /// Delivers some early, in one of the ways in which that happens.
    fn hurry(&mut self, how: u64) {
        let (queue, delivered) = (&mut self.queue, &mut self.delivered);
        let deliver = |op: &mut Op| delivered.push(op.number);
        match how {
            0 => queue.deliver_next(deliver),
            1 => queue.deliver_issued_until(queue.now().saturating_sub(5), deliver),
            2 => queue.deliver_until(queue.now() + 3, deliver),
            _ => {}
        }
    }

    /// Checks the order in which everything was delivered.
    fn check(&mut self) {
        let (queue, delivered) = (&mut self.queue, &mut self.delivered);
        queue.deliver_all(|op| delivered.push(op.number));
        assert!(queue.is_empty() && queue.bytes == 0 && queue.known == 0);
        assert!(queue.occupied.narrow.iter().all(|&count| count == 0) && queue.occupied.wide == 0);
        let places: HashMap<usize, usize> = self.delivered.iter().copied().zip(0..).collect();
        assert_eq!(places.len(), self.issued.len(), "each once");
        assert_eq!(self.delivered.len(), self.issued.len(), "once each");
        for (index, later) in self.issued.iter().enumerate() {
            for earlier in &self.issued[index.saturating_sub(200)..index] {
                let (a, b) = (earlier.target_range, later.target_range);
                let one_pe = a.pe == b.pe;
                let overlap = a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
                let ordered = one_pe
                    && (earlier.fences < later.fences
                        || overlap
                        || later.after_puts && !earlier.word)
                    || later.data == Some(earlier.number);
                assert!(
                    !ordered || places[&earlier.number] < places[&later.number],
                    "{later:?} came before {earlier:?}"
                );
            }
        }
    }
}

#[test]
fn what_is_ordered_stays_in_order() {
    for seed in 0..200 {
        let mut bench = Bench::new(seed, seed ^ 0x5eed);
        for _ in 0..400 {
            bench.step();
            if seed % 2 == 0 {
                let how = bench.random.next() % 20;
                bench.hurry(how);
            }
        }
        bench.check();
    }
}

#[test]
fn what_is_not_ordered_changes_places() {
    let mut swapped = 0;
    let mut longest = 0;
    for seed in 0..50 {
        let mut bench = Bench::new(seed, seed);
        for number in 0..100 {
            let target_range = TargetRange {
                pe: 1,
                offset: 8 * number,
                bytes: 8,
            };
            bench.issue(target_range, false, After::Fences, None);
        }
        longest = longest.max(*bench.delays.iter().max().unwrap());
        bench.check();
        swapped += bench
            .delivered
            .windows(2)
            .filter(|two| two[0] > two[1])
            .count();
    }
    assert!(swapped > 500, "{swapped} of 4950 neighbours");
    assert_eq!(longest, LONGEST);
}

#[test]
fn the_draws_follow_from_seed_and_operations() {
    let delays = |seed, hurry| {
        let mut bench = Bench::new(seed, 77);
        for step in 0..300 {
            bench.step();
            if hurry {
                bench.hurry(step % 3);
            }
        }
        bench.delays
    };
    for seed in 0..20 {
        let once = delays(seed, false);
        assert_eq!(once, delays(seed, false));
        assert_eq!(once, delays(seed, true), "early delivery changed the draws");
        assert_ne!(once, delays(seed + 1, false));
    }
}

#[test]
fn a_fetch_waits_for_what_it_must_see() {
    for seed in 0..100 {
        let mut bench = Bench::new(seed, seed);
        let word = |offset| TargetRange {
            pe: 0,
            offset,
            bytes: 8,
        };
        bench.issue(word(0), true, After::Puts, None);
        bench.issue(word(64), true, After::Puts, None);
        bench.issue(word(128), false, After::Fences, None);
        let (queue, delivered) = (&mut bench.queue, &mut bench.delivered);
        let until = queue.before_fetch(word(0), true);
        queue.deliver_until(until, |op| delivered.push(op.number));
        assert!(delivered.contains(&0));
        let until = queue.before_fetch(word(256), false);
        queue.deliver_until(until, |op| delivered.push(op.number));
        assert!(delivered.contains(&2), "an update comes after all puts");
        let until = queue.before_fetch(word(128), true);
        assert_eq!(until, 0, "a read does not wait for a put");
    }
}

#[test]
fn bytes_are_limited() {
    let mut bench = Bench::new(3, 3);
    assert!(bench.queue.has_room(1 << 20));
    assert!(!bench.queue.has_room((1 << 20) + 1));
    for _ in 0..1000 {
        bench.step();
        let held = bench.queue.held.count_ones() as usize;
        assert!(bench.queue.bytes >= 8 * held && bench.queue.bytes <= 8 * SLOTS as usize);
    }
    bench.queue.forget();
    assert!(bench.queue.is_empty() && bench.queue.bytes == 0);
}
