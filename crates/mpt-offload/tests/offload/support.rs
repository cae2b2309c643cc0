//! An independent, slow implementation of everything under test, on etherparse.

use etherparse::{IpNumber, Ipv4Header, Ipv6FlowLabel, Ipv6Header, TcpHeader, UdpHeader};
use mpt_offload::{Coalescer, Mergeable, Piece, Sink, VnetHeader, vnet};
use proptest::prelude::*;

pub(crate) const ALL: Mergeable = Mergeable { tcp: true, udp: true };

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ip {
    V4(Ipv4Header),
    V6(Ipv6Header),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Transport {
    Tcp(TcpHeader),
    Udp(UdpHeader),
}

/// A packet or super-packet as its meaning: lengths and checksums follow from the rest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Packet {
    pub(crate) ip: Ip,
    pub(crate) transport: Transport,
    pub(crate) payload: Vec<u8>,
}

impl Packet {
    pub(crate) fn tcp(ip: Ip, header: TcpHeader, payload: Vec<u8>) -> Self {
        Packet { ip, transport: Transport::Tcp(header), payload }
    }

    pub(crate) fn udp(ip: Ip, ports: (u16, u16), payload: Vec<u8>) -> Self {
        let header =
            UdpHeader { source_port: ports.0, destination_port: ports.1, length: 0, checksum: 0 };
        Packet { ip, transport: Transport::Udp(header), payload }
    }

    /// # Panics
    ///
    /// Panics when it is not a TCP or UDP packet behind a plain IP header.
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let (ip, protocol, rest) = if bytes[0] >> 4 == 4 {
            let (header, rest) = Ipv4Header::from_slice(bytes).unwrap();
            assert_eq!(header.payload_len().unwrap() as usize, rest.len());
            (Ip::V4(header.clone()), header.protocol, rest)
        } else {
            let (header, rest) = Ipv6Header::from_slice(bytes).unwrap();
            assert_eq!(header.payload_length as usize, rest.len());
            (Ip::V6(header.clone()), header.next_header, rest)
        };
        match protocol {
            IpNumber::TCP => {
                let (header, payload) = TcpHeader::from_slice(rest).unwrap();
                Packet::tcp(ip, header, payload.to_vec())
            }
            IpNumber::UDP => {
                let (header, payload) = UdpHeader::from_slice(rest).unwrap();
                Packet { ip, transport: Transport::Udp(header), payload: payload.to_vec() }
            }
            other => panic!("protocol {other:?}"),
        }
    }

    pub(crate) fn tcp_header(&mut self) -> &mut TcpHeader {
        match &mut self.transport {
            Transport::Tcp(header) => header,
            Transport::Udp(_) => panic!("not TCP"),
        }
    }

    pub(crate) fn transport_start(&self) -> usize {
        match &self.ip {
            Ip::V4(header) => header.header_len(),
            Ip::V6(_) => Ipv6Header::LEN,
        }
    }

    pub(crate) fn header_len(&self) -> usize {
        self.transport_start()
            + match &self.transport {
                Transport::Tcp(header) => header.header_len(),
                Transport::Udp(_) => UdpHeader::LEN,
            }
    }

    /// The bytes on the wire, all checksums complete.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let transport_len = self.header_len() - self.transport_start() + self.payload.len();
        let mut bytes = Vec::new();
        let mut ip = self.ip.clone();
        let protocol = match &self.transport {
            Transport::Tcp(_) => IpNumber::TCP,
            Transport::Udp(_) => IpNumber::UDP,
        };
        match &mut ip {
            Ip::V4(header) => {
                header.protocol = protocol;
                header.set_payload_len(transport_len).unwrap();
                header.header_checksum = header.calc_header_checksum();
                header.write_raw(&mut bytes).unwrap();
            }
            Ip::V6(header) => {
                header.next_header = protocol;
                header.set_payload_length(transport_len).unwrap();
                header.write(&mut bytes).unwrap();
            }
        }
        match &self.transport {
            Transport::Tcp(header) => {
                let mut header = header.clone();
                header.checksum = match &ip {
                    Ip::V4(ip) => header.calc_checksum_ipv4(ip, &self.payload),
                    Ip::V6(ip) => header.calc_checksum_ipv6(ip, &self.payload),
                }
                .unwrap();
                header.write(&mut bytes).unwrap();
            }
            Transport::Udp(header) => {
                let (from, to) = (header.source_port, header.destination_port);
                match &ip {
                    Ip::V4(ip) => UdpHeader::with_ipv4_checksum(from, to, ip, &self.payload),
                    Ip::V6(ip) => UdpHeader::with_ipv6_checksum(from, to, ip, &self.payload),
                }
                .unwrap()
                .write(&mut bytes)
                .unwrap();
            }
        }
        bytes.extend(&self.payload);
        bytes
    }

    /// The bytes as they pass TUN as a super-packet: the transport checksum is the sum of the pseudo-header.
    pub(crate) fn partial(&self, gso_size: u16) -> (VnetHeader, Vec<u8>) {
        let mut bytes = self.bytes();
        let transport = self.transport_start();
        let (protocol, offset) = match &self.transport {
            Transport::Tcp(_) => (6, 16),
            Transport::Udp(_) => (17, 6),
        };
        let mut pseudo = match &self.ip {
            Ip::V4(header) => [header.source, header.destination].concat(),
            Ip::V6(header) => [header.source, header.destination].concat(),
        };
        pseudo.extend([0, protocol]);
        pseudo.extend(((bytes.len() - transport) as u16).to_be_bytes());
        let field = transport + offset;
        bytes[field..field + 2].copy_from_slice(&naive_sum(&pseudo).to_be_bytes());

        let gso_type = match (&self.ip, &self.transport) {
            (_, Transport::Udp(_)) => vnet::GSO_UDP_L4,
            (Ip::V4(_), Transport::Tcp(header)) => {
                vnet::GSO_TCPV4 | if header.cwr { vnet::GSO_ECN } else { 0 }
            }
            (Ip::V6(_), Transport::Tcp(header)) => {
                vnet::GSO_TCPV6 | if header.cwr { vnet::GSO_ECN } else { 0 }
            }
        };
        let header = VnetHeader {
            flags: vnet::NEEDS_CSUM,
            gso_type,
            hdr_len: self.header_len() as u16,
            gso_size,
            csum_start: transport as u16,
            csum_offset: offset as u16,
        };
        (header, bytes)
    }

    /// The packets a super-packet stands for.
    pub(crate) fn segments(&self, gso_size: u16) -> Vec<Packet> {
        let chunks: Vec<&[u8]> = self.payload.chunks(gso_size.into()).collect();
        let mut sequence_offset = 0;
        let mut segments = Vec::new();
        for (index, chunk) in chunks.iter().enumerate() {
            let mut segment = Packet { payload: chunk.to_vec(), ..self.clone() };
            if let Ip::V4(header) = &mut segment.ip {
                header.identification = header.identification.wrapping_add(index as u16);
            }
            if let Transport::Tcp(header) = &mut segment.transport {
                header.sequence_number = header.sequence_number.wrapping_add(sequence_offset);
                header.cwr &= index == 0;
                if index + 1 < chunks.len() {
                    header.psh = false;
                    header.fin = false;
                }
            }
            sequence_offset += chunk.len() as u32;
            segments.push(segment);
        }
        segments
    }
}

/// RFC 1071, word by word.
pub(crate) fn naive_sum(bytes: &[u8]) -> u16 {
    let mut sum = 0u32;
    for pair in bytes.chunks(2) {
        sum += u32::from(pair[0]) << 8 | pair.get(1).copied().map_or(0, u32::from);
        if sum > 0xffff {
            sum -= 0xffff;
        }
    }
    sum as u16
}

/// Returns the complete packets that the kernel makes of a write to TUN.
pub(crate) fn expand(header: &VnetHeader, bytes: &[u8]) -> Vec<Vec<u8>> {
    if header.gso_type != vnet::GSO_NONE {
        let packet = Packet::parse(bytes);
        let (expected, partial) = packet.partial(header.gso_size);
        assert_eq!(*header, expected);
        assert!(
            partial == bytes,
            "headers of a super-packet are not what its meaning says: {packet:?}"
        );
        return packet.segments(header.gso_size).iter().map(Packet::bytes).collect();
    }
    let mut bytes = bytes.to_vec();
    if header.flags & vnet::NEEDS_CSUM != 0 {
        let start = usize::from(header.csum_start);
        let field = start + usize::from(header.csum_offset);
        let checksum = match !naive_sum(&bytes[start..]) {
            0 => 0xffff,
            other => other,
        };
        bytes[field..field + 2].copy_from_slice(&checksum.to_be_bytes());
    }
    vec![bytes]
}

/// One write to the TUN device.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub(crate) vnet: VnetHeader,
    pub(crate) bytes: Vec<u8>,
    /// Numbers of the packets in it.
    pub(crate) packets: Vec<usize>,
}

/// Stands in for the TUN device; packets are known by number.
pub(crate) struct Recorder<'a> {
    inputs: &'a [Vec<u8>],
    pub(crate) writes: Vec<Write>,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(inputs: &'a [Vec<u8>]) -> Self {
        Recorder { inputs, writes: Vec::new() }
    }
}

impl Sink<usize> for Recorder<'_> {
    fn write(&mut self, vnet: &VnetHeader, header: &[u8], pieces: &[Piece<usize>]) {
        let mut bytes = header.to_vec();
        for piece in pieces {
            bytes.extend(&self.inputs[piece.handle][piece.start as usize..piece.end as usize]);
        }
        let packets = pieces.iter().map(|piece| piece.handle).collect();
        self.writes.push(Write { vnet: *vnet, bytes, packets });
    }
}

/// Coalesces the packets as one batch without gaps.
pub(crate) fn coalesce(inputs: &[Vec<u8>], mergeable: Mergeable) -> Vec<Write> {
    let mut coalescer = Coalescer::new(mergeable);
    let mut recorder = Recorder::new(inputs);
    for (index, packet) in inputs.iter().enumerate() {
        coalescer.push(packet, index, false, &mut recorder);
    }
    coalescer.flush(&mut recorder);
    recorder.writes
}

pub(crate) fn ipv4() -> Ip {
    let mut header = Ipv4Header::new(0, 64, IpNumber::TCP, [10, 0, 0, 1], [10, 0, 0, 2]).unwrap();
    header.dont_fragment = true;
    header.identification = 7;
    Ip::V4(header)
}

pub(crate) fn ipv6() -> Ip {
    let mut source = [0; 16];
    source[..2].copy_from_slice(&[0xfd, 0]);
    let mut destination = source;
    source[15] = 1;
    destination[15] = 2;
    Ip::V6(Ipv6Header {
        traffic_class: 0,
        flow_label: Ipv6FlowLabel::try_new(0x12345).unwrap(),
        hop_limit: 64,
        source,
        destination,
        ..Default::default()
    })
}

pub(crate) fn any_ip() -> impl Strategy<Value = Ip> {
    let v4 = any::<([u8; 4], [u8; 4], u8, u8, u16, bool)>().prop_map(
        |(source, destination, tos, ttl, id, df)| {
            let mut header = Ipv4Header::new(0, ttl, IpNumber::TCP, source, destination).unwrap();
            header.dscp = (tos >> 2).try_into().unwrap();
            header.ecn = (tos & 3).try_into().unwrap();
            header.identification = id;
            header.dont_fragment = df;
            Ip::V4(header)
        },
    );
    let v6 = any::<([u8; 16], [u8; 16], u8, u8, u32)>().prop_map(
        |(source, destination, traffic_class, hop_limit, label)| {
            Ip::V6(Ipv6Header {
                traffic_class,
                flow_label: Ipv6FlowLabel::try_new(label & 0xf_ffff).unwrap(),
                hop_limit,
                source,
                destination,
                ..Default::default()
            })
        },
    );
    prop_oneof![v4, v6]
}

fn any_tcp() -> impl Strategy<Value = TcpHeader> {
    let options = prop::collection::vec(any::<[u8; 4]>(), 0..=10);
    let flags = any::<(bool, bool, bool, bool, bool)>();
    (any::<(u16, u16, u32, u32, u16, u16)>(), flags, options).prop_map(
        |((from, to, sequence, ack, window, urgent), (fin, psh, ece, cwr, ns), options)| {
            let mut header = TcpHeader::new(from, to, sequence, window);
            header.acknowledgment_number = ack;
            header.urgent_pointer = urgent;
            header.ack = true;
            (header.fin, header.psh, header.ece, header.cwr, header.ns) = (fin, psh, ece, cwr, ns);
            header.set_options_raw(&options.concat()).unwrap();
            header
        },
    )
}

/// A super-packet of at most 64 segments, and its segments' size.
pub(crate) fn any_super_packet() -> impl Strategy<Value = (Packet, u16)> {
    let transport = prop_oneof![
        any_tcp().prop_map(Transport::Tcp),
        any::<(u16, u16)>().prop_map(|(source_port, destination_port)| {
            Transport::Udp(UdpHeader { source_port, destination_port, length: 0, checksum: 0 })
        })
    ];
    // Sizes of real segments and odd small ones; the last is anything up to that.
    let sizes = prop_oneof![1..=1500u16, 1400..=1448u16, 8000..=9000u16];
    (any_ip(), transport, sizes, 1..=64usize, any::<prop::sample::Index>(), any::<u64>()).prop_map(
        |(ip, transport, size, count, last, seed)| {
            let full = (count - 1).min(65_000 / usize::from(size) - 1);
            let len = full * usize::from(size) + 1 + last.index(size.into());
            let mut state = seed | 1;
            let payload = (0..len)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (state >> 56) as u8
                })
                .collect();
            (Packet { ip, transport, payload }, size)
        },
    )
}
