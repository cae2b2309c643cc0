//! Capture of the packets at the interfaces of a host.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mpt_wire::gre;
use nix::sys::socket::{LinkAddr, recvfrom, setsockopt, sockopt::RcvBufForce};
use socket2::{Domain, Protocol, Socket, Type};

use super::Host;

/// All protocols (`ETH_P_ALL`).
const ALL: u16 = 3;
/// Type of packets sent by this host (`PACKET_OUTGOING`).
const OUTGOING: u8 = 4;
/// Time after the last packet at which a capture is taken to be complete.
const QUIET: Duration = Duration::from_millis(100);
/// Time after which a capture ends where packets never cease.
const ENOUGH: Duration = Duration::from_secs(1);

/// A running capture.
pub(crate) struct Capture {
    stop: Arc<AtomicBool>,
    reader: JoinHandle<Vec<Captured>>,
}

/// An IP packet as it passed an interface.
#[derive(Clone, Debug)]
pub(crate) struct Captured {
    /// Kernel index of the interface.
    pub(crate) index: u32,
    /// True if it left through it.
    pub(crate) outgoing: bool,
    /// Its bytes from the IP header on.
    pub(crate) packet: Vec<u8>,
}

/// A GRE-in-UDP datagram that was captured.
#[derive(Clone, Debug)]
pub(crate) struct Datagram {
    /// Kernel index of the interface.
    pub(crate) index: u32,
    pub(crate) source: SocketAddr,
    pub(crate) destination: SocketAddr,
    /// DSCP and ECN of the outer header.
    pub(crate) tos: u8,
    /// IPv6 flow label; 0 over IPv4.
    pub(crate) flow_label: u32,
    /// The checksum on the wire; 0 if there is none.
    pub(crate) udp_checksum: u16,
    pub(crate) gre: gre::Repr,
    /// Bytes of its GRE header.
    pub(crate) gre_len: usize,
    /// The inner packet.
    pub(crate) inner: Vec<u8>,
}

impl Capture {
    /// Everything that passes any interface of the host from now on.
    pub(crate) fn start(host: &Host) -> Self {
        let socket = host.run(|| {
            Socket::new(Domain::PACKET, Type::DGRAM, Some(Protocol::from(i32::from(ALL.to_be()))))
        });
        let socket = socket.unwrap();
        setsockopt(&socket, RcvBufForce, &(64 * 1024 * 1024)).unwrap();
        socket.set_read_timeout(Some(QUIET)).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let reader = thread::spawn(move || read(&socket, &seen));
        Self { stop, reader }
    }

    /// Ends the capture once nothing more comes, or a second later.
    pub(crate) fn stop(self) -> Vec<Captured> {
        self.stop.store(true, Ordering::Relaxed);
        self.reader.join().unwrap()
    }

    /// Ends the capture like [`Self::stop`], and returns the GRE-in-UDP datagrams that this host sent, in the order in which they left.
    pub(crate) fn sent(self) -> Vec<Datagram> {
        self.stop().iter().filter(|it| it.outgoing).filter_map(Datagram::parse).collect()
    }
}

impl Datagram {
    /// Returns true if it is a frame of the control protocol.
    pub(crate) fn is_control(&self) -> bool {
        self.gre.protocol == gre::Protocol::CONTROL
    }

    /// Parses a packet; `None` for anything but UDP to port 4754.
    pub(crate) fn parse(captured: &Captured) -> Option<Self> {
        let packet = &captured.packet;
        let (source, destination, tos, header): (IpAddr, IpAddr, u8, usize) = match packet[0] >> 4 {
            4 if packet[9] == 17 => (
                Ipv4Addr::from(<[u8; 4]>::try_from(&packet[12..16]).unwrap()).into(),
                Ipv4Addr::from(<[u8; 4]>::try_from(&packet[16..20]).unwrap()).into(),
                packet[1],
                usize::from(packet[0] & 15) * 4,
            ),
            6 if packet[6] == 17 => (
                Ipv6Addr::from(<[u8; 16]>::try_from(&packet[8..24]).unwrap()).into(),
                Ipv6Addr::from(<[u8; 16]>::try_from(&packet[24..40]).unwrap()).into(),
                packet[0] << 4 | packet[1] >> 4,
                40,
            ),
            _ => return None,
        };
        let (udp, payload) = packet[header..].split_at(8);
        let word = |at: usize| u16::from_be_bytes([udp[at], udp[at + 1]]);
        if word(2) != gre::PORT {
            return None;
        }
        assert_eq!(usize::from(word(4)), 8 + payload.len(), "a whole datagram, by itself");
        let (gre, gre_len) = gre::Repr::parse(payload).expect("what a daemon sends is GRE");
        Some(Self {
            index: captured.index,
            source: SocketAddr::new(source, word(0)),
            destination: SocketAddr::new(destination, word(2)),
            tos,
            flow_label: match source {
                IpAddr::V4(_) => 0,
                IpAddr::V6(_) => u32::from_be_bytes([0, packet[1] & 15, packet[2], packet[3]]),
            },
            udp_checksum: word(6),
            gre,
            gre_len,
            inner: payload[gre_len..].to_vec(),
        })
    }
}

/// The capture as a file for other programs: pcap, link type "raw IP".
pub(crate) fn pcap<'a>(packets: impl Iterator<Item = &'a Captured>) -> Vec<u8> {
    const RAW_IP: u32 = 101;
    let mut file = Vec::new();
    let words = |file: &mut Vec<u8>, words: &[u32]| {
        file.extend(words.iter().flat_map(|word| word.to_be_bytes()));
    };
    // Magic number, version 2.4, time zone, accuracy, snapshot length, link type.
    words(&mut file, &[0xa1b2_c3d4, 0x0002_0004, 0, 0, 65_535, RAW_IP]);
    for packet in packets {
        let length = packet.packet.len() as u32;
        words(&mut file, &[0, 0, length, length]);
        file.extend_from_slice(&packet.packet);
    }
    file
}

fn read(socket: &Socket, stop: &AtomicBool) -> Vec<Captured> {
    let mut captured = Vec::new();
    let mut buffer = vec![0; 70_000];
    let mut stopped: Option<Instant> = None;
    loop {
        // Looked at first: what arrived before it was set is read.
        let last = stop.load(Ordering::Relaxed);
        if last && stopped.get_or_insert_with(Instant::now).elapsed() > ENOUGH {
            return captured;
        }
        match recvfrom::<LinkAddr>(socket.as_raw_fd(), &mut buffer).map_err(io::Error::from) {
            Ok((length, from)) => {
                let from = from.expect("a packet socket says where from");
                let is_ip = matches!(u16::from_be(from.protocol()), 0x0800 | 0x86dd);
                if is_ip && length > 0 {
                    captured.push(Captured {
                        index: from.ifindex() as u32,
                        outgoing: from.pkttype() == OUTGOING,
                        packet: buffer[..length].to_vec(),
                    });
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if last {
                    return captured;
                }
            }
            Err(error) => panic!("capture: {error}"),
        }
    }
}
