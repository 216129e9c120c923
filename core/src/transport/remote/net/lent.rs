//! What the wire is lent: memory of the heap, and [pieces](super::pieces). It comes back with a token.

use super::pieces::Piece;
use super::{Engine, Net, Taking};
use crate::Pe;
use crate::buffer::SymRange;
use crate::job::state::State;
use crate::job::{bell, far};
use crate::transport::remote::desk::Answer;
use crate::transport::remote::pulse::SILENCE;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What begins after a message has been sent.
pub(in crate::transport::remote) enum Post {
    Send {
        tag: u32,
        address: *const u8,
        bytes: usize,
        then: Then,
    },
    Receive {
        tag: u32,
        address: *mut u8,
        bytes: usize,
        then: Then,
    },
}

// SAFETY: addresses in the heap, or in the piece that goes with them.
unsafe impl Send for Post {}

/// What is done when a token comes back.
pub(in crate::transport::remote) enum Then {
    Nothing,
    /// Memory of the heap has been sent, and may be written again.
    Left(Arc<Answer>),
    /// What a ticket stands for has come.
    Came(u64),
    /// What a ticket stands for has come to this piece.
    Got(u64, Piece),
    /// Nobody needs what the piece holds any more.
    Over(#[expect(dead_code, reason = "it is kept until then")] Piece),
    /// A large put of a PE is in place.
    Put(Pe, SymRange),
    /// Pinned memory, by its number, from or for this PE.
    Served(Pe, u64),
}

/// What the wire has been lent.
pub(super) struct Lent {
    then: Then,
    pe: Pe,
    /// Of what is received: the tag, and how many bytes are to come.
    comes: Option<(u32, usize)>,
    /// Whether it was called back.
    cancelled: bool,
}

impl Net {
    pub(super) fn begin(&self, engine: &mut Engine, pe: Pe, post: Post) {
        let (token, then, comes) = match post {
            Post::Send {
                tag,
                address,
                bytes,
                then,
            } => {
                // SAFETY: the heap stays mapped, and a piece is kept until the token has come back.
                let token = unsafe { engine.wire.send_from(pe, tag, address, bytes) };
                (token, then, None)
            }
            Post::Receive {
                tag,
                address,
                bytes,
                then,
            } => {
                // SAFETY: as above.
                let token = unsafe { engine.wire.recv_into(pe, tag, address, bytes) };
                (token, then, Some((tag, bytes)))
            }
        };
        match token {
            Ok(token) => {
                let lent = Lent {
                    then,
                    pe,
                    comes,
                    cancelled: false,
                };
                engine.state.tokens.insert(token, lent);
            }
            Err(error) => self.keep(error),
        }
    }

    /// What a token stood for is over; of what was received so many bytes have come.
    pub(super) fn is_back(&self, state: &mut Taking, token: u64, came: usize) {
        let Some(lent) = state.tokens.remove(&token) else {
            return;
        };
        let Lent { then, pe, .. } = lent;
        let mut whole = true;
        if let Some((tag, bytes)) = lent.comes {
            if lent.cancelled && came == 0 {
                self.receive_anyway(state, pe, tag, bytes);
                return;
            }
            whole = came == bytes;
            if !whole && !self.is_gone(pe) && !state.lost.contains(&pe) {
                self.refuse(pe);
            }
        }
        match then {
            Then::Put(from, range) => {
                bell::ring_words(&self.control, self.me, range);
                let source = &mut state.sources[from as usize];
                source.coming -= 1;
                source.done += 1;
                self.go_on(state, from);
                return;
            }
            Then::Served(from, number) => self.near.is_back(from, number, whole),
            Then::Left(answer) => answer.give(0),
            Then::Came(ticket) if whole => self.desk.came(ticket, &[]),
            Then::Got(ticket, piece) if whole => self.desk.came(ticket, piece.data()),
            // Who waits for it learns of the error.
            Then::Came(_) | Then::Got(..) | Then::Over(_) => {}
            Then::Nothing => return,
        }
        bell::ring_pe(&self.control, self.me);
    }

    /// Receives what was called back, because it is sent all the same: else the other side would have it on its hands for ever.
    fn receive_anyway(&self, state: &mut Taking, pe: Pe, tag: u32, bytes: usize) {
        if self.is_gone(pe) {
            return;
        }
        let mut piece = self.pool.piece(bytes, &Arc::default());
        let post = Post::Receive {
            tag,
            address: piece.address(),
            bytes,
            then: Then::Over(piece),
        };
        state.begin.push((pe, post));
    }

    fn is_gone(&self, pe: Pe) -> bool {
        let state = far::state(self.control.pe(pe));
        !matches!(state, State::Active | State::Finalizing)
    }

    /// Takes tickets back whose waits have ended early: gives control when nothing is written for them any more. What the wire has been
    /// lent for them lies in the heap. A PE that has begun to send and stops for too long is gone; so is the job then, and nobody has
    /// other use for the heap.
    pub(in crate::transport::remote) fn let_go(&self, tickets: &[(u64, Pe)]) {
        let numbers: HashSet<u64> = tickets.iter().map(|(ticket, _)| *ticket).collect();
        let (since, mut patience) = (Instant::now(), 2000);
        while !numbers.is_empty() {
            let mut left = None;
            if let Some(mut engine) = self.try_engine() {
                // What has not begun must not begin later.
                self.flush(&mut engine);
                left = Some(recall(&mut engine, &numbers));
            }
            self.kick_rest();
            if left.as_ref().is_some_and(Vec::is_empty) {
                break;
            }
            self.drive();
            let alive: Vec<Pe> = (left.into_iter().flatten())
                .filter(|pe| !self.is_gone(*pe))
                .collect();
            // Of a PE that is gone nothing more comes than what is on its way.
            patience -= i32::from(alive.is_empty());
            if patience < 0 {
                break;
            }
            if since.elapsed() > SILENCE {
                alive.into_iter().for_each(|pe| self.lost(pe));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        numbers
            .into_iter()
            .for_each(|number| self.desk.forget(number));
    }
}

/// Calls back what was lent for some tickets; gives the PEs that it is to come from.
fn recall(engine: &mut Engine, numbers: &HashSet<u64>) -> Vec<Pe> {
    let Engine { wire, state, .. } = engine;
    let mut left = Vec::new();
    for (token, lent) in &mut state.tokens {
        if !matches!(lent.then, Then::Came(number) if numbers.contains(&number)) {
            continue;
        }
        left.push(lent.pe);
        if !std::mem::replace(&mut lent.cancelled, true) {
            wire.cancel(*token);
        }
    }
    left
}
