//! Numbers that jump, repeat, run ahead or start again, from somebody in the peer's place: what could be delivered is, once, and every packet
//! ends in one counter.

use std::net::SocketAddr;
use std::time::Duration;

use mpt_core::reorder::Counters;

use crate::data::in_memory::system::network::{Network, address, line, plain};
use crate::data::in_memory::system::packets;
use crate::data::in_memory::system::sockets::Datagram;

/// Longer than any gap is waited for here.
const QUIET: Duration = Duration::from_millis(500);

/// One daemon, and the peer's place.
struct Scene {
    network: Network,
    to: SocketAddr,
    sent: u32,
}

impl Scene {
    fn new() -> Self {
        let more = "window = 1000\nmax_delay = \"50 ms\"";
        let network = Network::with(21, &[line(5)], [0, 1].map(|side| plain(side, 1, more)));
        let to = network.hosts[1].socket(0, 1).borrow().local;
        Self { network, to, sent: 0 }
    }

    /// Sends packets with these numbers, their contents counted from 0 over all.
    fn send(&mut self, numbers: impl IntoIterator<Item = u32>) {
        for number in numbers {
            let form = self.network.hosts[0].form;
            let bytes = packets::datagram(&form, number, self.sent.into());
            let from = (address(0, 0), self.to.port()).into();
            self.network.inject(1, Datagram { from, to: self.to, tos: 0, bytes });
            self.sent += 1;
        }
    }

    fn reorder(&self) -> Counters {
        let tunnels = self.network.hosts[1].data.node.tunnels();
        let (_, connection) = tunnels.connections().next().expect("the only one");
        *connection.reorder().expect("it has numbers").counters()
    }

    /// Returns the packets that came out, once nothing waits any more, and the counters.
    fn end(mut self) -> (Vec<u64>, Counters) {
        self.network.run(QUIET);
        let reorder = self.reorder();
        assert_eq!(reorder.packets(), u64::from(self.sent), "one counter each: {reorder:?}");
        (self.network.hosts[1].numbers(), reorder)
    }
}

#[test]
fn replays_are_dropped() {
    let mut scene = Scene::new();
    scene.send(0..200);
    scene.send(50..150);
    scene.send([199, 199, 0]);
    scene.send(200..300);
    let (contents, reorder) = scene.end();
    assert_eq!((reorder.in_order, reorder.duplicate), (300, 103), "{reorder:?}");
    let expected: Vec<u64> = (0..200).chain(303..403).collect();
    assert_eq!(contents, expected);
}

#[test]
fn a_jump_within_the_window_is_waited_for_and_then_taken() {
    let mut scene = Scene::new();
    scene.send(0..100);
    scene.send(600..700);
    let (contents, reorder) = scene.end();
    assert_eq!((reorder.in_order + reorder.after_gap, reorder.late), (200, 0), "{reorder:?}");
    assert_eq!(contents, Vec::from_iter(0..200));
}

#[test]
fn a_jump_beyond_the_window_moves_it() {
    let mut scene = Scene::new();
    scene.send(0..100);
    scene.send(30_000..30_100);
    let (contents, reorder) = scene.end();
    assert_eq!(reorder.overflow + reorder.in_order + reorder.after_gap, 200, "{reorder:?}");
    assert_eq!(contents, Vec::from_iter(0..200));
}

#[test]
fn a_jump_beyond_everything_is_followed() {
    let mut scene = Scene::new();
    scene.send(0..100);
    scene.send(3_000_000_000..3_000_000_100);
    let (contents, reorder) = scene.end();
    assert!(reorder.stray >= 1 && reorder.stray <= 3, "{reorder:?}");
    assert_eq!(contents, Vec::from_iter(0..200));
}

#[test]
fn a_single_forged_number_far_ahead_leaves_the_others_in_order() {
    let mut scene = Scene::new();
    scene.send(0..100);
    scene.send([2_000_000_000]);
    scene.send(100..200);
    let (contents, reorder) = scene.end();
    assert_eq!((reorder.in_order, reorder.stray), (200, 1), "{reorder:?}");
    assert_eq!(contents, Vec::from_iter(0..201));
}

#[test]
fn a_forged_number_that_moves_the_window_loses_nothing() {
    let mut scene = Scene::new();
    scene.send(0..100);
    scene.send([50_000]);
    scene.send(100..2000);
    let (mut contents, reorder) = scene.end();
    assert_eq!((reorder.overflow, reorder.duplicate), (1, 0), "{reorder:?}");
    contents.sort_unstable();
    assert_eq!(contents, Vec::from_iter(0..2001));
}

#[test]
fn a_peer_that_starts_again_at_0_is_in_order_after_a_second() {
    let mut scene = Scene::new();
    scene.send(0..1000);
    let start = scene.network.now();
    let mut number = 0;
    // Nobody says that these are new packets, so they are taken for replays, until none has made progress for one second.
    let (first, reorder) = loop {
        scene.send(number..number + 1);
        scene.network.run(Duration::from_millis(5));
        let reorder = scene.reorder();
        if reorder.in_order + reorder.after_gap > 1000 {
            break (number, reorder);
        }
        number += 1;
        assert!(number < 1000, "not yet: {reorder:?}");
    };
    let took = scene.network.now() - start;
    assert!(took > Duration::from_secs(1), "after {took:?}, which is too early to be sure");
    assert_eq!(reorder.duplicate, u64::from(first), "{reorder:?}");
    scene.send(first + 1..first + 500);
    let (contents, reorder) = scene.end();
    assert_eq!(reorder.duplicate, u64::from(first), "{reorder:?}");
    let first = u64::from(first);
    let expected: Vec<u64> = (0..1000).chain(1000 + first..1000 + first + 500).collect();
    assert_eq!(contents, expected);
}

#[test]
fn numbers_go_on_beyond_the_highest() {
    let mut scene = Scene::new();
    scene.send(u32::MAX - 99..=u32::MAX);
    scene.send(0..100);
    let (contents, reorder) = scene.end();
    assert_eq!(reorder.in_order, 200, "{reorder:?}");
    assert_eq!(contents, Vec::from_iter(0..200));
}
