//! Every index on the wire says which shard of its receiver has given it out.

use std::collections::BTreeSet;

use mpt_core::Shard;
use mpt_wire::control::frame::{self, Frame};
use mpt_wire::gre;

use super::network::*;

/// The indices in a control frame, each with the end that has given it out.
fn indices(from: Side, wire: &Wire) -> Vec<(Side, u32)> {
    let (_, start) = gre::Repr::parse(&wire.bytes).unwrap();
    let to = 1 - from;
    match frame::parse(&wire.bytes[start..]).unwrap() {
        Frame::Initiation(frame) => vec![(from, frame.sender_index())],
        Frame::Response(frame) => {
            vec![(from, frame.sender_index()), (to, frame.receiver_index())]
        }
        Frame::Cookie(frame) => vec![(to, frame.receiver_index())],
        Frame::Sealed(frame) => vec![(to, frame.header().receiver_index)],
    }
}

#[test]
fn of_control_frames_and_of_sealed_data() {
    let shards = [3, 12].map(|number| Shard::new(number).unwrap());
    let mut network = Network::new(Setup { shards, ..Setup::new(1, &[5, 20]).sealed() });
    (network.captured, network.captured_data) = (Some(Vec::new()), Some(Vec::new()));
    for _ in 0..10 {
        network.run_traffic(millis(3000), millis(20));
        SIDES.into_iter().for_each(|side| network.restart(side));
    }
    let (mut of_keys, mut of_data) =
        ([const { BTreeSet::new() }; 2], [const { BTreeSet::new() }; 2]);
    for (from, _, wire) in network.captured.take().unwrap() {
        for (side, index) in indices(from, &wire) {
            of_keys[side].insert(index);
        }
    }
    for (from, _, wire) in network.captured_data.take().unwrap() {
        let (header, _) = gre::Repr::parse(&wire.bytes).unwrap();
        assert_eq!(header.protocol, gre::Protocol::SEALED);
        of_data[1 - from].insert(header.key.unwrap());
    }
    for side in SIDES {
        for indices in [&of_keys[side], &of_data[side]] {
            assert!(indices.len() >= 10, "{} handshakes", indices.len());
            assert!(indices.iter().all(|&index| Shard::of_index(index) == shards[side]));
        }
        let session = network.hosts[side].session;
        assert_eq!(session.shard, shards[side]);
        let elsewhere = mpt_core::session::SessionId { shard: Shard::FIRST, ..session };
        let sessions = network.hosts[side].node.sessions();
        assert!(sessions.session(session).is_some());
        assert!(sessions.session(elsewhere).is_none(), "it is of another shard");
    }
}
