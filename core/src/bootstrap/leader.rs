//! The side of the leader, the first PE of a host: it accepts the others ([`gather`](super::gather)), creates the job's memory, sends it and then `Go`.

use super::file_limit::FileLimit;
use super::gather::Gathering;
use super::socket::{GRACE, Member, Rendezvous, bootstrap};
use crate::job::block::Control;
use crate::job::init_status::Step;
use crate::job::interrupt;
use crate::job::membership::{self, Membership};
use crate::job::wire::{Arriving, Kind, Links, MAX_MESSAGE, send, send_with_fd};
use crate::{Pe, Result};
use rustix::event::{PollFd, PollFlags};

/// A member that has not mapped the job's memory yet.
struct PendingMember<'a> {
    pe: Pe,
    member: &'a Member,
    arriving: Arriving,
    ready: bool,
}

impl Rendezvous<'_> {
    /// Creates the job with the others. Returns the connections to them, too.
    pub(super) fn lead(&self, heap: Option<u64>) -> Result<(Control, Links)> {
        let limit = FileLimit::raise(self.pe, self.pes.len() as u64 - 1)?;
        let listener = self.listen()?;
        let mut gathering = Gathering::new(self, heap);
        let gathered = gathering.gather(&listener);
        if let Err(error) = &gathered {
            gathering.dismiss(&listener, &self.words(error));
        }
        let members = gathering.end();
        let result = gathered.and_then(|stride| {
            let check = self.check.checked(self.n_pes, stride)?;
            let control = Control::create_on(self.host, self.n_pes, stride, self.memory, check)?;
            membership::take_place(&control, self.pe, Membership::Process, self.gpu)?;
            self.welcome(&control, &members)?;
            self.await_ready(&members)?;
            Ok(control)
        });
        let word = match &result {
            Ok(_) => (Kind::Go, String::new()),
            Err(error) => (Kind::Refusal, self.words(error)),
        };
        for member in members.iter().flatten() {
            // A member that is gone is noticed by its lock.
            let _ = send(
                &member.stream,
                word.0,
                word.1.as_bytes(),
                self.until + GRACE,
            );
        }
        let streams = members.into_iter().flatten().map(|member| member.stream);
        let streams: Vec<_> = streams.collect();
        if result.is_ok() && self.exchanges {
            limit.keep();
        }
        result.map(|control| (control, Links::Leader(streams)))
    }

    fn welcome(&self, control: &Control, members: &[Option<Member>]) -> Result<()> {
        let length = control.segment().bytes().to_le_bytes();
        for (member, pe) in members.iter().zip(self.others()) {
            let Some(member) = member else { continue };
            let proof = self.key.prove(&[b"welcome", &member.nonce, &length]);
            let contents = [&length[..], &proof[..]].concat();
            let fd = control.segment().fd()?;
            let sent = send_with_fd(&member.stream, Kind::Welcome, &contents, fd, self.until);
            sent.map_err(|error| self.ended(pe, Some(error)).1)?;
        }
        Ok(())
    }

    /// Waits until all members have mapped the job's memory.
    fn await_ready(&self, members: &[Option<Member>]) -> Result<()> {
        let taking = members
            .iter()
            .zip(self.others())
            .filter_map(|(member, pe)| {
                Some(PendingMember {
                    pe,
                    member: member.as_ref()?,
                    arriving: Arriving::new(MAX_MESSAGE),
                    ready: false,
                })
            });
        let mut taking: Vec<PendingMember<'_>> = taking.collect();
        loop {
            let missing = taking.iter().filter(|one| !one.ready).map(|one| one.pe);
            let missing: Vec<Pe> = missing.collect();
            if missing.is_empty() {
                return Ok(());
            }
            let waits = || {
                format!(
                    "waits for {} to map the job's memory",
                    crate::words::pes(&missing)
                )
            };
            self.page.update(|fields| {
                fields.step = Step::Map;
                fields.missing.clone_from(&missing);
            });
            if self.is_over() {
                return Err(bootstrap(format!(
                    "after {:.1?} ({}) {} had not mapped the job's memory",
                    self.deadline,
                    self.limit,
                    crate::words::pes(&missing)
                )));
            }
            if interrupt::asked() {
                return Err(self.interrupted(waits()));
            }
            self.check_others()?;
            let fds = taking.iter().map(|one| {
                let flags = match one.ready {
                    true => PollFlags::RDHUP,
                    false => PollFlags::IN | PollFlags::RDHUP,
                };
                PollFd::new(&one.member.stream, flags)
            });
            let mut fds: Vec<PollFd<'_>> = fds.collect();
            self.poll(&mut fds, self.until)?;
            let said: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
            drop(fds);
            for (one, _) in taking.iter_mut().zip(said).filter(|(_, said)| *said) {
                self.take(one)?;
            }
        }
    }

    /// Receives the message of a member; an error if the member cannot go on.
    fn take(&self, one: &mut PendingMember<'_>) -> Result<()> {
        if one.ready {
            return Err(self.ended(one.pe, None).1);
        }
        match one.arriving.take(&one.member.stream) {
            Ok(None) => Ok(()),
            Ok(Some(message)) if message.kind == Kind::Ready => {
                one.ready = true;
                Ok(())
            }
            Ok(Some(message)) => {
                let text = format!("PE {}: {}", one.pe, message.text());
                Err(self.names(one.pe, text))
            }
            Err(error) => Err(self.ended(one.pe, Some(error)).1),
        }
    }
}
