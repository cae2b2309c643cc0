//! The receive window behind lines that make its paths equally long.

mod equalizer;
mod play;

use std::time::{Duration, Instant};

use super::playout::{Bounds, Class, Losses, PlayOut};
use super::{Config, Equalize, ReorderBuffer, Sink};
use crate::Times;
use crate::path::feedback::Observer;
use crate::sequence::Sequence;
use equalizer::{Equalizer, Held};

/// The receive window of a connection, with the paths' delays made equal before it (`equalizer.rs`
/// says why). `P` is the handle of a packet.
///
/// Packets that are held do not take part in anything yet: to the window they come when they are
/// released, in the order in which they came on their path.
#[derive(Debug)]
pub struct EqualizedBuffer<P> {
    buffer: ReorderBuffer<P>,
    equalizer: Equalizer<P>,
    /// The number of packets that were held.
    equalized: u64,
    /// The record of arrivals, while the peer wants it.
    observer: Option<Box<Observer>>,
    /// The play-out by send time, where the peer sends send times.
    playout: Option<Box<PlayOut<P>>>,
    /// The latter has packets wait, instead of the lines and the window.
    playing: bool,
    /// Packets may have to be restored: the peer sends symbols of forward error correction.
    restoring: bool,
    /// The large packets of TCP flows that have come, modulo 2^32.
    bulk: u32,
}

impl<P: Copy> EqualizedBuffer<P> {
    /// A window without paths; see [`ReorderBuffer::new`].
    #[must_use]
    pub fn new(config: Config) -> Self {
        let buffer = ReorderBuffer::new(config);
        Self {
            buffer,
            equalizer: Equalizer::new(),
            equalized: 0,
            observer: None,
            playout: None,
            playing: false,
            restoring: false,
            bulk: 0,
        }
    }

    /// The window itself.
    #[inline]
    #[must_use]
    pub const fn buffer(&self) -> &ReorderBuffer<P> {
        &self.buffer
    }

    /// The window itself, for all that concerns its paths but that they go down.
    pub const fn buffer_mut(&mut self) -> &mut ReorderBuffer<P> {
        &mut self.buffer
    }

    /// Returns what has come, while it is observed.
    #[inline]
    pub(crate) fn observer(&self) -> Option<&Observer> {
        self.observer.as_deref()
    }

    /// Returns what has come, while it is observed, to be gone on with.
    #[inline]
    pub(crate) fn observer_mut(&mut self) -> Option<&mut Observer> {
        self.observer.as_deref_mut()
    }

    /// Returns how many large packets of TCP flows have come, modulo 2^32.
    pub(crate) fn bulk(&self) -> u32 {
        self.bulk
    }

    /// Returns true while packets may have to be restored.
    #[inline]
    pub(crate) fn is_restoring(&self) -> bool {
        self.restoring
    }

    /// Packets may have to be restored from now on, or need not.
    pub(crate) fn set_restoring(&mut self, restoring: bool) {
        self.restoring = restoring;
    }

    /// Begins to observe what comes, or ends it.
    pub(crate) fn observe(&mut self, wanted: bool) {
        match wanted {
            true => {
                self.observer.get_or_insert_default();
            }
            false => {
                self.observer = None;
                if let Some(playout) = &mut self.playout {
                    playout.rest();
                }
            }
        }
    }

    /// A packet came on a path. `at`: the time, or [`Times`] where it is read after its arrival. The
    /// window knows only when packets are read: what arrived before a packet may be read after it.
    #[inline]
    pub fn receive(
        &mut self,
        at: impl Into<Times>,
        path: usize,
        sequence: u32,
        packet: P,
        class: Class,
        sink: &mut impl Sink<P>,
    ) {
        let at = at.into();
        self.bulk = self.bulk.wrapping_add(u32::from(class.is_bulk()));
        if self.playout.is_some() {
            self.receive_played(at, path, sequence, packet, class, sink);
        } else {
            self.receive_lined(at.now(), path, sequence, packet, class, sink);
        }
    }

    /// A packet that its path's line has wait, if anything does.
    #[inline]
    fn receive_lined(
        &mut self,
        now: Instant,
        path: usize,
        sequence: u32,
        packet: P,
        class: Class,
        sink: &mut impl Sink<P>,
    ) {
        if self.equalizer.is_idle() {
            self.buffer.receive(now, path, sequence, packet, sink);
        } else {
            self.receive_equalized(now, path, sequence, packet, class.is_timed(), sink);
        }
    }

    /// True if it wants to know the exact class of packets.
    #[inline]
    pub(crate) fn classifies(&self) -> bool {
        self.playout.is_some()
    }

    /// Returns true while packets are held by their send times.
    #[inline]
    pub(crate) fn plays(&self) -> bool {
        self.playing
    }

    /// Returns the time at which [`Self::handle_timeout`] has to be called; `None` while nothing waits.
    #[inline]
    #[must_use]
    pub fn next_timeout(&self) -> Option<Instant> {
        if self.equalizer.is_idle() && !self.playing {
            return self.buffer.next_timeout();
        }
        let playout = self.playout.as_ref().filter(|_| self.playing);
        let played = playout.and_then(|playout| playout.next_timeout());
        let released = self.equalizer.next_release();
        self.buffer.next_timeout().into_iter().chain(released).chain(played).min()
    }

    /// Delivers what was held or has waited long enough. May be called at any time.
    pub fn handle_timeout(&mut self, now: Instant, sink: &mut impl Sink<P>) {
        self.release(now, sink);
        self.follow_hold(now, sink);
        self.play(now, false, sink);
        self.buffer.handle_timeout(now, sink);
    }

    /// Packets of this path come earlier than those of the longest one by so much.
    pub fn set_lead(&mut self, path: usize, lead: Duration) {
        let config = self.buffer.config();
        let wanted = config.equalize != Equalize::Off && config.window() > 0;
        let lead = if wanted { lead.min(config.max_delay()) } else { Duration::ZERO };
        self.equalizer.set_lead(path, lead);
    }

    /// Sets how long lost packets are waited for, since the peer sends them again. If packets are
    /// lost at random, all bulk is held for as long, so that a packet takes the same time whether
    /// it is lost or not.
    pub fn set_repair_time(&mut self, time: Option<Duration>, losses: Losses) {
        self.buffer.set_repair_time(time.unwrap_or_default());
        if let Some(playout) = &mut self.playout {
            playout.set_repair_time(time.unwrap_or_default(), losses);
        }
    }

    /// The peer will not send `count` numbers again, from `first` on: they are not waited for any more,
    /// from the next [`Self::handle_timeout`] on. Returns how many of them are within reach.
    pub(crate) fn refuse(&mut self, now: Instant, first: u32, count: u32) -> u32 {
        match self.playout.as_mut().filter(|_| self.playing) {
            Some(playout) => playout.refuse(Sequence(first), count),
            None => self.buffer.refuse(now, first, count),
        }
    }

    /// Returns how many numbers ahead packets may wait, and how long at the most: of bulk that is held until its time, where
    /// that is so.
    #[must_use]
    pub fn bounds(&self) -> (u16, Duration) {
        match self.playout.as_ref().filter(|_| self.playing) {
            Some(playout) => playout.bounds().shown(),
            None => (self.buffer.config().window(), self.buffer.config().max_delay()),
        }
    }

    /// Returns how long packets of this path are held.
    #[must_use]
    pub fn lead(&self, path: usize) -> Duration {
        self.equalizer.lead(path)
    }

    /// Returns how many packets were held so far.
    #[must_use]
    pub const fn equalized(&self) -> u64 {
        self.equalized
    }

    /// Returns how many packets are held, or wait in the window.
    #[must_use]
    pub fn waiting(&self) -> usize {
        let played = self.playout.as_ref().map_or(0, |playout| playout.waiting());
        self.equalizer.held() + played + self.buffer.occupancy()
    }

    /// See [`ReorderBuffer::path_down`]. The packets that came on the path before are not lost: they are due at once.
    pub fn path_down(&mut self, now: Instant, path: usize) {
        self.equalizer.hurry(now, path);
        self.buffer.path_down(now, path);
    }

    /// See [`ReorderBuffer::remove_path`].
    pub fn remove_path(&mut self, now: Instant, path: usize) {
        self.equalizer.hurry(now, path);
        self.equalizer.set_lead(path, Duration::ZERO);
        if let Some(playout) = &mut self.playout {
            playout.remove_path(path);
        }
        self.buffer.remove_path(now, path);
    }

    /// See [`ReorderBuffer::restart`]: what is held came before.
    pub fn restart(&mut self, now: Instant, first: u32, sink: &mut impl Sink<P>) {
        self.release_all(now, sink);
        self.buffer.restart(now, first, sink);
        if let Some(playout) = &mut self.playout {
            playout.restart(Sequence(first));
        }
        if let Some(observer) = &mut self.observer {
            observer.set_kept(now, None);
        }
    }

    /// Delivers everything that is held or waits, in order.
    pub fn flush(&mut self, now: Instant, sink: &mut impl Sink<P>) {
        self.release_all(now, sink);
        self.buffer.flush(sink);
    }

    /// Changes the configuration. Leads have to be set anew where they were limited by it.
    pub fn set_config(&mut self, now: Instant, config: Config, sink: &mut impl Sink<P>) {
        self.release_all(now, sink);
        self.buffer.set_config(config, sink);
        if let Some(playout) = &mut self.playout {
            playout.set_bounds(Bounds::of(self.buffer.config()));
        }
        for path in 0..self.equalizer.paths() {
            self.set_lead(path, self.equalizer.lead(path));
        }
    }

    fn receive_equalized(
        &mut self,
        now: Instant,
        path: usize,
        sequence: u32,
        packet: P,
        timed: bool,
        sink: &mut impl Sink<P>,
    ) {
        self.release(now, sink);
        let early = timed || self.buffer.config().equalize == Equalize::All;
        let Some(release) = self.equalizer.release_of(now, path, early) else {
            self.buffer.receive(now, path, sequence, packet, sink);
            return;
        };
        // No more packets are held than the window may hold: with equal delays it holds hardly any itself.
        if self.equalizer.held() >= usize::from(self.buffer.config().window()) {
            self.release_path(now, path, sink);
        }
        if let Some(packet) = sink.keep(packet) {
            self.equalizer.hold(path, release, sequence, packet);
            self.equalized += 1;
        } else {
            self.release_path(now, path, sink);
            self.buffer.receive(now, path, sequence, packet, sink);
        }
    }

    /// Hands on what is due.
    fn release(&mut self, now: Instant, sink: &mut impl Sink<P>) {
        if self.equalizer.is_due(now) {
            for path in 0..self.equalizer.paths() {
                while let Some(held) = self.equalizer.take_due(now, path) {
                    self.hand_on(now, path, held, sink);
                }
            }
        }
    }

    /// Hands on everything that came on a path.
    fn release_path(&mut self, now: Instant, path: usize, sink: &mut impl Sink<P>) {
        while let Some(held) = self.equalizer.take(path) {
            self.hand_on(now, path, held, sink);
        }
    }

    fn release_all(&mut self, now: Instant, sink: &mut impl Sink<P>) {
        self.play(now, true, sink);
        for path in 0..self.equalizer.paths() {
            self.release_path(now, path, sink);
        }
    }

    fn hand_on(&mut self, now: Instant, path: usize, held: Held<P>, sink: &mut impl Sink<P>) {
        let Held { sequence, packet, .. } = held;
        let verdict = self.buffer.receive(now, path, sequence, packet, &mut Kept(sink));
        if verdict.is_dropped() {
            sink.discard(packet);
        }
    }
}

/// For packets that are kept already.
struct Kept<'a, S>(&'a mut S);

impl<P, S: Sink<P>> Sink<P> for Kept<'_, S> {
    fn keep(&mut self, packet: P) -> Option<P> {
        Some(packet)
    }

    fn deliver(&mut self, packet: P, _kept: bool, after_gap: bool) {
        self.0.deliver(packet, true, after_gap);
    }

    fn discard(&mut self, packet: P) {
        self.0.discard(packet);
    }
}
