//! Over paths that differ, the flows of a server whose flows have been short take the short path, and are delivered as
//! they come. Flows of which nothing is known are held for the long one from their first packet on.

use std::time::Duration;

use mpt_core::Mapping;

use super::common;
use super::network::*;

/// One-way delays of both paths, in milliseconds.
const DELAYS: [u64; 2] = [20, 120];
/// Packets of data in a flow.
const PACKETS: u32 = 20;
const PAYLOAD: usize = 1_300;
const SYN: u8 = 2;
const ACK: u8 = 0x10;
const FIN: u8 = 1;

/// A client that loads something from a server over one connection after the other.
struct Loading {
    network: Network,
    server_port: u16,
    client_port: u16,
    /// The id of the next packet.
    id: u64,
}

/// The course of a flow.
#[derive(Debug)]
struct Load {
    /// The longest time that a packet with data took.
    longest: Duration,
    /// Packets with data by path.
    over: [usize; 2],
    /// The packets came in the order in which they were sent.
    in_order: bool,
}

impl Loading {
    fn new(setup: Setup) -> Self {
        let setup = Setup { mapping: Mapping::Adaptive, ..setup };
        let mut network = Network::new(setup);
        // Until the paths were surveyed.
        network.run(Duration::from_secs(6));
        assert!(network.is_all_up());
        Self { network, server_port: 80, client_port: 40_000, id: 1 << 40 }
    }

    /// Sends a TCP segment from a side; returns its id.
    fn send(&mut self, side: Side, flags: u8, acknowledges: u32, payload: usize) -> u64 {
        self.id += 1;
        let mut data = vec![0; payload.saturating_sub(8)];
        data.extend(self.id.to_be_bytes());
        let [from, to] = [side, 1 - side].map(|side| format!("10.{side}.0.1"));
        let mut packet = common::tcp(&from, &to, flags, &[], &data);
        let mut ports = [self.client_port, self.server_port];
        ports.rotate_left(side);
        packet[20..22].copy_from_slice(&ports[0].to_be_bytes());
        packet[22..24].copy_from_slice(&ports[1].to_be_bytes());
        packet[28..32].copy_from_slice(&acknowledges.to_be_bytes());
        self.network.send_packet(side, packet);
        self.id
    }

    /// Waits until the other side has a packet of `side`.
    fn wait_for(&mut self, side: Side, id: u64) {
        let come = |network: &Network| network.delivered(side).contains(&id);
        self.network.expect(Duration::from_secs(2), "a packet arrives", come);
    }

    fn load(&mut self) -> Load {
        self.client_port += 1;
        let syn = self.send(CLIENT, SYN, 0, 0);
        self.wait_for(CLIENT, syn);
        let answer = self.send(SERVER, SYN | ACK, 1, 0);
        self.wait_for(SERVER, answer);
        let request = self.send(CLIENT, ACK, 1, 400);
        self.wait_for(CLIENT, request);
        self.network.captured_data = Some(Vec::new());
        let began = self.network.now();
        let data: Vec<u64> = (0..PACKETS)
            .map(|_| {
                self.network.run(millis(1));
                self.send(SERVER, ACK, 401, PAYLOAD)
            })
            .collect();
        let last = *data.last().expect("there are some");
        self.wait_for(SERVER, last);
        self.network.run(millis(300));
        let captured = self.network.captured_data.take().unwrap_or_default();
        let over = [0, 1].map(|wanted| {
            let carried = |it: &&(Side, usize, Wire)| {
                it.0 == SERVER && it.1 == wanted && it.2.bytes.len() > PAYLOAD
            };
            captured.iter().filter(carried).count()
        });
        let came: Vec<_> = self.network.hosts[CLIENT].delivered.clone();
        let came: Vec<_> = came.into_iter().filter(|(_, id)| data.contains(id)).collect();
        let took = came.iter().zip(1..).map(|((at, _), nth)| *at - began - millis(nth));
        let acknowledges = 1 + PACKETS * PAYLOAD as u32;
        self.send(CLIENT, FIN | ACK, acknowledges, 0);
        self.send(SERVER, FIN | ACK, 402, 0);
        self.network.run(millis(700));
        Load {
            longest: took.max().expect("data arrived"),
            over,
            in_order: came.iter().map(|&(_, id)| id).eq(data),
        }
    }
}

#[test]
fn once_those_before_them_were_short() {
    for seed in 0..4 {
        let mut loading = Loading::new(Setup::new(seed, &DELAYS).sealed());
        let loads: Vec<Load> = (0..8).map(|_| loading.load()).collect();
        assert!(loads.iter().all(|load| load.in_order));
        assert!(loads[..4].iter().all(|load| load.longest >= millis(DELAYS[1])));
        for load in &loads[4..] {
            // A packet waits for those before it to leave, and no longer.
            assert!(load.longest < millis(DELAYS[0] + 5), "{load:?}");
            assert_eq!(load.over, [PACKETS as usize, 0]);
        }
        // Nothing is known of another port.
        loading.server_port = 443;
        assert!(loading.load().longest >= millis(DELAYS[1]));
    }
}

/// Only a sealed packet can say that it is to be delivered at once.
#[test]
fn and_no_plain_ones() {
    let mut loading = Loading::new(Setup::new(0, &DELAYS));
    assert!((0..8).all(|_| loading.load().longest >= millis(DELAYS[1])));
}

#[test]
fn and_none_that_the_other_end_is_to_put_in_order() {
    let repair = mpt_core::Repair::All;
    let mut loading = Loading::new(Setup { repair, ..Setup::new(0, &DELAYS).sealed() });
    assert!((0..8).all(|_| loading.load().longest >= millis(DELAYS[1])));
}
