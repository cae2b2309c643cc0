//! The notices that wait for the control side: the latest state of each thing, so that they stay few however long nobody asks.
//!
//! The data thread only says that there is something; the control side takes as much at a time as it likes. Events of sessions and requests of their
//! peers wait in the engine, which bounds them.

use mpt_core::node::Event;

use crate::data::system::System;
use crate::data::{DataPath, Notice};

impl<S: System> DataPath<S> {
    /// Takes at most `most` notices. The control side is woken again if there are more.
    pub(crate) fn take_notices(&mut self, most: usize) -> Vec<Notice> {
        self.notices.woken = false;
        let mut taken = Vec::new();
        while taken.len() < most {
            match self.notices.next().or_else(|| self.next_event_notice()) {
                Some(notice) => taken.push(notice),
                None => break,
            }
        }
        if taken.len() == most {
            self.notices.wake();
        }
        taken
    }

    /// Takes what happened to a session or a prototype's connection next, or what a peer asks.
    fn next_event_notice(&mut self) -> Option<Notice> {
        Some(match self.node.poll_event()? {
            Event::Session(event) => {
                let connection = self.connection_of(&event);
                Notice::Session { event, connection }
            }
            Event::Prototype(event) => Notice::Prototype { event },
        })
    }
}
