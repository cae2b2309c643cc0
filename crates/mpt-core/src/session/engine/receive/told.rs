//! The messages of a frame about the data, which have a meaning only together.

use mpt_wire::control::{
    ArrivedEntry, Entries, MissingEntry, MissingMap, ReceivedEntry, SentEntry,
};

use super::context::Context;
use crate::DeviceSink;
use crate::session::engine::lifecycle::session::Session;

/// The statements of a frame about the data.
#[derive(Debug, Default)]
pub(crate) struct Told<'a> {
    /// The clock of the frame's times, and its time.
    pub(crate) clock: Option<(u32, u32)>,
    pub(crate) arrived: Option<(u32, Entries<'a, ArrivedEntry>)>,
    pub(crate) received: Option<Entries<'a, ReceivedEntry>>,
    pub(crate) missing: Option<Entries<'a, MissingEntry>>,
    pub(crate) missing_map: Option<MissingMap<'a>>,
    pub(crate) sent_up_to: Option<Entries<'a, SentEntry>>,
    /// The peer keeps what it has sent.
    pub(crate) kept: bool,
}

impl Session {
    /// Does what the messages of a frame mean together. `ours`: by names that this end gave.
    pub(crate) fn handle_told<P: Copy, S: DeviceSink<P>>(
        &mut self,
        ours: bool,
        told: &Told<'_>,
        context: &mut Context<'_, P, S>,
    ) {
        let Context { at, shared, tunnels, .. } = context;
        let now = at.now();
        if let (Some((clock, _)), Some((time, arrived)), Some(received)) =
            (told.clock, &told.arrived, &told.received)
        {
            let reported = (clock, *time);
            self.handle_feedback(now, ours, reported, arrived.iter(), received.iter(), tunnels);
        }
        if let (Some(reported), Some(received), Some(missing)) =
            (told.clock, &told.received, &told.missing)
        {
            let missing = (missing, told.missing_map);
            self.handle_missing(now, ours, reported, received, missing, shared, tunnels);
        }
        if let Some(sent_up_to) = &told.sent_up_to {
            self.handle_sent_up_to(ours, sent_up_to.iter(), tunnels);
            if !told.kept {
                self.handle_none_kept(tunnels);
            }
        }
    }
}
