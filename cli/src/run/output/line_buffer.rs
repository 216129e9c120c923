//! The bytes of one stream of a PE that are not printed yet: whole lines, and the beginning of a line.

use std::time::{Duration, Instant};

/// A beginning of a line of PE 0 that looks like a prompt is printed after this pause.
pub(super) const PROMPT: Duration = Duration::from_millis(200);
/// The last characters of prompts, before spaces.
const PROMPT_ENDS: &[u8] = b":?>$#%)]";

/// One stream of one PE.
#[derive(Debug)]
pub(in crate::run) struct LineBuffer {
    /// The prefix of each line.
    tag: Vec<u8>,
    /// Whether a carriage return also ends a line, as on a terminal.
    returns: bool,
    /// Whether the PE has standard input, and so may prompt.
    may_prompt: bool,
    /// A line longer than this is printed in pieces, so that memory stays bounded.
    most: usize,
    bytes: Vec<u8>,
    /// The number of bytes that belong to whole lines.
    whole: usize,
    /// Whether the beginning of the first line is printed already.
    pub(super) begun: bool,
    /// Whether it was printed because the line is very long.
    pub(super) long: bool,
    /// When bytes last arrived.
    pub(super) last_read: Instant,
    /// Since when the stream has waited for its turn.
    pub(super) waits: Option<Instant>,
    /// Whether the stream is at its end.
    pub(super) ended: bool,
}

impl LineBuffer {
    pub(in crate::run) fn new(tag: &str, returns: bool, may_prompt: bool, most: usize) -> Self {
        Self {
            tag: tag.into(),
            returns,
            may_prompt,
            most,
            bytes: Vec::new(),
            whole: 0,
            begun: false,
            long: false,
            last_read: Instant::now(),
            waits: None,
            ended: false,
        }
    }

    /// Appends bytes that arrived.
    pub(in crate::run) fn append(&mut self, bytes: &[u8], now: Instant) {
        let before = self.bytes.len();
        // A carriage return at the end may be the first half of "\r\n".
        let from = before.saturating_sub(usize::from(self.returns));
        self.bytes.extend_from_slice(bytes);
        self.last_read = now;
        let last = self.bytes.len() - 1;
        let ends = |at: &usize| match self.bytes[*at] {
            b'\n' => true,
            b'\r' => self.returns && *at < last,
            _ => false,
        };
        if let Some(at) = (from..=last).rev().find(ends) {
            self.whole = at + 1;
        }
    }

    /// Ends an unfinished line, because its PE has ended.
    pub(in crate::run) fn complete(&mut self) {
        if self.whole < self.bytes.len() || (self.begun && self.bytes.is_empty()) {
            self.bytes.push(b'\n');
            self.whole = self.bytes.len();
        }
    }

    /// Whether more may be read.
    pub(super) fn has_room(&self) -> bool {
        self.bytes.len() < self.most
    }

    /// Whether there are bytes to print now.
    pub(in crate::run) fn is_due(&self, now: Instant) -> bool {
        let prompts = || self.prompt().is_some_and(|at| at <= now);
        self.whole > 0 || !self.has_room() || prompts()
    }

    /// When the beginning of a line counts as a prompt, if it looks like a prompt.
    pub(super) fn prompt(&self) -> Option<Instant> {
        let text = self.bytes[self.whole..].trim_ascii_end();
        let is = |end: &u8| PROMPT_ENDS.contains(end) || text.ends_with(b"...");
        (self.may_prompt && text.last().is_some_and(is)).then(|| self.last_read + PROMPT)
    }

    /// Prints the bytes that are due.
    pub(in crate::run) fn drain_into(&mut self, out: &mut Vec<u8>) {
        let count = match self.whole {
            0 => self.bytes.len(),
            whole => whole,
        };
        self.long = self.whole == 0 && !self.has_room();
        if self.tag.is_empty() {
            out.extend_from_slice(&self.bytes[..count]);
        } else {
            let mut rest = &self.bytes[..count];
            while !rest.is_empty() {
                if !std::mem::take(&mut self.begun) {
                    out.extend_from_slice(&self.tag);
                }
                let (line, after) = rest.split_at(line_end(rest, self.returns));
                out.extend_from_slice(line);
                rest = after;
            }
        }
        self.begun = self.whole == 0;
        self.bytes.drain(..count);
        self.whole = 0;
    }
}

/// The length of the first line.
fn line_end(text: &[u8], returns: bool) -> usize {
    let ends = |at: &usize| match text[*at] {
        b'\n' => true,
        b'\r' => returns && text.get(at + 1) != Some(&b'\n'),
        _ => false,
    };
    (0..text.len()).find(ends).map_or(text.len(), |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(buffer: &mut LineBuffer, bytes: &str) -> String {
        let now = Instant::now();
        buffer.append(bytes.as_bytes(), now);
        let mut out = Vec::new();
        if buffer.is_due(now) {
            buffer.drain_into(&mut out);
        }
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn lines_are_whole_and_tagged() {
        let mut buffer = LineBuffer::new("[2] ", false, false, 100);
        assert_eq!(said(&mut buffer, "one\ntw"), "[2] one\n");
        assert_eq!(said(&mut buffer, "o\n\nthree"), "[2] two\n[2] \n");
        assert_eq!(said(&mut buffer, "\rfour"), "");
        buffer.complete();
        assert_eq!(said(&mut buffer, "x"), "[2] three\rfour\n");
        buffer.complete();
        assert_eq!(said(&mut buffer, "\n"), "[2] x\n[2] \n");
    }

    #[test]
    fn an_endless_line_comes_in_pieces() {
        let mut buffer = LineBuffer::new("[0] ", false, false, 10);
        assert_eq!(said(&mut buffer, "123456789"), "");
        assert_eq!(said(&mut buffer, "0"), "[0] 1234567890");
        assert!(buffer.begun && buffer.long && buffer.has_room());
        assert_eq!(said(&mut buffer, "abc\nd\n"), "abc\n[0] d\n");
        assert!(!buffer.begun && !buffer.long);
    }

    #[test]
    fn a_terminal_sees_what_a_carriage_return_ends() {
        let mut buffer = LineBuffer::new("", true, false, 100);
        assert_eq!(said(&mut buffer, "1 %\r"), "");
        assert_eq!(said(&mut buffer, "2 %\r3 %"), "1 %\r2 %\r");
        assert_eq!(said(&mut buffer, "\r"), "");
        assert_eq!(said(&mut buffer, "\n"), "3 %\r\n");
        let mut tagged = LineBuffer::new("[1] ", true, false, 100);
        assert_eq!(said(&mut tagged, "a\rb\r\nc\n"), "[1] a\r[1] b\r\n[1] c\n");
    }

    #[test]
    fn a_prompt_is_due_after_a_pause() {
        let due = |text: &str, pe_0, pause| {
            let mut buffer = LineBuffer::new("", false, pe_0, 100);
            let now = Instant::now();
            buffer.append(text.as_bytes(), now);
            buffer.is_due(now + pause)
        };
        for text in ["Name? ", "x = 1\n>>> ", "y/n:", "Loading ..."] {
            let first = text.contains('\n');
            assert_eq!(due(text, true, Duration::ZERO), first, "{text}");
            assert!(due(text, true, PROMPT), "{text}");
            assert_eq!(due(text, false, PROMPT), first, "{text}");
        }
        for text in ["01 ", "ok", "   "] {
            assert!(!due(text, true, 10 * PROMPT), "{text}");
        }
        // The end of the PE ends its line.
        let mut buffer = LineBuffer::new("[0] ", false, true, 100);
        let mut out = Vec::new();
        buffer.append(b"Name? ", Instant::now());
        buffer.drain_into(&mut out);
        assert!(buffer.begun && !buffer.long);
        buffer.complete();
        buffer.drain_into(&mut out);
        assert_eq!(out, b"[0] Name? \n");
    }
}
