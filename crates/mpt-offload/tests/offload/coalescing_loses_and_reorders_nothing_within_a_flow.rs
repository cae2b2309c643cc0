use etherparse::TcpHeader;
use mpt_offload::{Coalescer, VnetHeader, coalesce::MAX_PIECES, vnet};
use proptest::prelude::*;

use crate::support::{ALL, Ip, Packet, Recorder, expand, ipv4, ipv6, naive_sum};

/// A special property of a packet.
#[derive(Clone, Debug)]
enum Special {
    Short(u8),
    Psh,
    Fin,
    Cwr,
    Ack,
    Window,
    Tos(u8),
    Ttl,
    Options,
    Skip,
    Again,
    PureAck,
    Syn,
    Flip { at: prop::sample::Index, mask: u8 },
    Fragment,
    NoChecksum,
    Truncated(prop::sample::Index),
    Random(Vec<u8>),
}

#[derive(Clone, Debug)]
struct Step {
    flow: u8,
    special: Option<Special>,
    after_gap: bool,
    end_of_batch: bool,
}

fn any_step() -> impl Strategy<Value = Step> {
    let flip =
        (any::<prop::sample::Index>(), 1..=255u8).prop_map(|(at, mask)| Special::Flip { at, mask });
    let special = prop_oneof![
        (0..80u8).prop_map(Special::Short),
        Just(Special::Psh),
        Just(Special::Fin),
        Just(Special::Cwr),
        Just(Special::Ack),
        Just(Special::Window),
        any::<u8>().prop_map(Special::Tos),
        Just(Special::Ttl),
        Just(Special::Options),
        Just(Special::Skip),
        Just(Special::Again),
        Just(Special::PureAck),
        Just(Special::Syn),
        flip,
        Just(Special::Fragment),
        Just(Special::NoChecksum),
        any::<prop::sample::Index>().prop_map(Special::Truncated),
        prop::collection::vec(any::<u8>(), 0..100).prop_map(Special::Random),
    ];
    // Runs of one flow are the usual thing; twelve flows are more than there are slots.
    let flow = prop_oneof![4 => 0..2u8, 1 => 0..12u8];
    (
        flow,
        prop::option::weighted(0.15, special),
        prop::bool::weighted(0.02),
        prop::bool::weighted(0.02),
    )
        .prop_map(|(flow, special, after_gap, end_of_batch)| Step {
            flow,
            special,
            after_gap,
            end_of_batch,
        })
}

/// A sender of one flow: TCP or UDP, over IPv4 with or without DF or over IPv6.
#[derive(Clone)]
struct Flow(Packet);

impl Flow {
    fn new(number: u8) -> Self {
        let mut ip = if number.is_multiple_of(3) { ipv6() } else { ipv4() };
        if let Ip::V4(header) = &mut ip {
            header.dont_fragment = number % 3 == 1;
            header.identification = u16::MAX - 3;
        }
        let payload = vec![number; 80];
        Flow(if number.is_multiple_of(2) {
            let mut header = TcpHeader::new(1000 + u16::from(number), 80, u32::MAX - 300, 10);
            header.ack = true;
            Packet::tcp(ip, header, payload)
        } else {
            Packet::udp(ip, (1000 + u16::from(number), 53), payload)
        })
    }

    fn next(&mut self, special: &Option<Special>) -> Vec<u8> {
        let state = &mut self.0;
        state.payload.iter_mut().for_each(|byte| *byte = byte.wrapping_mul(5).wrapping_add(1));
        let is_tcp = matches!(state.transport, crate::support::Transport::Tcp(_));
        // Changes that stay.
        match special {
            Some(Special::Ack) if is_tcp => {
                let header = state.tcp_header();
                header.acknowledgment_number = header.acknowledgment_number.wrapping_add(1);
            }
            Some(Special::Window) if is_tcp => {
                let header = state.tcp_header();
                header.window_size = header.window_size.wrapping_add(1);
            }
            Some(Special::Options) if is_tcp => {
                let option = [1, 1, 1, state.payload[0] % 2];
                state.tcp_header().set_options_raw(&option).unwrap();
            }
            Some(Special::Skip) if is_tcp => {
                let header = state.tcp_header();
                header.sequence_number = header.sequence_number.wrapping_add(7);
            }
            Some(Special::Again) if is_tcp => {
                let header = state.tcp_header();
                header.sequence_number = header.sequence_number.wrapping_sub(80);
            }
            Some(Special::Tos(tos)) => match &mut state.ip {
                Ip::V4(header) => {
                    header.dscp = (tos >> 2).try_into().unwrap();
                    header.ecn = (tos & 3).try_into().unwrap();
                }
                Ip::V6(header) => header.traffic_class = *tos,
            },
            Some(Special::Ttl) => match &mut state.ip {
                Ip::V4(header) => header.time_to_live ^= 1,
                Ip::V6(header) => header.hop_limit ^= 1,
            },
            _ => {}
        }
        // Changes of this packet alone.
        let mut packet = state.clone();
        match special {
            Some(Special::Short(len)) => packet.payload.truncate((*len).into()),
            Some(Special::Psh) if is_tcp => packet.tcp_header().psh = true,
            Some(Special::Fin) if is_tcp => packet.tcp_header().fin = true,
            Some(Special::Cwr) if is_tcp => packet.tcp_header().cwr = true,
            Some(Special::PureAck) if is_tcp => packet.payload.clear(),
            Some(Special::Syn) if is_tcp => packet.tcp_header().syn = true,
            Some(Special::Fragment) => {
                if let Ip::V4(header) = &mut packet.ip {
                    header.more_fragments = true;
                }
            }
            _ => {}
        }
        if let Ip::V4(header) = &mut state.ip {
            header.identification = header.identification.wrapping_add(1);
        }
        if is_tcp {
            let header = state.tcp_header();
            header.sequence_number =
                header.sequence_number.wrapping_add(packet.payload.len() as u32);
        }
        let mut bytes = packet.bytes();
        match special {
            Some(Special::NoChecksum) if !is_tcp => {
                let field = packet.transport_start() + 6;
                bytes[field..field + 2].copy_from_slice(&[0, 0]);
            }
            Some(Special::Flip { at, mask }) => {
                let at = at.index(bytes.len());
                bytes[at] ^= mask;
            }
            Some(Special::Truncated(len)) => bytes.truncate(len.index(bytes.len())),
            Some(Special::Random(random)) => bytes = random.clone(),
            _ => {}
        }
        bytes
    }
}

/// The identification of a packet with DF means nothing (RFC 6864 section 4.1): sets it to zero.
fn without_meaningless_id(mut packet: Vec<u8>) -> Vec<u8> {
    if packet[0] == 0x45 && packet[6] & 0x40 != 0 {
        packet[4..6].fill(0);
        packet[10..12].fill(0);
        let checksum = !naive_sum(&packet[..20]);
        packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    }
    packet
}

/// TOS or traffic class.
fn tos(packet: &[u8]) -> u8 {
    if packet[0] >> 4 == 4 { packet[1] } else { (packet[0] << 4) | (packet[1] >> 4) }
}

/// Returns the key of the flow whose order is kept: addresses, protocol and ports as they are in
/// the packet, damaged or not.
fn flow_key(packet: &[u8]) -> Option<Vec<u8>> {
    let (protocol, addresses, transport) = match packet.first()? >> 4 {
        4 => (*packet.get(9)?, packet.get(12..20)?, packet.get(20..24)?),
        6 => (*packet.get(6)?, packet.get(8..40)?, packet.get(40..44)?),
        _ => return None,
    };
    Some([&[protocol], addresses, transport].concat())
}

proptest! {
    #[test]
    fn whatever_comes(steps in prop::collection::vec(any_step(), 1..250)) {
        let mut flows: Vec<Flow> = (0..12).map(Flow::new).collect();
        let inputs: Vec<Vec<u8>> = steps.iter().map(|step| flows[usize::from(step.flow)].next(&step.special)).collect();

        let mut recorder = Recorder::new(&inputs);
        let mut coalescer = Coalescer::new(ALL);
        // Packets between two gaps or ends of a batch have the same number.
        let mut batch = 0;
        let mut batches = Vec::new();
        for (index, step) in steps.iter().enumerate() {
            if step.after_gap {
                batch += 1;
            }
            batches.push(batch);
            coalescer.push(&inputs[index], index, step.after_gap, &mut recorder);
            if step.end_of_batch {
                coalescer.flush(&mut recorder);
                prop_assert_eq!(recorder.writes.iter().map(|write| write.packets.len()).sum::<usize>(), index + 1);
                batch += 1;
            }
        }
        coalescer.flush(&mut recorder);
        let writes = recorder.writes;

        let mut left: Vec<usize> = writes.iter().flat_map(|write| write.packets.clone()).collect();
        // Nothing crosses a gap or the end of a batch.
        prop_assert!(left.iter().map(|&input| batches[input]).is_sorted());
        // Within a flow nothing is overtaken.
        let mut last = std::collections::BTreeMap::new();
        for &input in &left {
            if let Some(key) = flow_key(&inputs[input]) {
                let before = last.insert(key, input);
                prop_assert!(before.is_none_or(|before| before < input), "{:?} before {}", before, input);
            }
        }
        // Every packet leaves once.
        left.sort_unstable();
        prop_assert_eq!(left, (0..inputs.len()).collect::<Vec<_>>());

        for write in &writes {
            let first = &inputs[write.packets[0]];
            if let [single] = write.packets[..] {
                prop_assert_eq!(write.vnet.gso_type, vnet::GSO_NONE);
                // Both zeros are right; the kernel writes the other one.
                let mut expected = inputs[single].clone();
                if write.vnet == VnetHeader::default() {
                    prop_assert!(write.bytes == expected);
                } else {
                    let field = usize::from(write.vnet.csum_start + write.vnet.csum_offset);
                    if expected[field..field + 2] == [0, 0] {
                        expected[field..field + 2].fill(0xff);
                    }
                    prop_assert_eq!(expand(&write.vnet, &write.bytes), [expected]);
                }
                continue;
            }
            prop_assert!(write.packets.len() <= MAX_PIECES && write.bytes.len() <= 65_535);
            let packets = expand(&write.vnet, &write.bytes);
            prop_assert_eq!(packets.len(), write.packets.len());
            for (packet, &input) in packets.into_iter().zip(&write.packets) {
                prop_assert_eq!(tos(&inputs[input]), tos(first));
                prop_assert!(without_meaningless_id(packet) == without_meaningless_id(inputs[input].clone()));
            }
        }

        let counters = coalescer.counters();
        let merged: usize = writes.iter().map(|write| write.packets.len()).filter(|&count| count > 1).sum();
        prop_assert_eq!(counters.merged, merged as u64);
        let sum = counters.merged + counters.alone + counters.checksum + counters.control + counters.headers
            + counters.protocol;
        prop_assert_eq!(sum, inputs.len() as u64);
    }
}
