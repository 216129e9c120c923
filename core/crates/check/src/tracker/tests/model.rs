//! The rules once more, slowly: every access is kept, every PE knows a clock for each event, nothing is lost.

use super::*;

/// A clock: for each PE, up to which of its events.
type Clock = Vec<u64>;

/// The knowledge of a PE.
#[derive(Clone, Debug)]
pub(super) struct Known {
    seen: Clock,
    done: Clock,
    /// By owner of the memory: puts that have arrived there.
    came: Vec<Clock>,
}

fn join(into: &mut Clock, from: &Clock) {
    for (into, from) in into.iter_mut().zip(from) {
        *into = (*into).max(*from);
    }
}

impl Known {
    fn nothing(n: usize) -> Known {
        Known {
            seen: vec![0; n],
            done: vec![0; n],
            came: vec![vec![0; n]; n],
        }
    }

    fn learn(&mut self, other: &Known) {
        join(&mut self.seen, &other.seen);
        join(&mut self.done, &other.done);
        for (into, from) in self.came.iter_mut().zip(&other.came) {
            join(into, from);
        }
    }
}

/// An access that was made.
#[derive(Clone, Debug)]
struct Made {
    pe: usize,
    event: u64,
    kind: Kind,
    owner: usize,
    start: u64,
    end: u64,
    site: u16,
    delivered: bool,
    /// The PEs that have seen its value in a word, the number of the event, and the word.
    marks: Vec<(usize, u64, u64)>,
}

/// The model of a job. `loose`: that a value was seen in a word, or a flag on another PE, counts for everybody, stores may be
/// flags, operations before them have arrived, and operations between which nothing is published or ordered are one event. The tracker lies between the two.
pub(super) struct Model {
    n: usize,
    loose: bool,
    events: Clock,
    /// Whether something was published since the last event that is numbered.
    released: Vec<bool>,
    fences: Clock,
    known: Vec<Known>,
    made: Vec<Made>,
    /// The publications with each word.
    words: HashMap<(usize, u64), Known>,
    /// Arrivals that others than the owner have noticed.
    noticed: Vec<Clock>,
}

/// The publication of an operation when it takes effect.
#[derive(Clone, Debug)]
pub(super) struct Published {
    known: Known,
    /// The access, if it is in the list.
    access: usize,
}

/// Two accesses in conflict: the sites, the earlier one's with its PE.
pub(super) type Pair = (u16, Pe, u16);

impl Model {
    pub(super) fn new(n: usize, loose: bool) -> Model {
        Model {
            n,
            loose,
            events: vec![1; n],
            released: vec![false; n],
            fences: vec![0; n],
            known: vec![Known::nothing(n); n],
            made: Vec::new(),
            words: HashMap::new(),
            noticed: vec![vec![0; n]; n],
        }
    }

    /// The number of the current event.
    fn event(&mut self, pe: usize) -> u64 {
        self.known[pe].seen[pe] = self.events[pe];
        self.events[pe]
    }

    fn next(&mut self, pe: usize) {
        self.events[pe] += 1;
        self.released[pe] = false;
    }

    /// Whether `made` came before the current event of `pe`, to one word.
    fn ordered(&self, pe: usize, made: &Made, word: u64) -> bool {
        let known = &self.known[pe];
        let (q, event) = (made.pe, made.event);
        let saw = known.seen[q] >= event;
        if known.done[q] >= event {
            return true;
        }
        match made.kind {
            Kind::GetNbi => false,
            Kind::Put | Kind::PutSignal | Kind::Atomic => {
                let came = known.came[made.owner][q];
                let noticed = self.loose && self.noticed[made.owner][q] >= event;
                let seen = |&(who, when, at): &(usize, u64, u64)| {
                    at == word && (self.loose || known.seen[who] >= when)
                };
                noticed || saw && (came >= event || made.marks.iter().any(seen))
            }
            _ => saw,
        }
    }

    /// An access; returns its conflicts.
    pub(super) fn access(
        &mut self,
        kind: Kind,
        pe: usize,
        owner: usize,
        start: u64,
        bytes: u64,
        site: u16,
    ) -> Vec<Pair> {
        let over = !matches!(kind, Kind::GetNbi | Kind::Put | Kind::Atomic);
        if !self.loose || over && self.released[pe] {
            self.next(pe);
        }
        let event = self.event(pe);
        let end = start + bytes;
        let conflicts = |made: &&Made| {
            let overlap = made.owner == owner && made.start < end && start < made.end;
            let kinds = match made.pe == pe {
                true => match made.kind {
                    Kind::Put | Kind::PutSignal => kind.reads() || kind == Kind::Store,
                    Kind::Atomic => kind.reads() && !kind.is_atomic(),
                    _ => false,
                },
                false => {
                    (made.kind.writes() || kind.writes())
                        && !(made.kind.is_atomic() && kind.is_atomic())
                }
            };
            let mut words = start.max(made.start) / 8..end.min(made.end).div_ceil(8);
            overlap && kinds && !words.all(|word| self.ordered(pe, made, word))
        };
        let found = self.made.iter().filter(conflicts);
        let pairs = found.map(|made| (site, made.pe as Pe, made.site)).collect();
        self.made.push(Made {
            pe,
            event,
            kind,
            owner,
            start,
            end,
            site,
            delivered: false,
            marks: Vec::new(),
        });
        pairs
    }

    /// The last access publishes something.
    pub(super) fn release(&mut self, pe: usize, owner: usize, fenced: bool) -> Published {
        let mut known = self.known[pe].clone();
        let fence = if fenced {
            self.events[pe]
        } else {
            self.fences[pe]
        };
        let came = &mut known.came[owner][pe];
        *came = (*came).max(fence);
        self.released[pe] = true;
        let kind = self.made[self.made.len() - 1].kind;
        if self.loose && matches!(kind, Kind::Store | Kind::PutSignal) {
            let noticed = &mut self.noticed[owner][pe];
            *noticed = (*noticed).max(fence);
        }
        if fenced {
            self.next(pe);
        }
        Published {
            known,
            access: self.made.len() - 1,
        }
    }

    /// The last access is a store, which may be a flag.
    pub(super) fn stored(&mut self, pe: usize, owner: usize, start: u64, bytes: u64) {
        if self.loose {
            let before = self.released[pe];
            let published = self.release(pe, owner, false);
            self.released[pe] = before;
            self.delivered(owner, start, bytes, &published);
        }
    }

    pub(super) fn delivered(
        &mut self,
        owner: usize,
        start: u64,
        bytes: u64,
        published: &Published,
    ) {
        self.made[published.access].delivered = true;
        let n = self.n;
        for word in start / 8..(start + bytes).div_ceil(8) {
            self.words
                .entry((owner, word))
                .or_insert_with(|| Known::nothing(n))
                .learn(&published.known);
        }
    }

    pub(super) fn acquire(&mut self, pe: usize, owner: usize, offset: u64) {
        if let Some(word) = self.words.get(&(owner, offset / 8)) {
            self.known[pe].learn(word);
            if pe != owner {
                join(&mut self.noticed[owner], &word.came[owner]);
            }
        }
        if !self.loose {
            self.next(pe);
        }
        let event = self.event(pe);
        for made in &mut self.made {
            let here = made.owner == owner && made.start < offset + 8 && offset < made.end;
            if here && made.delivered {
                made.marks.push((pe, event, offset / 8));
            }
        }
    }

    pub(super) fn fence(&mut self, pe: usize) {
        self.fences[pe] = self.event(pe);
        self.next(pe);
    }

    pub(super) fn quiet(&mut self, pe: usize) {
        let event = self.event(pe);
        self.fences[pe] = event;
        self.known[pe].done[pe] = event;
        self.next(pe);
    }

    pub(super) fn meet(&mut self, members: &[Pe], completing: bool) {
        let mut all = Known::nothing(self.n);
        for &pe in members {
            if completing {
                self.quiet(pe as usize);
            }
            self.event(pe as usize);
            all.learn(&self.known[pe as usize]);
            self.next(pe as usize);
        }
        for &pe in members {
            self.known[pe as usize].learn(&all);
            self.event(pe as usize);
            self.next(pe as usize);
        }
    }
}
