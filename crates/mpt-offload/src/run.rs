//! Cutting a super-packet into smaller super-packets.

use std::ops::Range;

use crate::header::{Transport, field, read_u16, read_u32, tcp_flag, write_u16, write_u32};
use crate::segment::{Kind, Segmenter};
use crate::vnet::{self, VnetHeader};

impl Segmenter {
    /// Writes the headers of the packet that stands for some consecutive segments to the first [`Self::header_len`] bytes of
    /// `header`, and gives its virtio-net header with the range of `packet` that follows. Its checksum is left to the kernel,
    /// so that no payload is looked at.
    ///
    /// `vnet` and `packet` are those given to [`Self::new`]. A packet that is sent as it is has one segment and no headers.
    ///
    /// # Panics
    ///
    /// Panics when `segments` is empty or ends beyond [`Self::count`], `header` is too short, or `packet` is another one.
    pub fn run(
        &self,
        vnet: &VnetHeader,
        packet: &[u8],
        segments: Range<u16>,
        header: &mut [u8],
    ) -> (VnetHeader, Range<usize>) {
        assert!(
            !segments.is_empty() && segments.end <= self.count() && packet.len() == self.len(),
            "not segments of this packet"
        );
        let payload = self.payload(segments.start).start..self.payload(segments.end - 1).end;
        let Kind::Super(template) = &self.kind else { return (*vnet, payload) };
        let header = &mut header[..template.header_len as usize];
        header.copy_from_slice(&packet[..template.header_len as usize]);
        template.fix_up_ip(header, payload.len(), segments.start);

        let transport_start = template.transport_start as usize;
        let header = &mut header[transport_start..];
        let len = (header.len() + payload.len()) as u16;
        let mut pseudo = template.pseudo;
        pseudo.add_u16(len);
        let (checksum, ecn) = match template.transport {
            Transport::Tcp => {
                let offset = u32::from(segments.start) * template.segment_len;
                let sequence = read_u32(header, field::TCP_SEQUENCE).wrapping_add(offset);
                let mut flags = read_u16(header, field::TCP_FLAGS);
                if segments.start > 0 {
                    flags &= !tcp_flag::CWR;
                }
                if segments.end < self.count() {
                    flags &= !(tcp_flag::FIN | tcp_flag::PSH);
                }
                write_u32(header, field::TCP_SEQUENCE, sequence);
                write_u16(header, field::TCP_FLAGS, flags);
                (field::TCP_CHECKSUM, flags & tcp_flag::CWR != 0)
            }
            Transport::Udp => {
                write_u16(header, field::UDP_LENGTH, len);
                (field::UDP_CHECKSUM, false)
            }
        };
        write_u16(header, checksum, pseudo.fold());

        let mut run = VnetHeader {
            flags: vnet::NEEDS_CSUM,
            gso_type: vnet::GSO_NONE,
            hdr_len: template.header_len as u16,
            gso_size: 0,
            csum_start: transport_start as u16,
            csum_offset: checksum as u16,
        };
        if segments.len() > 1 {
            run.gso_type = vnet.gso_type & !vnet::GSO_ECN;
            run.gso_size = vnet.gso_size;
            if ecn {
                run.gso_type |= vnet.gso_type & vnet::GSO_ECN;
            }
        }
        (run, payload)
    }
}
