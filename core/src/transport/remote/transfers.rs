//! Puts and gets to PEs of other hosts.
//!
//! What is small travels in a record. What is large moves by itself: from the heap to the heap without another copy, all else through
//! pieces of the net's memory, because the wire may keep what it is lent for as long as the other PE is stopped.

use super::desk::{Answer, Form, Place};
use super::message::Kind;
use super::net::{PIECE, Post, Then};
use super::{CATCH_UP, Way};
use crate::buffer::{LocalDest, LocalSource};
use crate::operation::Operation;
use crate::strides::Transfer;
use crate::transport::Call;
use crate::{Pe, Result};
use std::sync::Arc;

/// No data.
pub(super) fn nothing() -> LocalSource<'static> {
    LocalSource::from(&[0_u8; 0])
}

/// A get that is under way.
pub(super) struct Asked {
    pub(super) pe: Pe,
    pub(super) ticket: u64,
    pub(super) answer: Arc<Answer>,
}

impl Way {
    /// A put to a PE of another host, without waiting for room there. `lasts`: the source may be read until quiet.
    pub(super) fn put_far(
        &self,
        call: Call,
        pe: Pe,
        dest: u64,
        source: LocalSource<'_>,
        lasts: bool,
    ) -> Result<()> {
        let bytes = source.bytes();
        if bytes <= self.net.eager {
            if bytes > 0 {
                self.net.post(pe, Kind::Put, &[dest], source);
            }
            return Ok(());
        }
        if !self.net.near.holds(source.address() as u64, bytes as u64) {
            return self.put_pieces(call, pe, dest, source);
        }
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
        self.net
            .post_with(pe, Kind::PutLarge, &words, nothing(), Some(post));
        self.net.kick();
        match lasts {
            true => Ok(()),
            false => self.wait(call.called, pe, &|| left.is_there()),
        }
    }

    /// A large put of memory of the program's own, which is copied. It waits while too much is under way.
    fn put_pieces(&self, call: Call, pe: Pe, dest: u64, source: LocalSource<'_>) -> Result<()> {
        let bytes = source.bytes();
        for start in (0..bytes).step_by(PIECE) {
            let part = source.part(start, PIECE.min(bytes - start));
            let (dest, bytes) = (dest + start as u64, part.bytes());
            if bytes <= self.net.eager {
                self.net.post(pe, Kind::Put, &[dest], part);
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
            self.net
                .post_with(pe, Kind::PutLarge, &words, nothing(), Some(post));
            self.net.kick();
        }
        Ok(())
    }

    /// Asks a PE of another host for data. What is large goes to its place in the heap at once, all else passes through a piece.
    pub(super) fn ask(&self, pe: Pe, source: u64, dest: &LocalDest<'_>, nbi: bool) -> Asked {
        let bytes = dest.bytes();
        let place = Place::of(dest);
        if bytes <= self.net.eager {
            let (ticket, answer) = self.net.desk.ticket(pe, Form::Data(place), nbi);
            let words = [source, bytes as u64, ticket];
            self.net.post(pe, Kind::Get, &words, nothing());
            return Asked { pe, ticket, answer };
        }
        let in_heap = self.is_in_heap(dest);
        let form = Form::Body((!in_heap).then_some(place));
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
        self.net
            .post_with(pe, Kind::GetLarge, &words, nothing(), Some(post));
        Asked { pe, ticket, answer }
    }

    fn is_in_heap(&self, dest: &LocalDest<'_>) -> bool {
        let (address, bytes) = (dest.address() as u64, dest.bytes() as u64);
        self.net.near.holds(address, bytes)
    }

    /// Whether data for `dest` comes in pieces.
    pub(super) fn comes_in_pieces(&self, dest: &LocalDest<'_>) -> bool {
        dest.bytes() > self.net.eager && !self.is_in_heap(dest)
    }

    /// Asks for large data for memory of the program's own. It waits while too much is under way; `nbi`: else it does not.
    pub(super) fn get_pieces(
        &self,
        operation: Operation,
        pe: Pe,
        source: u64,
        dest: &mut LocalDest<'_>,
        nbi: bool,
    ) -> Result<()> {
        let bytes = dest.bytes();
        let mut asked = Vec::with_capacity(bytes.div_ceil(PIECE));
        let mut result = Ok(());
        for start in (0..bytes).step_by(PIECE) {
            let part = dest.part(start, PIECE.min(bytes - start));
            result = self.wait(operation, pe, &|| self.net.has_room(pe, part.bytes()));
            if result.is_err() {
                break;
            }
            asked.push(self.ask(pe, source + start as u64, &part, nbi));
            self.net.kick();
        }
        match nbi && result.is_ok() {
            true => Ok(()),
            false => self.answers(operation, &asked, result),
        }
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

    pub(super) fn get_far(
        &self,
        operation: Operation,
        pe: Pe,
        source: u64,
        dest: &mut LocalDest<'_>,
    ) -> Result<()> {
        if dest.bytes() == 0 {
            return Ok(());
        }
        if self.comes_in_pieces(dest) {
            return self.get_pieces(operation, pe, source, dest, false);
        }
        let asked = self.ask(pe, source, dest, false);
        self.net.kick();
        self.answer(operation, &asked).map(drop)
    }

    /// As [`get_far`](Way::get_far); the data may come until quiet.
    pub(super) fn get_later(
        &self,
        call: Call,
        pe: Pe,
        source: u64,
        dest: &mut LocalDest<'_>,
    ) -> Result<()> {
        if dest.bytes() == 0 {
            return Ok(());
        }
        if self.comes_in_pieces(dest) {
            return self.get_pieces(call.called, pe, source, dest, true);
        }
        self.ask(pe, source, dest, true);
        self.asked(call, pe)
    }

    pub(super) fn get_blocks_far(
        &self,
        call: Call,
        pe: Pe,
        source: u64,
        mut dest: LocalDest<'_>,
        transfer: &Transfer,
    ) -> Result<()> {
        let (_, block, _) = transfer.dest().parts();
        let mut under_way: Vec<Asked> = Vec::new();
        let blocks: Vec<(u64, u64)> = transfer.blocks().filter(|_| block > 0).collect();
        for some in blocks.chunks(CATCH_UP as usize) {
            for &(to, from) in some {
                let mut part = dest.part(to as usize, block as usize);
                if self.comes_in_pieces(&part) {
                    self.get_pieces(call.called, pe, source + from, &mut part, false)?;
                } else {
                    under_way.push(self.ask(pe, source + from, &part, false));
                }
            }
            self.net.kick();
            self.answers(call.called, &under_way, Ok(()))?;
            under_way.clear();
        }
        Ok(())
    }
}
