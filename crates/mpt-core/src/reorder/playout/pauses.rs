//! Pauses between flows, after which the hold is set anew.

use std::time::Instant;

use super::PlayOut;

/// Time without a packet that might have to wait, in microseconds, after which the hold may change
/// at once, since no flow notices. The window of a flow that begins comes at once, and then nothing
/// for a round-trip time, so it is [`IDLE_HOLDS`] times the hold where that is more.
const IDLE: i64 = 500_000;
/// The pause after which a flow counts as over, in holds: its packets are held in one direction, and its
/// acknowledgements for a part of that in the other one.
const IDLE_HOLDS: i64 = 3;
impl<P: Copy> PlayOut<P> {
    /// Lets the hold follow the present estimates of the paths.
    pub(crate) fn update_hold(&mut self, now: Instant) {
        let micros = self.micros(now);
        let idle = self.waited.is_none_or(|waited| self.is_over(waited, now));
        self.refused.forget_before(self.front);
        self.hold.update(micros, idle);
        self.flows.set_hold(self.extra().as_micros() as i64);
    }

    /// Sets the hold anew where a packet comes after a pause, before anything is decided about it. The next probe may come in the middle of the flow
    /// that begins, when it is too late.
    #[inline]
    pub(in crate::reorder) fn resume(&mut self, now: Instant) {
        // The packets of a batch have one time.
        let Some(waited) = self.waited.filter(|&waited| waited != now) else { return };
        if self.is_over(waited, now) {
            self.update_hold(now);
            // Packets that never wait do not end the pause.
            self.waited = None;
        }
    }

    /// Returns true if the flow that had its last packet at `waited` is over.
    fn is_over(&self, waited: Instant, now: Instant) -> bool {
        let holds = IDLE_HOLDS * self.hold.present().unwrap_or(0).min(self.bounds.hold);
        self.micros(now) - self.micros(waited) > IDLE.max(holds)
    }
}
