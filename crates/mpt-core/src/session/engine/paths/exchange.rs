//! The exchange of tables of paths: what each end has said of its own, and what the other one knows of it.

use std::time::Instant;

use mpt_wire::control::PathEntry;

use super::peer_table::PeerTable;
use crate::session::announce::{Announcer, Heard};

/// The announcements of both ends about their paths.
#[derive(Debug)]
pub(crate) struct Tables {
    /// The table of this end, which there is while there is a connection, and what the peer has
    /// acknowledged of it.
    pub(crate) own: Option<Announcer<PathEntry>>,
    /// The tables of the peer that have arrived.
    pub(crate) heard: Heard,
    /// The latest one of them.
    pub(crate) peer: Option<PeerTable>,
}

impl Tables {
    /// The state before any announcement.
    pub(crate) fn new() -> Self {
        Self { own: None, heard: Heard::new(), peer: None }
    }

    /// There is a connection, whose numbers begin at `from`: the peer is to be told of its paths,
    /// unless it is being told already.
    pub(crate) fn begin(&mut self, epoch: u32, from: u32) {
        self.own.get_or_insert_with(|| Announcer::new(epoch, from));
    }

    /// There is another connection, whose numbers begin at `from`.
    pub(crate) fn restart(&mut self, epoch: u32, from: u32) {
        match &mut self.own {
            Some(own) => own.restart(epoch, from),
            None => self.begin(epoch, from),
        }
    }

    /// There is no connection any more.
    pub(crate) fn end(&mut self) {
        self.own = None;
    }

    /// The peer may have forgotten the table of this end, which is announced anew.
    pub(crate) fn renew(&mut self, from: u32) {
        if let Some(own) = &mut self.own {
            own.renew(from);
        }
    }

    /// The peer acknowledges a generation of the table of this end.
    pub(crate) fn acknowledged(&mut self, generation: u32) {
        if let Some(own) = &mut self.own {
            own.acknowledged(generation);
        }
    }

    /// The table of this end was sent, if the peer has to be told.
    pub(crate) fn sent(&mut self, now: Instant) {
        if let Some(own) = self.own.as_mut().filter(|own| !own.is_acknowledged()) {
            own.sent(now);
        }
    }

    /// Returns the table of this end unless the peer has it.
    pub(crate) fn unacknowledged(&self) -> Option<&Announcer<PathEntry>> {
        self.own.as_ref().filter(|own| !own.is_acknowledged())
    }

    /// Returns true if the peer knows where the numbers of this end begin.
    pub(crate) fn is_known(&self) -> bool {
        self.own.as_ref().is_some_and(Announcer::is_known)
    }
}
