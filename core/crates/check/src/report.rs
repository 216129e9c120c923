//! Findings and their texts.
//!
//! A finding is printed once for each pair of sites, in one block with one write, and counted from then on:
//!
//! ```text
//! nvshmemrs check: PE 1: data is read that may not have arrived: nothing orders the put of PE 0 before the get of PE 1
//!   PE 1 reads 64 bytes: get at heat.c:88 (exchange)
//!   PE 0 writes 64 bytes: put at heat.c:71 (send_halo)
//!   where: on PE 1, from byte 0x400 on of the block of 4096 bytes of malloc at heat.c:31 (main)
//!   why: PE 1 saw the flag of p at heat.c:73 (send_halo), in wait_until at heat.c:86 (exchange), but the put comes after the p, or there is no fence between them
//!   remedy: put, fence, p, in this order; or put_signal
//!   (finding 1 of PE 1; seed 1234)
//! ```

use crate::Pe;
use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::sync::{Mutex, MutexGuard};

/// The kinds of problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Problem {
    /// A read of data that another PE writes, unordered; or of data that was put and may not have arrived.
    ReadEarly,
    /// A write of data that another PE reads, unordered.
    WriteEarly,
    /// Two writes of two PEs, unordered.
    WriteWrite,
    /// The source of put_nbi was changed before quiet.
    SourceReused,
    /// The dest of get_nbi was used before quiet.
    DestUsed,
    /// A value that a wait asks for is overwritten by an operation that is not ordered after the wait.
    Missed,
    /// A put to a block that is freed, which its PE has ordered before nothing.
    FreeEarly,
    /// The data of a get_nbi was not there when its block was freed.
    FreePending,
    /// A put of the PE's own, read back before quiet.
    ReadBack,
    /// Two puts of one PE to one place, with different bytes and without a fence.
    TwoPuts,
    /// Atomic and plain access to a word, unordered.
    Mixed,
    /// Accesses of a stream and its caller to one place, unordered.
    StreamCaller,
    /// Accesses of two streams of a PE to one place, unordered.
    TwoStreams,
    /// Memory that is used after its block was freed.
    Freed,
    /// Members of a team come to one collective with different calls.
    Unmatched,
}

/// One of the two operations of a finding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AccessInfo {
    pub(crate) pe: Pe,
    /// "reads", "writes", "waits for", ...
    pub(crate) does: &'static str,
    /// Its bytes; 0 if they do not matter.
    pub(crate) bytes: u64,
    /// A site of `pe`'s.
    pub(crate) site: u16,
}

/// Which memory it is about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FindingPlace {
    /// `offset` of `pe`'s part.
    Symmetric { pe: Pe, offset: u64 },
    /// Memory of this process that is not symmetric.
    Private { address: u64 },
    /// No memory, but a collective of a team.
    Team { number: u32 },
}

/// A finding.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) problem: Problem,
    pub(crate) place: FindingPlace,
    /// The current operation of this PE.
    pub(crate) now: AccessInfo,
    /// The earlier or simultaneous operation.
    pub(crate) other: AccessInfo,
    /// The known order of the two.
    pub(crate) why: String,
    /// The remedy; empty for the usual one.
    pub(crate) remedy: String,
    /// Whether nothing at all is known of the order of the two: then which came second is luck.
    pub(crate) unordered: bool,
}

/// The numbers by which findings of one cause are recognised: two with a number in common, except 0, count as one problem.
///
/// Which PE makes a finding, and which of the two operations comes first, is luck. So findings are of one problem if they are between the
/// same two sites; and if they are of one kind, in one block, and have a site in common. A missing order, such as that of a lock that
/// does not work, shows at any pair of lines that it should have kept apart: then the same two functions are enough.
pub(crate) type Keys = [u64; 4];

fn key(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish() | 1
}

/// The function in a site's name, if the name has one: of "put at heat.c:71 (send_halo)", or "put at send_halo+0x1c in ./heat".
fn function(name: &str) -> Option<&str> {
    let (_, place) = name.split_once(" at ")?;
    match place.strip_suffix(')') {
        Some(rest) => rest.rsplit_once(" (").map(|(_, function)| function),
        None => {
            let (function, rest) = place.split_once("+0x")?;
            (rest.contains(" in ") && !function.contains('/')).then_some(function)
        }
    }
}

/// Whether a problem was reported before, on any PE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reported {
    /// It is new.
    No,
    /// It was, between other places.
    Elsewhere,
    /// It was, between these places.
    Here,
}

/// Names for the reports.
pub(super) trait Names {
    /// Calls `tell` with whether a problem with these keys was reported before, and whether one with the key `exact`. From now on it was.
    /// Other PEs wait meanwhile, so that a report comes before the lines that refer to it.
    fn told(&self, keys: Keys, exact: u64, tell: &mut dyn FnMut(Reported));
    /// The block that an offset lies in: where it begins, and the name of the site that allocated it.
    fn block(&self, offset: u64) -> Option<(u64, String)>;
    /// "put at heat.c:71 (send_halo)".
    fn site(&self, pe: Pe, site: u16) -> String;
    /// "on PE 1, from byte 0x400 on of ...".
    fn place(&self, place: FindingPlace) -> String;
}

/// The operation that a site's name begins with.
pub(super) fn operation(name: &str) -> &str {
    name.split_once(" at ").map_or(name, |(first, _)| first)
}

impl Problem {
    /// The title of a report, where `now` and `other` are names of operations, and `order` says that nothing orders them.
    fn title(self, now: &str, other: &str, order: &str) -> String {
        match self {
            Problem::ReadEarly => format!("data is read that may not have arrived: {order}"),
            Problem::WriteEarly => {
                format!("data is written that another PE may still read: {order}")
            }
            Problem::WriteWrite => format!("two PEs write to one place: {order}"),
            Problem::SourceReused => {
                format!("the source of a {other} was changed before quiet")
            }
            Problem::DestUsed => {
                format!("the dest of the {other} is used before quiet, by {now}")
            }
            Problem::Missed => {
                "a wait can miss its value: another value can replace it before the wait sees it"
                    .into()
            }
            Problem::FreeEarly => {
                "a block is freed, and nobody can have used the data put there".into()
            }
            Problem::FreePending => {
                format!("a block is freed before the {other} that uses it is complete")
            }
            Problem::ReadBack => {
                format!("a PE reads its own put before quiet: the {now} may return the old data")
            }
            Problem::TwoPuts => {
                format!(
                    "two puts to one place without a fence between them: the {other} may come after the {now}"
                )
            }
            Problem::Mixed => {
                format!(
                    "a word is used by an atomic and by a plain operation at the same time: {order}"
                )
            }
            Problem::StreamCaller => format!(
                "a stream and its caller use one place, and nothing orders the {now} and the {other}"
            ),
            Problem::TwoStreams => {
                format!("two streams use one place, and no event orders the {now} and the {other}")
            }
            Problem::Freed => format!("memory is used after the {other}"),
            Problem::Unmatched => "the PEs of a team do not call the same collective".into(),
        }
    }

    /// The same where nothing is known of the order of the two, whose names come in an order of their own.
    fn title_unordered(self, one: &str, other: &str) -> String {
        let what = match self {
            Problem::ReadEarly | Problem::WriteEarly => "one place is read and written",
            Problem::WriteWrite => "two PEs write to one place",
            _ => "a word is used by an atomic and by a plain operation at the same time",
        };
        format!("{what}: nothing orders the {one} and the {other}")
    }

    /// A name for programs.
    pub(super) fn id(self) -> &'static str {
        match self {
            Problem::ReadEarly => "read-early",
            Problem::WriteEarly => "write-early",
            Problem::WriteWrite => "two-writers",
            Problem::SourceReused => "source-reused",
            Problem::DestUsed => "dest-used",
            Problem::Missed => "missed-value",
            Problem::FreeEarly => "freed-early",
            Problem::FreePending => "freed-while-pending",
            Problem::ReadBack => "read-back",
            Problem::TwoPuts => "two-puts",
            Problem::Mixed => "mixed-atomic",
            Problem::StreamCaller => "stream-and-caller",
            Problem::TwoStreams => "two-streams",
            Problem::Freed => "use-after-free",
            Problem::Unmatched => "unmatched-collective",
        }
    }

    /// Of which kind it is, where one mistake has several.
    fn kind(self) -> Problem {
        match self {
            // Which of them is seen depends on the order of the accesses and on the PE.
            Problem::WriteEarly
            | Problem::WriteWrite
            | Problem::ReadBack
            | Problem::TwoPuts
            | Problem::Mixed
            | Problem::FreeEarly => Problem::ReadEarly,
            other => other,
        }
    }

    /// The usual remedy.
    fn remedy(self) -> &'static str {
        match self {
            Problem::ReadEarly => {
                "put_signal and signal_wait, or a fence and a flag that is waited for, or a barrier between them"
            }
            Problem::WriteEarly => {
                "a signal from the reader to the writer after the read (signal_op and signal_wait), or a barrier between them"
            }
            Problem::WriteWrite => {
                "quiet, then a signal that the other PE waits for, between them; or a barrier; or atomic operations"
            }
            Problem::SourceReused => "quiet before the source is changed, or put",
            Problem::DestUsed => "quiet before the dest is used, or the blocking operation",
            Problem::Missed => {
                "a comparison that later values satisfy, too (>=), or a signal from the waiting PE, for which the writer waits before it writes again"
            }
            Problem::FreeEarly => "a barrier, or a signal that is waited for, before the free",
            Problem::FreePending => "quiet before the free",
            Problem::ReadBack => {
                "quiet between them; or, if other PEs change it, too, an atomic operation, or a lock"
            }
            Problem::TwoPuts => {
                "a fence between them; or, if another PE is to read the first, a barrier, or a signal from the reader that the writer waits for"
            }
            Problem::Mixed => {
                "atomic operations only, or a barrier between the atomic and the plain ones"
            }
            Problem::StreamCaller => {
                "synchronize the stream, or wait for an event recorded after the operation, before its memory is used"
            }
            Problem::TwoStreams => {
                "an event that is recorded after the first on its stream, and that the other stream waits for"
            }
            Problem::Freed => "free it after its last use",
            Problem::Unmatched => {
                "all members of a team call the same collectives in the same order, with the same arguments"
            }
        }
    }
}

impl Problem {
    /// The usual remedy where nothing orders the two.
    fn remedy_unordered(self) -> &'static str {
        match self {
            Problem::ReadEarly | Problem::WriteEarly => {
                "a barrier between the two; or, if the read needs the new data, put_signal and signal_wait; \
                 if it needs the old data, a signal from the reader (signal_op) that the writer waits for; \
                 if PEs change it in turn, an atomic operation, or a lock"
            }
            other => other.remedy(),
        }
    }
}

impl Finding {
    /// The keys by which findings of the same cause are recognised.
    fn keys(&self, names: &dyn Names) -> Keys {
        let kind = self.problem.kind();
        let mut sites = [self.now, self.other].map(|party| names.site(party.pe, party.site));
        sites.sort_unstable();
        let [one, other] = &sites;
        let pair = key(("pair", kind, one, other));
        let block = match self.place {
            FindingPlace::Symmetric { offset, .. } => names.block(offset),
            FindingPlace::Private { .. } | FindingPlace::Team { .. } => None,
        };
        let Some(block) = block else {
            return [pair, 0, 0, 0];
        };
        let site = |name: &String| key(("site", kind, &block, name));
        let functions = match (kind, function(one), function(other)) {
            (Problem::ReadEarly, Some(one), Some(other)) => {
                key(("functions", &block, one.min(other), one.max(other)))
            }
            _ => 0,
        };
        // A site that a finding has twice is one key, because a second equal key would count as a key of an earlier report.
        let second = if one == other { 0 } else { site(other) };
        [pair, site(one), second, functions]
    }

    /// The key of findings with the same text.
    fn exact_key(&self, names: &dyn Names) -> u64 {
        let problem = match self.problem {
            Problem::WriteEarly if self.unordered => Problem::ReadEarly,
            other => other,
        };
        let mut sites = [self.now, self.other].map(|party| names.site(party.pe, party.site));
        sites.sort_unstable();
        key(("exact", problem, sites))
    }

    /// The problem in one line.
    pub(super) fn title(&self, names: &dyn Names) -> String {
        let now = names.site(self.now.pe, self.now.site);
        let other = names.site(self.other.pe, self.other.site);
        let (now_op, other_op) = (operation(&now), operation(&other));
        match self.problem {
            Problem::StreamCaller | Problem::TwoStreams => {
                let (one, two) = match now < other {
                    true => (now_op, other_op),
                    false => (other_op, now_op),
                };
                self.problem.title(one, two, "")
            }
            _ if self.unordered => {
                let mut both = [(&now, self.now.pe), (&other, self.other.pe)];
                both.sort_unstable();
                let [one, two] = both.map(|(name, pe)| format!("{} of PE {pe}", operation(name)));
                self.problem.title_unordered(&one, &two)
            }
            _ => {
                let order = format!(
                    "nothing orders the {other_op} of PE {} before the {now_op} of PE {}",
                    self.other.pe, self.now.pe
                );
                self.problem.title(now_op, other_op, &order)
            }
        }
    }

    /// The remedy.
    pub(super) fn helps(&self) -> &str {
        match self.remedy.as_str() {
            "" if self.unordered => self.problem.remedy_unordered(),
            "" => self.problem.remedy(),
            special => special,
        }
    }

    /// One line for a problem that was reported before, between other places.
    fn line(&self, me: Pe, names: &dyn Names) -> String {
        let title = self.title(names);
        let title = title.split_once(": ").map_or(&*title, |(title, _)| title);
        let now = names.site(self.now.pe, self.now.site);
        let other = names.site(self.other.pe, self.other.site);
        format!(
            "nvshmemrs check: PE {me}: the same problem once more: {title}: {now}, and {other}\n"
        )
    }

    /// The block of text, but for its last line.
    fn text(&self, me: Pe, names: &dyn Names) -> String {
        let now = names.site(self.now.pe, self.now.site);
        let other = names.site(self.other.pe, self.other.site);
        let title = self.title(names);
        let mut text = format!("nvshmemrs check: PE {me}: {title}\n");
        let amount = |party: &AccessInfo| match party.bytes {
            0 => String::new(),
            1 => " 1 byte".to_string(),
            bytes => format!(" {bytes} bytes"),
        };
        for (party, name) in [(&self.now, &now), (&self.other, &other)] {
            let _ = writeln!(
                text,
                "  PE {} {}{}: {name}",
                party.pe,
                party.does,
                amount(party)
            );
        }
        let _ = writeln!(text, "  where: {}", names.place(self.place));
        if !self.why.is_empty() {
            let _ = writeln!(text, "  why: {}", self.why);
        }
        let _ = writeln!(text, "  remedy: {}", self.helps());
        text
    }
}

/// How many texts are kept.
const KEPT: usize = 100;

/// The findings of a PE.
pub(super) struct Reports {
    me: Pe,
    seed: u64,
    printed: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Findings by problem and sites: this PE's, the other one with its PE.
    by_site: HashMap<(Problem, u16, Pe, u16), usize>,
    /// By problem and the names of the sites: other PEs run the same program.
    by_name: HashMap<(Problem, String, String), usize>,
    /// How often each finding was made.
    counts: Vec<u64>,
    /// The findings that were printed as a whole.
    printed: HashSet<usize>,
    texts: VecDeque<String>,
}

impl Reports {
    pub(super) fn new(me: Pe, seed: u64, printed: bool) -> Reports {
        Reports {
            me,
            seed,
            printed,
            state: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        crate::lock::lock(&self.state)
    }

    /// Counts a finding whose sites are known already; `false` if they are not.
    pub(super) fn repeated(&self, problem: Problem, now: u16, other: (Pe, u16)) -> bool {
        let mut state = self.lock();
        let known = state
            .by_site
            .get(&(problem, now, other.0, other.1))
            .copied();
        if let Some(index) = known {
            state.counts[index] += 1;
        }
        known.is_some()
    }

    /// Takes a finding: prints it if it is a new one, and says so. `counted` is called with its keys, and the finding in JSON, if no PE
    /// has reported it so far.
    pub(super) fn found(
        &self,
        finding: &Finding,
        names: &dyn Names,
        counted: impl FnOnce(Keys, String),
    ) -> bool {
        let (problem, now, other) = (finding.problem, finding.now, finding.other);
        if self.repeated(problem, now.site, (other.pe, other.site)) {
            return false;
        }
        let mut text = finding.text(self.me, names);
        let name = |party: AccessInfo| names.site(party.pe, party.site);
        let key = (problem, name(now), name(other));
        let keys = finding.keys(names);
        let exact = finding.exact_key(names);
        let line = finding.line(self.me, names);
        let json = finding.json(self.me, self.seed, keys, names);
        let mut state = self.lock();
        let known = state.by_name.get(&key).copied();
        let index = known.unwrap_or(state.counts.len());
        state
            .by_site
            .insert((problem, now.site, other.pe, other.site), index);
        if known.is_some() {
            state.counts[index] += 1;
            return false;
        }
        state.counts.push(1);
        state.by_name.insert(key, index);
        let (number, me, seed) = (index + 1, self.me, self.seed);
        let _ = writeln!(text, "  (finding {number} of PE {me}; seed {seed})");
        let mut told = Reported::Here;
        names.told(keys, exact, &mut |reported| {
            told = reported;
            match reported {
                Reported::No => self.print(&text),
                Reported::Elsewhere => self.print(&line),
                Reported::Here => {}
            }
        });
        if told == Reported::No {
            state.printed.insert(index);
        }
        if told != Reported::Here {
            counted(keys, json);
        }
        if state.texts.len() == KEPT {
            state.texts.pop_front();
        }
        state.texts.push_back(text);
        true
    }

    /// Writes a text to standard error, in one go.
    pub(super) fn print(&self, text: &str) {
        if self.printed {
            super::write(text);
        }
    }

    /// The texts of the last findings.
    pub(super) fn texts(&self) -> Vec<String> {
        self.lock().texts.iter().cloned().collect()
    }

    /// The number of different findings of this PE, including findings that another PE has reported.
    pub(super) fn count(&self) -> u64 {
        self.lock().counts.len() as u64
    }

    /// The problems by their sites, and the indices of the findings.
    #[cfg(test)]
    pub(super) fn pairs(&self) -> Vec<(usize, (Problem, u16, Pe, u16))> {
        let state = self.lock();
        let pairs = state.by_site.iter();
        let mut all: Vec<_> = pairs.map(|(key, index)| (*index, *key)).collect();
        all.sort_unstable();
        all
    }

    /// The text about findings that were made more than once.
    pub(super) fn summary(&self) -> Option<String> {
        let state = self.lock();
        let often: Vec<String> = state
            .counts
            .iter()
            .enumerate()
            .filter(|(index, count)| **count > 1 && state.printed.contains(index))
            .map(|(index, count)| format!("finding {} was made {count} times", index + 1))
            .collect();
        (!often.is_empty())
            .then(|| format!("nvshmemrs check: PE {}: {}\n", self.me, often.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_known_by_the_names_of_sites() {
        for (name, expected) in [
            ("put at heat.c:71 (send_halo)", Some("send_halo")),
            ("put at heat (2).c:71 (f(int))", Some("f(int)")),
            ("put at send_halo+0x1c in ./heat", Some("send_halo")),
            ("put at ./heat+0x11f4", None),
            ("put at src/heat.rs:71", None),
            ("an operation at a place that is not known", None),
        ] {
            assert_eq!(function(name), expected, "{name}");
        }
    }
}
