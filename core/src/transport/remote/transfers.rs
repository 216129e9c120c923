//! Puts and gets to PEs of other hosts.
//!
//! What is small travels in a record. What is large moves by itself: from the heap to the heap without another copy, all else through
//! pieces of the net's memory, because the wire may keep what it is lent for as long as the other PE is stopped.

use super::desk::{Answer, Form, Place};
use super::message::{Kind, nothing};
use super::net::{Net, PIECE, Post, Then};
use super::{CATCH_UP, Way};
use crate::buffer::{LocalDest, LocalSource};
use crate::operation::Operation;
use crate::transport::{Call, Nbi, Wanted};
use crate::{Pe, Result};
use std::sync::Arc;

/// A put that is a part of a call.
pub(super) const A_PART: Nbi = Nbi::Yes { lasts: false };

/// A get that is under way.
pub(super) struct Asked {
    pub(super) pe: Pe,
    pub(super) ticket: u64,
    pub(super) answer: Arc<Answer>,
}

impl Way {
    /// A put to a PE of another host, without waiting for room there. Whether one that is `nbi` is done is asked later.
    pub(super) fn put_far(
        &self,
        call: Call,
        pe: Pe,
        dest: u64,
        source: LocalSource<'_>,
        nbi: Nbi,
    ) -> Result<()> {
        let (bytes, asks) = (source.bytes(), nbi == Nbi::No);
        if bytes <= self.net.eager {
            match (bytes, asks) {
                (0, _) => {}
                (_, true) => self.net.post_now(pe, Kind::Put, &[dest], source),
                (_, false) => self.net.post(pe, Kind::Put, &[dest], source),
            }
            return Ok(());
        }
        if !self.net.near.holds(source.address() as u64, bytes as u64) {
            return self.put_pieces(call, pe, dest, source, asks);
        }
        let lasts = matches!(nbi, Nbi::Yes { lasts: true });
        let left = Arc::new(Answer::default());
        let tag = self.net.tag(false);
        let post = Post::Send {
            tag,
            address: source.address(),
            bytes,
            then: match lasts {
                // It has been read once quiet knows that it has arrived.
                true => Then::Nothing,
                false => Then::Left(Arc::clone(&left)),
            },
        };
        let words = [dest, bytes as u64, u64::from(tag)];
        self.net.post_large(pe, Kind::PutLarge, &words, asks, post);
        self.net.kick();
        match lasts {
            true => Ok(()),
            false => self.wait(call.called, pe, &|| left.is_there()),
        }
    }

    /// A large put of memory of the program's own, which is copied. It waits while too much is under way.
    fn put_pieces(
        &self,
        call: Call,
        pe: Pe,
        dest: u64,
        source: LocalSource<'_>,
        asks: bool,
    ) -> Result<()> {
        let bytes = source.bytes();
        for start in (0..bytes).step_by(PIECE) {
            let part = source.part(start, PIECE.min(bytes - start));
            let asks = asks && start + part.bytes() == bytes;
            let (dest, bytes) = (dest + start as u64, part.bytes());
            if bytes <= self.net.eager {
                let nbi = if asks { Nbi::No } else { A_PART };
                self.put_far(call, pe, dest, part, nbi)?;
                continue;
            }
            self.wait(call.called, pe, &|| self.net.has_room(pe, bytes))?;
            let mut piece = self.net.piece(pe, bytes);
            piece.fill(part);
            let tag = self.net.tag(false);
            let post = Post::Send {
                tag,
                address: piece.address(),
                bytes,
                then: Then::Over(piece),
            };
            let words = [dest, bytes as u64, u64::from(tag)];
            self.net.post_large(pe, Kind::PutLarge, &words, asks, post);
            self.net.kick();
        }
        Ok(())
    }

    /// Asks a PE of another host for data. What is large goes to its place in the heap at once, all else passes through a piece.
    fn ask(&self, pe: Pe, source: u64, dest: &LocalDest<'_>, nbi: bool) -> Asked {
        let bytes = dest.bytes();
        if bytes <= self.net.eager {
            return self.ask_small(pe, source, dest, nbi, Net::post);
        }
        let in_heap = self.is_in_heap(dest);
        let form = Form::Body((!in_heap).then_some(Place::of(dest)));
        let (ticket, answer) = self.net.desk.ticket(pe, form, nbi);
        let (address, then) = match in_heap {
            true => (dest.address(), Then::Came(ticket)),
            false => {
                let mut piece = self.net.piece(pe, bytes);
                (piece.address(), Then::Got(ticket, piece))
            }
        };
        let tag = self.net.tag(true);
        let post = Post::Receive {
            tag,
            address,
            bytes,
            then,
        };
        let words = [source, bytes as u64, u64::from(tag)];
        self.net.post_large(pe, Kind::GetLarge, &words, false, post);
        Asked { pe, ticket, answer }
    }

    /// As [`ask`](Way::ask), for data that travels in a record. `post` adds the question to what the PE is sent.
    fn ask_small(
        &self,
        pe: Pe,
        source: u64,
        dest: &LocalDest<'_>,
        nbi: bool,
        post: impl FnOnce(&Net, Pe, Kind, &[u64], LocalSource<'_>),
    ) -> Asked {
        let (ticket, answer) = self.net.desk.ticket(pe, Form::Data(Place::of(dest)), nbi);
        let words = [source, dest.bytes() as u64, ticket];
        post(&self.net, pe, Kind::Get, &words, nothing());
        Asked { pe, ticket, answer }
    }

    fn is_in_heap(&self, dest: &LocalDest<'_>) -> bool {
        let (address, bytes) = (dest.address() as u64, dest.bytes() as u64);
        self.net.near.holds(address, bytes)
    }

    /// Whether data for `dest` comes in pieces.
    fn comes_in_pieces(&self, dest: &LocalDest<'_>) -> bool {
        dest.bytes() > self.net.eager && !self.is_in_heap(dest)
    }

    /// Asks for data, in pieces if it comes so, and waits while too much is under way. `nbi`: only quiet waits for it.
    fn ask_for(
        &self,
        operation: Operation,
        wanted: &Wanted<'_>,
        nbi: bool,
        asked: &mut Vec<Asked>,
    ) -> Result<()> {
        let Wanted { pe, source, dest } = wanted;
        let (bytes, in_pieces) = (dest.bytes(), self.comes_in_pieces(dest));
        let most = if in_pieces { PIECE } else { bytes.max(1) };
        for start in (0..bytes).step_by(most) {
            let part = dest.part(start, most.min(bytes - start));
            if in_pieces {
                self.wait(operation, *pe, &|| self.net.has_room(*pe, part.bytes()))?;
            }
            asked.push(self.ask(*pe, source + start as u64, &part, nbi));
            // What is large begins at once, small records travel together.
            if part.bytes() > self.net.eager {
                self.net.kick();
            }
        }
        Ok(())
    }

    /// Waits for all that was asked for, after an earlier error for nothing. If a wait ends early, nothing is written any more.
    pub(super) fn answers(
        &self,
        operation: Operation,
        asked: &[Asked],
        before: Result<()>,
    ) -> Result<()> {
        let mut waits = asked.iter();
        let result = before.and_then(|()| {
            waits.try_for_each(|one| self.wait(operation, one.pe, &|| one.answer.is_there()))
        });
        if result.is_err() {
            let tickets: Vec<(u64, Pe)> = asked.iter().map(|one| (one.ticket, one.pe)).collect();
            self.net.let_go(&tickets);
        }
        result
    }

    /// Waits for a word that was asked for.
    pub(super) fn answer(&self, operation: Operation, asked: &Asked) -> Result<u64> {
        self.answers(operation, std::slice::from_ref(asked), Ok(()))?;
        Ok(asked.answer.value())
    }

    /// Gets all that is wanted, all of it at the same time.
    pub(super) fn get_all(
        &self,
        operation: Operation,
        wanted: &mut dyn Iterator<Item = Wanted<'_>>,
    ) -> Result<()> {
        let mut asked = Vec::new();
        for one in wanted {
            let result = self.ask_for(operation, &one, false, &mut asked);
            if result.is_err() || asked.len() as u64 >= CATCH_UP {
                self.net.kick();
                self.answers(operation, &asked, result)?;
                asked.clear();
            }
        }
        self.net.kick();
        self.answers(operation, &asked, Ok(()))
    }

    pub(super) fn get_far(
        &self,
        operation: Operation,
        pe: Pe,
        source: u64,
        dest: LocalDest<'_>,
    ) -> Result<()> {
        if (1..=self.net.eager).contains(&dest.bytes()) {
            let asked = self.ask_small(pe, source, &dest, false, Net::post_now);
            return self.answer(operation, &asked).map(|_| ());
        }
        let wanted = Wanted { pe, source, dest };
        self.get_all(operation, &mut std::iter::once(wanted))
    }

    /// As [`get_far`](Way::get_far); the data may come until quiet.
    pub(super) fn get_later(
        &self,
        call: Call,
        pe: Pe,
        source: u64,
        dest: LocalDest<'_>,
    ) -> Result<()> {
        let (wanted, mut asked) = (Wanted { pe, source, dest }, Vec::new());
        match self.ask_for(call.called, &wanted, true, &mut asked) {
            Ok(()) => self.asked(call, pe),
            error => self.answers(call.called, &asked, error),
        }
    }
}
