//! Packets that are not TCP are delivered as they come. Over paths that differ, such a flow keeps to one of them, so that it
//! comes in order: those inside are often congestion-controlled, as those of QUIC and of other tunnels, and take disorder
//! for loss. Only what one path does not carry goes over the others.

use std::time::Duration;

use mpt_core::Mapping;
use mpt_link::{Bitrate, QueueLimit};

use super::common;
use super::network::*;

/// One-way delays of both paths, in milliseconds; each carries 50 Mbit/s.
const DELAYS: [u64; 2] = [20, 120];
/// The disorder that a sender takes for loss: a fourth of the round-trip time (RFC 8985).
const NOTICED: Duration = millis(10);
/// Bytes of a packet.
const LEN: usize = 1_300;

/// The id of the first packet.
const FIRST: u64 = 1 << 40;

/// The course of a flow.
#[derive(Debug)]
struct Flow {
    sent: usize,
    came: usize,
    /// Packets of the second half that came later than [`NOTICED`] after one that was sent later.
    overtaken: usize,
    /// Packets by path.
    over: [usize; 2],
}

/// Sends UDP at this rate from the server for some seconds.
fn send(seed: u64, megabits: u64, seconds: u64) -> Flow {
    let limited = |params: &mut mpt_link::Params| {
        params.rate = Bitrate::from_megabits(50);
        params.queue = QueueLimit::Time(millis(100));
    };
    let setup = Setup { mapping: Mapping::Adaptive, ..Setup::new(seed, &DELAYS) };
    let mut network = Network::new(setup.links(limited));
    // Until the paths were surveyed.
    network.run(Duration::from_secs(6));
    assert!(network.is_all_up());
    network.captured_data = Some(Vec::new());
    let gap = Duration::from_nanos(LEN as u64 * 8_000 / megabits);
    let sent = (Duration::from_secs(seconds).as_nanos() / gap.as_nanos()) as u64;
    for id in 0..sent {
        network.run(gap);
        let mut data = vec![0; LEN - 36];
        data.extend((FIRST + id).to_be_bytes());
        let packet = common::udp("10.1.0.1", "10.0.0.1", 5_000, 5_201, &data);
        network.send_packet(SERVER, packet);
    }
    network.run(Duration::from_secs(2));
    let mut came = network.hosts[CLIENT].delivered.clone();
    came.sort_by_key(|&(_, id)| id);
    let mut first_behind = None;
    // Those that waited when the flow began to take both paths are overtaken once.
    let later = came.iter().rev().filter(|&&(_, id)| id - FIRST > sent / 2);
    let overtaken = later.map(|&(at, _)| {
        let by = first_behind.map_or(Duration::ZERO, |it| at.saturating_duration_since(it));
        first_behind = Some(first_behind.map_or(at, |it| at.min(it)));
        by
    });
    let overtaken = overtaken.filter(|&by| by > NOTICED).count();
    let captured = network.captured_data.take().unwrap_or_default();
    let over = [0, 1].map(|path| {
        captured
            .iter()
            .filter(|it| it.0 == SERVER && it.1 == path && it.2.bytes.len() > LEN)
            .count()
    });
    Flow { sent: sent as usize, came: came.len(), overtaken, over }
}

#[test]
fn what_one_path_carries_goes_over_it() {
    for seed in 0..4 {
        let flow = send(seed, 40, 3);
        assert_eq!((flow.came, flow.overtaken), (flow.sent, 0), "{flow:?}");
        // The other path has a few copies, which show what it is like.
        assert_eq!(flow.over[0], flow.sent, "{flow:?}");
    }
}

#[test]
fn what_it_does_not_carry_goes_over_the_other_one() {
    for seed in 0..4 {
        let flow = send(seed, 80, 5);
        assert!(flow.came as f64 > 0.97 * flow.sent as f64, "{flow:?}");
        assert!(flow.over[1] as f64 > 0.3 * flow.sent as f64, "{flow:?}");
        assert!((flow.overtaken as f64) < 0.1 * flow.sent as f64, "{flow:?}");
    }
}
