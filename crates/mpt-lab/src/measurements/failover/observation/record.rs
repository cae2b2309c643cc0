//! The record around one event, and the times that follow from it.

use std::collections::HashMap;
use std::time::Duration;

use super::capture::Packet;
use crate::topology::End;
use crate::traffic::Moment;
use crate::traffic::bulk::Arrived;
use crate::traffic::datagrams::Arrivals;

/// Time in milliseconds between the receiver's outer interface and its tunnel device above which a packet has waited for another one; shorter times
/// are those of a busy machine.
const WAITED: f64 = 20.0;
/// Time without a wait after which later waits have nothing to do with the event any more: even packets of a full queue have arrived by then.
const CALM: Duration = Duration::from_millis(300);
/// Time before which the first missing number is not looked for: packets that were sent together may be captured in any order.
const BEFORE: Duration = Duration::from_millis(20);

/// Everything that was observed.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// Data packets at the outer interfaces of hosts a and b.
    pub(crate) packets: [Vec<Packet>; 2],
    /// The TCP flow from a to b, if there was one.
    pub(crate) goodput: Option<Arrived>,
    /// The metronome from a to b, and that from b to a.
    pub(crate) beats: [Arrivals; 2],
}

impl Record {
    /// The time from the event until one end has stopped using the interface `dead`, in milliseconds: until the last data packet left by
    /// it, or was given to it in vain. A packet that was given to an interface without carrier shows in no capture, but its number is
    /// missing among those that left elsewhere. Infinite when nothing at all left since.
    pub(crate) fn stopped_using(&self, end: End, dead: u32, event: Moment) -> f64 {
        let sent = self.packets[index(end)].iter().filter(|packet| packet.outgoing);
        let sent: Vec<&Packet> = sent.filter(|packet| packet.at >= event.before(BEFORE)).collect();
        if !sent.iter().any(|packet| packet.at >= event && packet.interface != dead) {
            return f64::INFINITY;
        }
        let by_interface = sent.iter().filter(|packet| packet.interface == dead);
        let last = by_interface.map(|packet| packet.at).max().unwrap_or(event);
        let missing = last_missing(&sent).unwrap_or(event);
        last.max(missing).max(event).millis_since(event)
    }

    /// The time from the event until one end delivers what arrives without waiting for packets that will not come, in milliseconds.
    pub(crate) fn stopped_waiting(&self, end: End, event: Moment) -> f64 {
        let mut waits: Vec<(Moment, f64)> = self.waits(end).collect();
        waits.retain(|&(at, wait)| at >= event && wait > WAITED);
        waits.sort_unstable_by_key(|&(at, _)| at);
        let mut until = event;
        for (at, wait) in waits {
            let began = at.before(Duration::from_secs_f64(wait / 1e3));
            if began > until.after(CALM) {
                break;
            }
            until = at;
        }
        until.millis_since(event)
    }

    /// The longest round trip through the tunnel from `start` until `end`, in milliseconds, as the sum of both ways.
    pub(crate) fn round_trip(&self, start: Moment, end: Moment) -> f64 {
        let longest = |beats: &Arrivals| {
            let ways = beats.arrivals.iter().filter(|beat| (start..=end).contains(&beat.at));
            ways.map(|beat| beat.at.millis_since(beat.sent)).fold(0.0, f64::max)
        };
        longest(&self.beats[0]) + longest(&self.beats[1])
    }

    /// Returns the time at which a metronome's packets were delivered at one end, and how long after their arrival, in milliseconds.
    fn waits(&self, end: End) -> impl Iterator<Item = (Moment, f64)> + '_ {
        let incoming = self.packets[index(end)].iter().filter(|packet| !packet.outgoing);
        let arrived: HashMap<u64, Moment> =
            incoming.filter_map(|packet| Some((packet.beat?, packet.at))).collect();
        let beats = &self.beats[1 - index(end)];
        beats.arrivals.iter().filter_map(move |beat| {
            Some((beat.at, beat.at.millis_since(*arrived.get(&beat.number)?)))
        })
    }
}

/// Returns the position of a host's packets in [`Record::packets`].
pub(crate) fn index(end: End) -> usize {
    match end {
        End::A => 0,
        End::B => 1,
    }
}

/// Returns the time at which the last sequence number that is missing would have left: with the next one that did.
fn last_missing(sent: &[&Packet]) -> Option<Moment> {
    let first = sent.iter().find_map(|packet| packet.sequence)?;
    // Relative to the first, because the numbers wrap.
    let mut numbers: Vec<(i32, Moment)> = sent
        .iter()
        .filter_map(|packet| Some((packet.sequence?.wrapping_sub(first) as i32, packet.at)))
        .collect();
    numbers.sort_unstable();
    let gaps = numbers.windows(2).filter(|pair| pair[1].0 > pair[0].0 + 1);
    gaps.map(|pair| pair[1].1).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::datagrams::Arrival;

    const EVENT: Moment = Moment(1_000_000_000);

    fn at(millis: u64) -> Moment {
        EVENT.after(Duration::from_millis(millis))
    }

    fn sent(interface: u32, sequence: u32, millis: u64) -> Packet {
        let sequence = Some(sequence);
        Packet { at: at(millis), interface, outgoing: true, sequence, beat: None }
    }

    fn record(packets: Vec<Packet>) -> Record {
        Record { packets: [packets, Vec::new()], ..Record::default() }
    }

    #[test]
    fn the_last_packet_on_the_dead_path_counts() {
        let record = record(vec![sent(1, 0, 1), sent(2, 1, 1), sent(1, 2, 30), sent(2, 3, 90)]);
        assert_eq!(record.stopped_using(End::A, 1, EVENT), 30.0);
        assert_eq!(record.stopped_using(End::A, 7, EVENT), 0.0);
        assert!(record.stopped_using(End::B, 1, EVENT).is_infinite(), "nothing was sent");
    }

    #[test]
    fn a_packet_given_to_an_interface_without_carrier_counts() {
        let last = u32::MAX;
        let packets = vec![
            sent(2, last - 3, 0),
            // last - 2 was lost; the two others come out of order.
            sent(2, last, 10),
            sent(2, last - 1, 11),
            // 0 was lost.
            sent(2, 1, 40),
            sent(2, 2, 90),
        ];
        assert_eq!(record(packets).stopped_using(End::A, 1, EVENT), 40.0);
    }

    #[test]
    fn waiting_is_measured_from_arrival_to_delivery() {
        let incoming =
            |number, millis| Packet { outgoing: false, beat: Some(number), ..sent(2, 0, millis) };
        let arrival = |number, millis| Arrival { number, sent: at(0), at: at(millis) };
        let record = Record {
            packets: [
                Vec::new(),
                vec![incoming(1, 10), incoming(2, 20), incoming(3, 200), incoming(4, 1000)],
            ],
            goodput: None,
            beats: [
                Arrivals {
                    sent: 4,
                    arrivals: vec![
                        arrival(1, 90),
                        arrival(2, 91),
                        arrival(3, 201),
                        // Much later, because of something else.
                        arrival(4, 1100),
                    ],
                    ..Arrivals::default()
                },
                Arrivals::default(),
            ],
        };
        assert_eq!(record.stopped_waiting(End::B, EVENT), 91.0, "the third did not wait");
        assert_eq!(record.stopped_waiting(End::A, EVENT), 0.0);
        assert_eq!(record.round_trip(at(0), at(100)), 91.0);
    }
}
