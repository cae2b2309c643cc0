//! Capture of the packets at the outer interfaces of a host, with the kernel's time stamps.

use std::io::IoSliceMut;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Result, bail};
use mpt_wire::gre;
use mpt_wire::ip::protocol;
use nix::errno::Errno;
use nix::sys::socket::sockopt::{ReceiveTimestampns, RxqOvfl};
use nix::sys::socket::{ControlMessageOwned, LinkAddr, MsgFlags, recvmsg, setsockopt};
use socket2::{Domain, Protocol, SockFilter, Socket, Type};

use super::metronome;
use crate::topology::Host;
use crate::traffic::{Moment, buffer};

/// All protocols (`ETH_P_ALL`); sent packets are seen only so.
const ALL: u16 = 3;
/// Type of packets sent by this host (`PACKET_OUTGOING`).
const OUTGOING: u8 = 4;
/// Bytes kept of each packet: outer headers with the longest GRE header, inner headers, number of a metronome.
const KEPT: u32 = 20 + 8 + 16 + 20 + 8 + 8;
/// Interval at which the packets are fetched. It is long, because the time stamps are the kernel's and the machine is busy being measured.
const FETCH: Duration = Duration::from_millis(5);
/// Size of the buffer in bytes, for the packets of some fetches.
const BUFFER: usize = 32 * 1024 * 1024;

/// A running capture on one host.
#[derive(Debug)]
pub(crate) struct Capture {
    stop: Arc<AtomicBool>,
    reader: Option<JoinHandle<Result<Vec<Packet>>>>,
}

/// A data packet of the tunnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packet {
    /// The time at which it passed.
    pub(crate) at: Moment,
    /// Kernel index of the interface.
    pub(crate) interface: u32,
    /// True if this host sent it.
    pub(super) outgoing: bool,
    /// GRE sequence number.
    pub(super) sequence: Option<u32>,
    /// The number of a metronome's packet inside.
    pub(crate) beat: Option<u64>,
}

impl Capture {
    /// Starts to capture: the tunnel's data packets that the host sends, and those of a metronome that it receives.
    pub(crate) fn start(host: &Host) -> Result<Self> {
        let socket = host.run(open_socket)??;
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let reader =
            thread::Builder::new().name("capture".into()).spawn(move || read(&socket, &seen))?;
        Ok(Self { stop, reader: Some(reader) })
    }

    /// Ends the capture.
    pub(crate) fn stop(mut self) -> Result<Vec<Packet>> {
        self.stop.store(true, Ordering::Relaxed);
        match self.reader.take().map(JoinHandle::join) {
            Some(Ok(packets)) => packets,
            _ => bail!("the capture failed"),
        }
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn open_socket() -> Result<Socket> {
    let protocol = Protocol::from(i32::from(ALL.to_be()));
    let socket = Socket::new(Domain::PACKET, Type::DGRAM, Some(protocol))?;
    socket.attach_filter(&filter())?;
    buffer::enlarge(&socket, BUFFER)?;
    setsockopt(&socket, ReceiveTimestampns, &true)?;
    setsockopt(&socket, RxqOvfl, &1)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Returns a filter of the kernel, which saves work on the busy machine: UDP from or to the tunnel's port, and of that the packets that leave and
/// those that arrive with the length of a metronome's packet. Only the length may err: [`parse`] looks closer.
fn filter() -> Vec<SockFilter> {
    // Classic BPF: codes of linux/bpf_common.h, ancillary data of linux/filter.h.
    const LOAD_BYTE: u16 = 0x30;
    const LOAD_HALF: u16 = 0x28;
    const LOAD_LENGTH: u16 = 0x80;
    const IF_EQUAL: u16 = 0x15;
    const IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const PACKET_TYPE: u32 = 0xffff_f004;
    const UDP: u32 = protocol::UDP as u32;
    let port = u32::from(gre::PORT);
    let shortest = (20 + 8 + 4 + 28 + metronome::SMALL) as u32;
    let longest = shortest + 12;
    // Jumps count the instructions to skip when true and when false.
    [
        (LOAD_BYTE, 0, 0, 9),
        (IF_EQUAL, 0, 9, UDP),
        (LOAD_HALF, 0, 0, 22),
        (IF_EQUAL, 2, 0, port),
        (LOAD_HALF, 0, 0, 20),
        (IF_EQUAL, 0, 5, port),
        (LOAD_BYTE, 0, 0, PACKET_TYPE),
        (IF_EQUAL, 4, 0, u32::from(OUTGOING)),
        (LOAD_LENGTH, 0, 0, 0),
        (IF_AT_LEAST, 0, 1, shortest),
        (IF_AT_LEAST, 0, 1, longest + 1),
        (RETURN, 0, 0, 0),
        (RETURN, 0, 0, KEPT),
    ]
    .map(|(code, yes, no, value)| SockFilter::new(code, yes, no, value))
    .into()
}

fn read(socket: &Socket, stop: &AtomicBool) -> Result<Vec<Packet>> {
    let mut packets = Vec::new();
    let mut buffer = [0; KEPT as usize];
    let mut control = nix::cmsg_space!(nix::sys::time::TimeSpec, u32);
    loop {
        // The flag is read first: packets that arrived before it was set are still read.
        let last = stop.load(Ordering::Relaxed);
        loop {
            let mut parts = [IoSliceMut::new(&mut buffer)];
            let flags = MsgFlags::MSG_DONTWAIT;
            let (length, from, at) = match recvmsg::<LinkAddr>(
                socket.as_raw_fd(),
                &mut parts,
                Some(&mut control),
                flags,
            ) {
                Ok(message) => {
                    let mut at = None;
                    for control in message.cmsgs()? {
                        match control {
                            ControlMessageOwned::ScmTimestampns(stamp) => {
                                at = Some(Moment::stamped(stamp));
                            }
                            ControlMessageOwned::RxqOvfl(lost) if lost > 0 => {
                                bail!("the capture lost {lost} packets: the machine is too busy")
                            }
                            _ => {}
                        }
                    }
                    (message.bytes, message.address, at)
                }
                Err(Errno::EAGAIN) => break,
                Err(Errno::ENETDOWN | Errno::EINTR) => continue,
                Err(error) => bail!("capture: {error}"),
            };
            if let (Some(from), Some(at)) = (from, at) {
                let interface = from.ifindex() as u32;
                let outgoing = from.pkttype() == OUTGOING;
                packets.extend(parse(&buffer[..length]).map(|(sequence, beat)| Packet {
                    at,
                    interface,
                    outgoing,
                    sequence,
                    beat,
                }));
            }
        }
        if last {
            return Ok(packets);
        }
        thread::sleep(FETCH);
    }
}

/// Returns the GRE sequence number and the metronome's number of the beginning of an IPv4 packet; `None` for anything but data of the tunnel.
fn parse(packet: &[u8]) -> Option<(Option<u32>, Option<u64>)> {
    if *packet.first()? != 0x45 || *packet.get(9)? != protocol::UDP {
        return None;
    }
    let (header, length) = gre::Repr::parse(packet.get(28..)?).ok()?;
    if !matches!(header.protocol, gre::Protocol::IPV4 | gre::Protocol::IPV6) {
        return None;
    }
    Some((header.sequence, packet.get(28 + length..).and_then(metronome::number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns outer IPv4 and UDP headers, then `gre`.
    fn datagram(gre: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; 28];
        (packet[0], packet[9]) = (0x45, protocol::UDP);
        packet.extend_from_slice(gre);
        packet
    }

    #[test]
    fn data_is_told_from_control() {
        let sequenced = datagram(&[0x10, 0, 0x08, 0, 0, 0, 0, 7, 0x45, 0]);
        assert_eq!(parse(&sequenced), Some((Some(7), None)));
        let plain = datagram(&[0, 0, 0x86, 0xdd, 0x60]);
        assert_eq!(parse(&plain), Some((None, None)));
        let control = datagram(&[0, 0, 0x88, 0xb5, 4, 1]);
        assert_eq!(parse(&control), None);
        assert_eq!(parse(&[]), None);
        assert_eq!(parse(&sequenced[..30]), None);
    }
}
