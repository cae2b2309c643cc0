//! A radio link stands still in handovers and scans, for some tenths of a second, and loses nothing. The tunnel carries nine tenths of what the
//! link carries alone, whose flow waits and goes on as before. It carried six tenths.

use std::time::Duration;

use mpt_link::{Bitrate, ByteCount, Change, QueueLimit};
use mpt_sim::tunnel::{FlowPlan, Path, Scene, TunnelPlan, Via};

const SEEDS: [u64; 8] = [1, 2, 3, 4, 5, 6, 7, 8];
/// The pauses of the first link, with their lengths, in milliseconds.
const PAUSES: [(u64, u64); 5] =
    [(4_000, 300), (6_000, 600), (9_000, 200), (12_000, 500), (15_000, 300)];
const STANDSTILL: Option<Bitrate> = Bitrate::new(1_000);

/// Returns the rate in Mbit/s of a flow over 79 Mbit/s and 6 ms with pauses, beside 17 Mbit/s and 46 ms.
fn rate(via: Via, seed: u64) -> f64 {
    let ms = Duration::from_millis;
    let links = vec![Path::new(79, ms(6)), Path::new(17, ms(46))];
    // The bytes of 155 ms and of 14 ms: a buffer holds no less while nothing leaves it.
    let buffer = |bytes| Change::Queue(QueueLimit::Bytes(ByteCount(bytes)));
    let buffers = [(ms(0), 0, buffer(1_536_000)), (ms(0), 1, buffer(30_720))];
    let pauses = PAUSES.into_iter().flat_map(|(at, length)| {
        let [stops, goes_on] = [STANDSTILL, Some(links[0].rate)].map(Change::Rate);
        [(ms(at), 0, stops), (ms(at + length), 0, goes_on)]
    });
    let changes = buffers.into_iter().chain(pauses).collect();
    let scene = Scene {
        links,
        tunnels: vec![TunnelPlan::adaptive(2)],
        flows: vec![FlowPlan::linux(via)],
        echoes: Vec::new(),
        streams: Vec::new(),
        changes,
        warm_up: Duration::from_secs(3),
        duration: Duration::from_secs(20),
        seed,
    };
    scene.run().goodput(0, 3.0, 20.0)
}

#[test]
fn the_tunnel_carries_as_much_as_the_link_alone() {
    let mean = |via| SEEDS.map(|seed| rate(via, seed)).iter().sum::<f64>() / SEEDS.len() as f64;
    let (alone, tunnel) = (mean(Via::Link(0)), mean(Via::Tunnel(0)));
    assert!(tunnel > 0.9 * alone, "seeds {SEEDS:?}: {tunnel} Mbit/s, {alone} alone");
}
