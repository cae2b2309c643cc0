//! One TCP over one link, against stored results of ns-3.37 (docs/simulation.md, "Single path"): 50 MB over 0.5 Mbit/s
//! with a queue of 100 packets, timestamps, selective acknowledgements, an initial window of 10 and a timer of at least
//! 1 s.

use std::time::Duration;

use mpt_link::{Bitrate, Params, QueueLimit};
use mpt_sim::congestion::Control;
use mpt_sim::network::Network;
use mpt_sim::simulation::{End, Simulation};
use mpt_sim::tcp::{Config, Receiver, Sender, Treatment, WireSizes};
use mpt_sim::time::Time;

struct Vector {
    delay: u64,
    queue: usize,
    segments: u64,
    /// Seconds to completion, and the window at which packets are lost.
    seconds: f64,
    loss_window: f64,
}

/// 50 MB in packets of 1400 bytes.
const FILE: u64 = 35_714;

const VECTORS: [Vector; 6] = [
    Vector { delay: 10, queue: 100, segments: FILE, seconds: 837.92, loss_window: 102.9 },
    Vector { delay: 50, queue: 100, segments: FILE, seconds: 838.4, loss_window: 106.7 },
    Vector { delay: 100, queue: 100, segments: FILE, seconds: 838.9, loss_window: 110.7 },
    Vector { delay: 200, queue: 100, segments: FILE, seconds: 838.67, loss_window: 119.9 },
    Vector { delay: 500, queue: 100, segments: FILE, seconds: 841.2, loss_window: 145.3 },
    Vector { delay: 10, queue: 20, segments: 7_143, seconds: 166.2, loss_window: 22.9 },
];

/// Seconds to completion, and the windows that were reduced.
fn measure(vector: &Vector) -> (f64, Vec<f64>) {
    let mut network = Network::new();
    let link = Params {
        rate: Bitrate::new(500_000),
        queue: QueueLimit::Packets(vector.queue),
        delay: Duration::from_millis(vector.delay),
        ..Params::default()
    };
    let route = network.add_duplex(link, 1, 0);
    let sizes = WireSizes::ipv4(1400, 2, 0);
    let config = Config::standard(Control::Reno, Treatment::None);
    let mut simulation = Simulation::new(network, true);
    let sender = Sender::new(config, sizes, Some(vector.segments));
    simulation.add_flow(sender, Receiver::new(sizes), &[route], Time::ZERO);
    let (mut reduced, mut before) = (Vec::new(), 0.0);
    let end = simulation.run(Time::ZERO + Duration::from_secs(2000), |_, _, flow| {
        let window = flow.sender.subflow().window();
        if window < 0.8 * before {
            reduced.push(before);
        }
        before = window;
    });
    assert_eq!(end, End::Finished);
    let finished = simulation.flows()[0].finished.unwrap();
    (finished.as_secs_f64(), reduced)
}

#[test]
fn completion_within_one_percent_and_loss_windows_within_two_packets() {
    for vector in &VECTORS {
        let (seconds, reduced) = measure(vector);
        let what = format!("{} ms, queue of {}", vector.delay, vector.queue);
        assert!((seconds / vector.seconds - 1.0).abs() <= 0.01, "{what}: {seconds} s");
        // The first is the overshoot of slow start.
        assert!(reduced.len() > 4, "{what}: {reduced:?}");
        for window in &reduced[1..] {
            assert!((window - vector.loss_window).abs() <= 2.0, "{what}: {reduced:?}");
        }
    }
}

#[test]
fn slow_start_overshoots_to_twice_what_the_path_holds() {
    let (_, reduced) = measure(&VECTORS[0]);
    assert!((reduced[0] - 203.0).abs() <= 2.0, "{reduced:?}");
}
