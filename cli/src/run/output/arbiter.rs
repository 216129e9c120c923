//! The order in which streams of several PEs are printed to one output of the launcher.
//!
//! One stream is the current stream: its lines are printed at once, and the other streams wait. So lines that arrive together,
//! such as those of a Python traceback, stay together. The turn of the current stream ends after a short pause, or when another
//! stream has waited too long. Streams take turns in the order in which their lines arrived.

use super::line_buffer::LineBuffer;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// A stream's turn ends after a pause of this length.
const PAUSE: Duration = Duration::from_millis(100);
/// The longest time that another stream waits.
const WAIT: Duration = Duration::from_millis(500);
/// The same limits within a very long line.
const LONG_PAUSE: Duration = Duration::from_secs(1);
const LONG_WAIT: Duration = Duration::from_secs(5);

/// Schedules the streams that are printed to one output.
#[derive(Debug, Default)]
pub(super) struct OutputArbiter {
    current: Option<usize>,
    /// Streams with lines to print.
    queue: VecDeque<usize>,
    /// The stream that has printed the beginning of a line to this output.
    open: Option<usize>,
}

impl OutputArbiter {
    /// Prints the lines that are due of the streams `mine`, which go to this output.
    pub(super) fn print(
        &mut self,
        buffers: &mut [LineBuffer],
        mine: &[usize],
        now: Instant,
    ) -> Vec<u8> {
        for &one in mine {
            let buffer = &mut buffers[one];
            if self.current != Some(one) && buffer.waits.is_none() && buffer.is_due(now) {
                buffer.waits = Some(now);
                self.queue.push_back(one);
            }
        }
        let mut out = Vec::new();
        while let Some(one) = self.current.or_else(|| self.queue.pop_front()) {
            self.current = Some(one);
            buffers[one].waits = None;
            if buffers[one].is_due(now) {
                if let Some(other) = self.open.filter(|&other| other != one) {
                    out.push(b'\n');
                    buffers[other].begun = false;
                }
                buffers[one].drain_into(&mut out);
                self.open = buffers[one].begun.then_some(one);
            }
            if !self.is_over(&buffers[one], buffers, now) {
                break;
            }
            self.current = None;
        }
        out
    }

    /// Whether the turn of the current stream is over.
    fn is_over(&self, current: &LineBuffer, buffers: &[LineBuffer], now: Instant) -> bool {
        let crowded = || self.queue.iter().any(|&one| !buffers[one].has_room());
        current.ended
            || self.ends(current, buffers).is_some_and(|at| at <= now)
            || (!current.long && crowded())
    }

    /// When the turn of the current stream ends, unless more of its output arrives.
    fn ends(&self, current: &LineBuffer, buffers: &[LineBuffer]) -> Option<Instant> {
        let (pause, wait) = match current.long {
            true => (LONG_PAUSE, LONG_WAIT),
            false => (PAUSE, WAIT),
        };
        let first = buffers[*self.queue.front()?].waits?;
        Some((current.last_read + pause).min(first + wait))
    }

    /// When something will be due for printing if no more output arrives.
    pub(super) fn next(&self, buffers: &[LineBuffer], mine: &[usize]) -> Option<Instant> {
        let turn = self
            .current
            .and_then(|one| self.ends(&buffers[one], buffers));
        let waiting = |one: &&usize| buffers[**one].waits.is_none();
        let prompts = mine.iter().filter(waiting);
        let prompts = prompts.filter_map(|&one| buffers[one].prompt());
        prompts.chain(turn).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a script of outputs (ms, stream, text), and returns all printed text with its times.
    fn printed(n: usize, most: usize, said: &[(u64, usize, &str)]) -> Vec<(u64, String)> {
        let start = Instant::now();
        let mut buffers: Vec<LineBuffer> = (0..n)
            .map(|pe| LineBuffer::new("", false, pe == 0, most))
            .collect();
        let mine: Vec<usize> = (0..n).collect();
        let (mut arbiter, mut all) = (OutputArbiter::default(), Vec::new());
        let last = said.last().expect("something is said").0;
        for ms in 0..last + 10_000 {
            let now = start + Duration::from_millis(ms);
            for (_, pe, text) in said.iter().filter(|(at, _, _)| *at == ms) {
                buffers[*pe].append(text.as_bytes(), now);
            }
            let out = arbiter.print(&mut buffers, &mine, now);
            if !out.is_empty() {
                all.push((ms, String::from_utf8(out).expect("text")));
            }
            if let Some(next) = arbiter.next(&buffers, &mine) {
                assert!(next > now, "at {ms} ms there is more to print");
            }
        }
        all
    }

    fn text(all: &[(u64, String)]) -> String {
        all.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn the_first_line_comes_at_once_and_many_pes_wait_together() {
        let said: Vec<(u64, usize, String)> =
            (0..64).map(|pe| (0, pe, format!("{pe}\n"))).collect();
        let said: Vec<(u64, usize, &str)> = said
            .iter()
            .map(|(at, pe, text)| (*at, *pe, text.as_str()))
            .collect();
        let all = printed(64, 100, &said);
        let expected: String = (0..64).map(|pe| format!("{pe}\n")).collect();
        assert_eq!(all.len(), 2, "{all:?}");
        assert_eq!((all[0].0, all[1].0), (0, 100));
        assert_eq!(text(&all), expected);
    }

    #[test]
    fn lines_that_come_together_stay_together() {
        let all = printed(
            2,
            100,
            &[
                (0, 0, "a1\n"),
                (5, 1, "b1\n"),
                (10, 0, "a2\na"),
                (80, 1, "b2\n"),
                (105, 0, "3\n"),
                (110, 1, "b3\n"),
            ],
        );
        assert_eq!(text(&all), "a1\na2\na3\nb1\nb2\nb3\n");
    }

    #[test]
    fn nobody_waits_for_ever() {
        let mut said: Vec<(u64, usize, &str)> = (0..100).map(|i| (i * 10, 0, "a\n")).collect();
        said.insert(1, (5, 1, "b\n"));
        let all = printed(2, 100, &said);
        let at = all
            .iter()
            .find(|(_, text)| text.contains('b'))
            .expect("it is printed")
            .0;
        assert!((500..=600).contains(&at), "{at}");
        assert_eq!(text(&all).matches('a').count(), 100);
    }

    #[test]
    fn one_without_room_does_not_wait() {
        let all = printed(2, 4, &[(0, 0, "a\n"), (1, 1, "b\nb\n"), (2, 0, "a\n")]);
        assert_eq!(text(&all), "a\nb\nb\na\n");
        assert_eq!(all[1].0, 1);
    }

    #[test]
    fn the_pieces_of_a_long_line_stay_together() {
        let all = printed(
            2,
            4,
            &[
                (0, 0, "aaaa"),
                (1, 1, "bb\n"),
                (500, 0, "aaaa"),
                (600, 1, "bb\n"),
                (900, 0, "a\n"),
            ],
        );
        assert_eq!(text(&all), "aaaaaaaaa\nbb\nbb\n");
        // Unless the line's end does not arrive.
        let all = printed(2, 4, &[(0, 0, "aaaa"), (1, 1, "b\n"), (2000, 0, "a\n")]);
        assert_eq!(text(&all), "aaaa\nb\na\n");
    }

    #[test]
    fn a_line_after_a_prompt_is_a_line_of_its_own() {
        let all = printed(
            2,
            100,
            &[
                (0, 0, "Name? "),
                (1, 1, "b\n"),
                (300, 1, "b\n"),
                (400, 0, "Hi\n"),
            ],
        );
        assert_eq!(text(&all), "b\nName? \nb\nHi\n");
        assert_eq!(all[1], (200, "Name? ".to_string()));
        let alone = printed(2, 100, &[(0, 0, "Name? "), (300, 0, "Hi\n")]);
        assert_eq!(text(&alone), "Name? Hi\n");
    }
}
