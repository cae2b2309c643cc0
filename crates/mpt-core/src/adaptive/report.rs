//! The handling of the peer's reports.

use std::time::Instant;

use super::Adaptive;
use super::log::Sent;
use super::path::Compared;
use super::peer::{Clock, Counters};
use crate::path::model::{Pause, Present, Report};
use crate::sequence::Sequence;

/// A packet that has arrived, with its time of arrival by the peer's clock in microseconds modulo
/// 2^32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrived {
    pub(crate) slot: u16,
    pub(crate) number: u32,
    pub(crate) time: u32,
}

/// The counters of what has arrived on one path, all modulo 2^32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Received {
    pub(crate) slot: usize,
    pub(crate) packets: u32,
    /// The bytes of inner packets.
    pub(crate) bytes: u32,
    pub(crate) highest: u32,
    /// A number, and the count of packets that have arrived up to it. The missing ones are lost.
    pub(crate) settled: Option<(u32, u32)>,
    /// Packets that arrived with "congestion experienced" in the outer header.
    pub(crate) marked: u32,
}

/// A report of the peer.
pub(crate) struct PeerReport<'a> {
    /// The life of the peer's clock. It changes when the peer starts anew.
    pub(crate) clock: u32,
    /// The time of the report by that clock, in microseconds modulo 2^32.
    pub(crate) time: u32,
    pub(crate) arrived: &'a [Arrived],
    pub(crate) received: &'a [Received],
}

impl Adaptive {
    /// Takes a report of the peer. Reports that are lost, late or repeated do no harm, since all
    /// counters are cumulative. A false report harms the peer's own connection only.
    pub(crate) fn handle_report(&mut self, now: Instant, report: &PeerReport<'_>) {
        let micros = self.micros(now);
        let goes_on = |clock: &Clock| clock.id == report.clock && !clock.has_run_away();
        let known = self.peer.clock.filter(goes_on);
        let at = known.map_or(0, |clock| clock.unwrap(report.time));
        if known.is_some_and(|clock| at <= clock.micros) {
            return;
        }
        if known.is_none() {
            self.peer.counters.clear();
            self.paths.iter_mut().flatten().for_each(|path| path.model.restart());
        }
        let clock = Clock { id: report.clock, last: report.time, micros: at };
        self.peer.clock = Some(clock);
        self.silence.note_report();

        for &Arrived { slot, number, time } in report.arrived {
            if let Some(sent) = self.sent(slot, number)
                && let Some(Some(path)) = self.paths.get_mut(usize::from(slot))
                && !path.has_resent(number)
            {
                let delay = clock.unwrap(time) - sent.time;
                path.model.record_delay(Sequence(number), sent.time, delay);
            }
        }
        for &received in report.received {
            self.handle_received(micros, at, received);
        }
        self.assign_roles(micros);
        self.note_carried(micros);
        self.reorder_paths();
        self.update_keeping(micros);
        self.log.forget_before(micros - 5_000_000);
        for path in self.paths.iter_mut().flatten() {
            path.copies.forget_before(micros - 5_000_000);
        }
    }

    /// Returns the log entry of a number that was sent over a path, as itself or as a copy.
    pub(super) fn sent(&self, slot: u16, number: u32) -> Option<Sent> {
        let own = self.log.find(number).filter(|sent| sent.slot == Some(slot));
        own.or_else(|| self.path_at(slot)?.copies.find(number))
    }

    fn handle_received(&mut self, now: i64, at: i64, received: Received) {
        let Received { slot, packets, bytes, highest, settled, marked } = received;
        let settled = settled.and_then(|(number, came)| {
            let sent = self.sent(slot as u16, number)?;
            let path = self.paths.get(slot)?.as_ref()?;
            // Repairs have arrived since then under lower numbers.
            let until = path.model.base_delay().map_or(now, |base| at - base as i64);
            let resent = path.resent_between(number, sent.time, until);
            let sent = sent.packets.wrapping_add(resent);
            Some(Compared { last: Sequence(number), sent, came })
        });
        if let Some(settled) = settled {
            self.compare_losses(now, slot, settled);
        }
        let sent = self.sent(slot as u16, highest);
        let Some(Some(path)) = self.paths.get_mut(slot) else { return };
        let counters = &mut self.peer.counters;
        if counters.len() <= slot {
            counters.resize(slot + 1, None);
        }
        if counters[slot].take_if(|counter| counter.have_run_away()).is_some() {
            path.model.restart();
        }
        let counter =
            counters[slot].get_or_insert(Counters { packets, bytes, total: 0, all_packets: 0 });
        if packets.wrapping_sub(counter.packets).cast_signed() < 0 {
            // The peer counts anew, as it does after a pause.
            (counter.packets, counter.bytes) = (packets, bytes);
            path.model.restart();
        }
        counter.total += u64::from(bytes.wrapping_sub(counter.bytes));
        counter.all_packets += u64::from(packets.wrapping_sub(counter.packets));
        (counter.packets, counter.bytes) = (packets, bytes);
        let outer = counter.total + counter.all_packets * u64::from(path.overhead);
        let Some(sent) = sent else { return };
        let report = Report {
            at,
            bytes: outer,
            sent_at: sent.time,
            sent_bytes: sent.bytes,
            settled: settled.map(|it| (it.sent, it.came)),
            marked,
        };
        let present = Present {
            now,
            sent_bytes: path.bytes,
            sent_packets: path.packets,
            backlogged: path.backlogged,
        };
        path.backlogged = false;
        match path.model.handle_report(&report, &present) {
            Some(Pause::Until(time)) => path.pacer.hold_until(time),
            Some(Pause::Ends) => path.pacer.release(now),
            None => {}
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "any instant will do as the origin")]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::adaptive::Wants;
    use crate::scheduler::Member;

    fn arrived() -> impl Strategy<Value = Arrived> {
        (0..4_u16, 0..300_u32, any::<u32>()).prop_map(|(slot, number, time)| Arrived {
            slot,
            number,
            time,
        })
    }

    fn received() -> impl Strategy<Value = Received> {
        let settled = proptest::option::of((0..300_u32, any::<u32>()));
        (0..4_usize, any::<u32>(), any::<u32>(), 0..300_u32, settled, any::<u32>()).prop_map(
            |(slot, packets, bytes, highest, settled, marked)| Received {
                slot,
                packets,
                bytes,
                highest,
                settled,
                marked,
            },
        )
    }

    /// The sums stand where hundreds of millions of false reports have brought them.
    #[test]
    fn a_peer_whose_sums_run_away_begins_anew() {
        let start = Instant::now();
        let mut adaptive = Adaptive::new(start);
        let member = Member { weight: 1, tier: 0, up: true, identity: 0 };
        adaptive.set(0, Some(member), 36);
        let number = 1;
        assert_eq!(
            adaptive.leave(adaptive.micros(start), number, 1_400, Wants::default()),
            Some(0)
        );
        let (packets, bytes) = (0, 0);
        let sums = |total, all_packets| Some(Counters { packets, bytes, total, all_packets });
        let highest = number;
        let received =
            [Received { slot: 0, packets: 1, bytes: 1_400, highest, settled: None, marked: 0 }];
        for (micros, counters) in [
            (i64::MAX, sums(0, 0)),
            (0, sums(u64::MAX, 0)),
            (0, sums(0, u64::MAX)),
            (0, sums(0, u64::MAX / 36)),
        ] {
            adaptive.peer.clock = Some(Clock { id: 1, last: 0, micros });
            adaptive.peer.counters = vec![counters];
            let report = PeerReport { clock: 1, time: 1, arrived: &[], received: &received };
            adaptive.handle_report(start, &report);
            let counters = adaptive.peer.counters[0].expect("counters");
            assert_eq!((counters.total, counters.all_packets), (0, 0));
        }
    }

    /// Adds a path whose first probe has taken `rtt`.
    fn add(adaptive: &mut Adaptive, slot: usize, rtt: Duration) {
        let member = Member { weight: 1, tier: 0, up: true, identity: slot as u64 };
        adaptive.set(slot, Some(member), 36);
        let mut measured = crate::session::Rtt::new();
        measured.record(rtt);
        adaptive.set_rtt(slot, measured.known().expect("a sample"));
    }

    /// A sender over one path of 19 Mbit/s, as far as is known.
    fn sender(start: Instant) -> Adaptive {
        let mut adaptive = Adaptive::new(start);
        add(&mut adaptive, 0, Duration::from_micros(400));
        adaptive
    }

    /// Returns how many of `most` packets leave at once, from `number` on.
    fn leave(adaptive: &mut Adaptive, now: Instant, number: u32, most: u32) -> u32 {
        let micros = adaptive.micros(now);
        let leaves =
            |&n: &u32| adaptive.leave(micros, number + n, 1_400, Wants::default()).is_some();
        (0..most).take_while(leaves).count() as u32
    }

    /// The packets of the handshake had no report. When the flow began, all of its first packets left until
    /// the first report, and then none for as long as the path would have taken for them: 0.3 s.
    #[test]
    fn a_flow_that_begins_some_time_after_its_handshake_is_paced() {
        let start = Instant::now();
        let mut adaptive = sender(start);
        assert_eq!(leave(&mut adaptive, start, 0, 1), 1);
        let left = leave(&mut adaptive, start + Duration::from_secs(3), 1, 1_000);
        assert!((1..10).contains(&left), "{left}");
    }

    /// A sender whose peer sends no reports, so that all packets leave at once. Returns it with the time and the next number.
    fn unlimited(start: Instant) -> (Adaptive, Instant, u32) {
        let mut adaptive = sender(start);
        let (mut now, mut number) = (start, 0);
        while now < start + Duration::from_secs(2) {
            number += leave(&mut adaptive, now, number, 1);
            now += Duration::from_millis(10);
        }
        assert_eq!(leave(&mut adaptive, now, number, 1_000), 1_000);
        (adaptive, now, number + 1_000)
    }

    /// A report that comes after all finds the path as if it had been idle.
    #[test]
    fn what_left_while_the_peer_was_silent_holds_nothing_up() {
        let (mut adaptive, now, number) = unlimited(Instant::now());
        let report = PeerReport { clock: 1, time: 1, arrived: &[], received: &[] };
        adaptive.handle_report(now, &report);
        let left = leave(&mut adaptive, now + Duration::from_millis(1), number, 1_000);
        assert!((1..10).contains(&left), "{left}");
    }

    /// The path owed the next flow what had left without a limit, as no report had ever come.
    #[test]
    fn what_left_while_the_peer_was_silent_holds_nothing_up_after_a_pause() {
        let (mut adaptive, now, mut number) = unlimited(Instant::now());
        // The path would have taken 0.6 s for a thousand packets.
        for _ in 0..9 {
            assert_eq!(leave(&mut adaptive, now, number, 1_000), 1_000);
            number += 1_000;
        }
        let left = leave(&mut adaptive, now + Duration::from_secs(2), number, 1_000);
        assert!((1..10).contains(&left), "{left}");
    }

    proptest! {
        /// Whatever a peer reports, the rates stay numbers, and packets leave.
        #[test]
        fn a_report_that_lies_stops_nothing(
            reports in proptest::collection::vec(
                (
                    any::<bool>(),
                    any::<u32>(),
                    proptest::collection::vec(arrived(), 0..8),
                    proptest::collection::vec(received(), 0..4),
                ),
                1..40,
            )
        ) {
            let start = Instant::now();
            let mut adaptive = Adaptive::new(start);
            for slot in 0..3 {
                add(&mut adaptive, slot, Duration::from_millis(20 + 10 * slot as u64));
            }
            let (mut now, mut number) = (start, 0);
            for (clock, time, arrived, received) in reports {
                for _ in 0..20 {
                    if let Some(slot) = adaptive.leave(adaptive.micros(now), number, 1_400, Wants::default()) {
                        adaptive.copy(now, slot, number, 1_400, false, |_| {});
                        number += 1;
                    }
                    now += Duration::from_millis(1);
                }
                let (clock, arrived, received) = (u32::from(clock), &*arrived, &*received);
                adaptive.handle_report(now, &PeerReport { clock, time, arrived, received });
                for (_, path) in adaptive.paths() {
                    prop_assert!(path.model.rate().is_finite() && path.model.rate() > 0.0);
                }
            }
            // However long the worst report has the paths drain, it ends.
            let later = now + Duration::from_secs(10);
            prop_assert!(adaptive.leave(adaptive.micros(later), number, 1_400, Wants::default()).is_some());
        }
    }
}
