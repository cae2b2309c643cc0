//! Forward error correction restores what is lost of a call, plain or sealed, whole and once.

use std::collections::BTreeSet;
use std::time::Duration;

use mpt_core::FecCounters;
use mpt_link::{Loss, Params, Probability};

use crate::data::in_memory::system::network::{Network, Side, slow_line, text};

/// Repairs are off, so that nothing else brings back what is lost.
const MORE: &str = "mapping = \"adaptive\"\nrepair = \"off\"";
const INTERVAL: Duration = Duration::from_millis(5);
/// The packets of a call. Of a quarter as many none to eight are lost in spite of the correction, by chance.
const PACKETS: u64 = 24_000;

/// Lines of 20 Mbit/s and 10 ms that lose this share of the packets.
fn lines(loss: f64) -> Vec<Params> {
    let loss = Loss::Bernoulli(Probability::new(loss).expect("a probability"));
    vec![Params { loss, ..slow_line(20, 10) }; 2]
}

/// Sends 200 packets of 200 bytes per second; what came of them, and the counters of a side.
fn call(seed: u64, loss: f64, more: &str, select: &str) -> (Network, u64) {
    let texts = [0, 1].map(|side| format!("{}{select}", text(side, 2, &format!("{MORE}\n{more}"))));
    let mut network = Network::with(seed, &lines(loss), texts);
    network.establish();
    // A survey shows what the lines lose.
    network.run(Duration::from_secs(4));
    network.hosts[0].form.payload = 172;
    let first = network.hosts[0].sent();
    network.send(0, 1000, PACKETS, INTERVAL);
    network.run(Duration::from_secs(1));
    let numbers = network.hosts[1].numbers();
    let came: BTreeSet<u64> = numbers.iter().copied().filter(|&it| it >= first).collect();
    let all: BTreeSet<u64> = numbers.iter().copied().collect();
    assert_eq!(all.len(), numbers.len(), "each came once");
    (network, PACKETS - came.len() as u64)
}

fn corrected(network: &Network, side: Side) -> FecCounters {
    let tunnels = network.hosts[side].data.node.tunnels();
    tunnels.connections().next().expect("the one there is").1.corrected()
}

const PROTECTED: &str = "[[connection.select]]\nprotocol = \"udp\"\nfec = \"on\"\n";

#[test]
fn nearly_everything_comes_where_two_per_cent_are_lost() {
    for (seed, seal) in [(1, "off"), (2, "require")] {
        let (network, lost) = call(seed, 0.02, &format!("seal = \"{seal}\""), PROTECTED);
        let (sent, received) = (corrected(&network, 0), corrected(&network, 1));
        assert!(lost <= PACKETS / 1_000, "{lost} of {PACKETS} lost, seal {seal}, {received:?}");
        assert!(received.fec_recovered > PACKETS / 100, "{received:?}");
        let symbols = sent.fec_symbols_sent;
        assert!((PACKETS / 4..=PACKETS / 2).contains(&symbols), "{sent:?}");
        let wrong = [received.fec_too_long, received.fec_wrong_numbers, received.fec_flood];
        assert_eq!((wrong, received.fec_useless), ([0; 3], 0));
    }
}

#[test]
fn without_a_class_or_without_loss_no_symbol_is_sent() {
    for (loss, select) in [(0.02, ""), (0.0, PROTECTED)] {
        let (network, lost) = call(3, loss, "", select);
        assert_eq!(corrected(&network, 0), FecCounters::default());
        assert_eq!(lost == 0, loss == 0.0, "{lost} lost");
    }
}
