//! The frames that a frame read from a TAP device stands for.

use std::ops::Range;

use mpt_offload::{Segmenter, VnetHeader};
use mpt_wire::ecn::{self, Ecn};
use mpt_wire::ip::Summary;

/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;
/// Bytes of a VLAN tag.
const VLAN: usize = 4;
/// Bytes of the longest Ethernet header: with an outer and an inner tag (IEEE 802.1ad).
const LONGEST_ETHERNET: usize = ETHERNET + 2 * VLAN;
/// Bytes of an IP header in which its ECN field and its checksum are.
const MARKABLE: usize = 12;

/// The way in which a frame is cut into the frames that it stands for. Anything that is no super-packet of IP stands for itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// Bytes of the frame, without the virtio-net header.
    length: usize,
    cut: Option<Cut>,
    /// Bytes in front of the IP header; 0 where none follows.
    ethernet: usize,
    /// A hash of addresses, protocol and ports; 0 where there are none.
    flow: u64,
    ecn: Ecn,
}

#[derive(Debug, Clone, Copy)]
struct Cut {
    /// Bytes in front of the IP header.
    ethernet: usize,
    /// The virtio-net header, with offsets counted from the IP header on.
    vnet: VnetHeader,
    segmenter: Segmenter,
}

impl Shape {
    /// Reads a virtio-net header and the frame behind it.
    pub(super) fn of(bytes: &mut [u8]) -> Self {
        let frame = bytes.get(VnetHeader::LEN..).unwrap_or_default();
        let (length, ethernet) = (frame.len(), ethernet_header(frame).unwrap_or(0));
        let summary = frame.get(ethernet..).map(Summary::parse).and_then(Result::ok);
        let flow = summary.map_or(0, |summary| summary.flow_hash(0));
        let ecn = summary.map_or(Ecn::NotEct, |summary| summary.ecn());
        Self { length, cut: Cut::of(bytes), ethernet, flow, ecn }
    }

    /// Returns a number that packets of one flow have in common, and that differs between two flows nearly always.
    pub(super) fn flow(&self) -> u64 {
        self.flow
    }

    /// True if congestion may mark it instead of dropping it.
    pub(super) fn understands_ecn(&self) -> bool {
        self.ecn != Ecn::NotEct
    }

    /// Number of frames it stands for, at least 1.
    pub(super) fn segments(&self) -> u16 {
        self.cut.as_ref().map_or(1, |cut| cut.segmenter.count())
    }

    /// Returns the bytes of one of its segments, Ethernet header included.
    pub(super) fn segment_length(&self, index: u16) -> usize {
        self.cut.as_ref().map_or(self.length, |cut| cut.ethernet + cut.segmenter.segment_len(index))
    }

    /// Writes the headers, virtio-net header first, of the frame that stands for some of its segments to `headers`, which is cleared before. Returns
    /// the range of `bytes` that follows. All segments together are the frame as it came, unless they are `marked` "congestion experienced".
    pub(super) fn run(
        &self,
        bytes: &[u8],
        segments: Range<u16>,
        marked: bool,
        headers: &mut Vec<u8>,
    ) -> Range<usize> {
        let mut rest = self.unmarked(bytes, segments, headers);
        let ip = VnetHeader::LEN + self.ethernet;
        if marked && self.understands_ecn() {
            if headers.is_empty() {
                let end = (ip + MARKABLE).min(bytes.len());
                headers.extend_from_slice(&bytes[..end]);
                rest.start = end;
            }
            if let Some(packet) = headers.get_mut(ip..) {
                ecn::set(packet, Ecn::Ce);
            }
        }
        rest
    }

    fn unmarked(&self, bytes: &[u8], segments: Range<u16>, headers: &mut Vec<u8>) -> Range<usize> {
        headers.clear();
        let Some(cut) = self.cut.as_ref().filter(|_| segments.len() < self.segments().into())
        else {
            return 0..bytes.len();
        };
        let ip = VnetHeader::LEN + cut.ethernet;
        headers.extend_from_slice(&bytes[..ip]);
        headers.resize(ip + cut.segmenter.header_len(), 0);
        let (mut vnet, payload) =
            cut.segmenter.run(&cut.vnet, &bytes[ip..], segments, &mut headers[ip..]);
        vnet.hdr_len += cut.ethernet as u16;
        vnet.csum_start += cut.ethernet as u16;
        headers[..VnetHeader::LEN].copy_from_slice(&vnet.emit());
        ip + payload.start..ip + payload.end
    }
}

impl Cut {
    fn of(bytes: &mut [u8]) -> Option<Self> {
        let mut vnet = VnetHeader::parse(bytes).ok().filter(VnetHeader::is_gso)?;
        let frame = &mut bytes[VnetHeader::LEN..];
        let ethernet = ethernet_header(frame)?;
        let packet = &mut frame[ethernet..];
        if vnet.needs_checksum() {
            vnet.csum_start = vnet.csum_start.checked_sub(ethernet as u16)?;
        }
        let transport = transport_start(&vnet, packet)?;
        // A super-packet that cannot be cut passes whole, as one frame: it comes from the kernel and goes to the kernel.
        let segmenter = Segmenter::new(&vnet, packet, transport).ok()?;
        Some(Self { ethernet, vnet, segmenter })
    }
}

/// Returns the bytes in front of the IP header; `None` where none follows.
fn ethernet_header(frame: &[u8]) -> Option<usize> {
    let kind = |at: usize| Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]));
    let mut length = ETHERNET;
    while length <= LONGEST_ETHERNET {
        match kind(length - 2)? {
            0x0800 | 0x86dd => return Some(length),
            0x8100 | 0x88a8 => length += VLAN,
            _ => return None,
        }
    }
    None
}

/// Returns the offset of the transport header, if it is known. The kernel tells it where the checksum is left to others; otherwise there are no
/// extension headers, or the packet is not cut.
fn transport_start(vnet: &VnetHeader, packet: &[u8]) -> Option<usize> {
    if vnet.needs_checksum() {
        return Some(vnet.csum_start.into());
    }
    let first = *packet.first()?;
    Some(if first >> 4 == 4 { usize::from(first & 0xf) * 4 } else { 40 })
}

#[cfg(test)]
pub(super) mod tests {
    use mpt_offload::vnet::{GSO_TCPV4, NEEDS_CSUM};

    use super::*;

    /// Returns a TCP super-packet over IPv4 with `payload` bytes, in segments of 1000, as a TAP device gives it.
    pub(crate) fn super_packet(payload: usize, tags: usize) -> Vec<u8> {
        let ethernet = ETHERNET + VLAN * tags;
        let vnet = VnetHeader {
            flags: NEEDS_CSUM,
            gso_type: GSO_TCPV4,
            hdr_len: (ethernet + 40) as u16,
            gso_size: 1000,
            csum_start: (ethernet + 20) as u16,
            csum_offset: 16,
        };
        let mut bytes = vnet.emit().to_vec();
        bytes.extend([2; 12]);
        bytes.extend([0x81, 0, 0, 7].repeat(tags));
        bytes.extend([8, 0]);
        let total = (40 + payload) as u16;
        bytes.extend([0x45, 0, (total >> 8) as u8, total as u8, 0, 1, 0x40, 0, 64, 6, 0, 0]);
        bytes.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        bytes.extend([0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0x18, 1, 0, 0, 0, 0, 0]);
        bytes.extend((0..payload).map(|byte| byte as u8));
        bytes
    }

    #[test]
    fn a_super_packet_stands_for_its_segments_behind_any_tags() {
        for (tags, ethernet) in [(0, 14), (1, 18), (2, 22)] {
            let mut bytes = super_packet(2500, tags);
            let shape = Shape::of(&mut bytes);
            assert_eq!(shape.segments(), 3);
            let lengths = [0, 1, 2].map(|index| shape.segment_length(index));
            assert_eq!(lengths, [ethernet + 1040, ethernet + 1040, ethernet + 540]);
            let mut headers = vec![1; 7];
            let payload = shape.run(&bytes, 1..3, false, &mut headers);
            assert_eq!(payload, VnetHeader::LEN + ethernet + 1040..bytes.len());
            assert_eq!(headers.len(), VnetHeader::LEN + ethernet + 40);
            let vnet = VnetHeader::parse(&headers).unwrap();
            assert_eq!(usize::from(vnet.csum_start), ethernet + 20);
            assert_eq!(headers[10..10 + ethernet], bytes[10..10 + ethernet]);
            assert_eq!(shape.run(&bytes, 0..3, false, &mut headers), 0..bytes.len(), "as it came");
            assert!(headers.is_empty());
        }
    }

    #[test]
    fn a_mark_is_set_in_the_headers_alone_and_only_where_ecn_is_understood() {
        for tags in [0, 1] {
            let mut bytes = super_packet(2500, tags);
            let ip = VnetHeader::LEN + ETHERNET + VLAN * tags;
            let mut headers = Vec::new();
            let shape = Shape::of(&mut bytes);
            assert!(!shape.understands_ecn());
            assert_eq!(shape.run(&bytes, 0..3, true, &mut headers), 0..bytes.len());
            ecn::set(&mut bytes[ip..], Ecn::Ect0);
            let shape = Shape::of(&mut bytes);
            assert!(shape.understands_ecn());
            for segments in [0..3, 1..3] {
                let rest = shape.run(&bytes, segments.clone(), false, &mut headers);
                let mut whole = [&headers[..], &bytes[rest]].concat();
                ecn::set(&mut whole[ip..], Ecn::Ce);
                let rest = shape.run(&bytes, segments, true, &mut headers);
                assert!(!headers.is_empty());
                assert_eq!([&headers[..], &bytes[rest]].concat(), whole);
            }
        }
    }

    #[test]
    fn packets_of_a_flow_have_its_number() {
        let flow = |port: u8| {
            let mut bytes = super_packet(1000, 0);
            bytes[VnetHeader::LEN + ETHERNET + 21] = port;
            Shape::of(&mut bytes).flow()
        };
        assert_eq!(flow(1), flow(1));
        assert_ne!(flow(1), flow(2));
        assert_eq!(Shape::of(&mut [0; 70]).flow(), 0);
    }

    #[test]
    fn anything_else_stands_for_itself() {
        let plain = |bytes: &[u8]| {
            let shape = Shape::of(&mut bytes.to_vec());
            assert_eq!(shape.segments(), 1);
            shape.segment_length(0)
        };
        assert_eq!(plain(&[0; 70]), 60);
        assert_eq!(plain(&[0; 3]), 0);
        let mut arp = super_packet(2500, 0);
        (arp[22], arp[23]) = (8, 6);
        assert_eq!(plain(&arp), arp.len() - 10);
        let three_tags = super_packet(2500, 3);
        assert_eq!(plain(&three_tags), three_tags.len() - 10);
        let truncated = &super_packet(2500, 0)[..50];
        assert_eq!(plain(truncated), 40);
    }
}
