//! Two namespaces, a TUN device in each, and between them nothing but a segmenter and a coalescer: what the kernel's own TCP
//! and UDP send at one end arrives at the other, in super-packets on both sides, with no checksum error in between.

use std::io::{self, IoSlice, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use mpt_linux::netlink::Netlink;
use mpt_linux::netns::{self, Namespace};
use mpt_linux::poller::{Event, Interest, MAX_EVENTS, Poller};
use mpt_linux::tun::{Offloads, READ_LEN, Tun};
use mpt_offload::coalesce::Counters;
use mpt_offload::{Coalescer, Mergeable, Piece, Segmenter, Sink, VnetHeader};
use nix::sys::socket::{setsockopt, sockopt};

const DEVICE: &str = "off0";
const TCP_BYTES: usize = 16 << 20;
const DATAGRAM_LEN: usize = 1200;
const DATAGRAMS: usize = 40;

/// A namespace with a TUN device that reaches everything.
struct Host {
    namespace: Namespace,
    tun: Tun,
}

impl Host {
    fn new(test: &str, number: u8) -> Self {
        let namespace = crate::network::namespace(&format!("{test}-{number}"));
        let tun = netns::run_in(&namespace, || Tun::create(DEVICE)).unwrap().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let netlink = Netlink::connect_in(&namespace).unwrap();
            let device = netlink.link(DEVICE).await.unwrap().index;
            for (address, prefix) in addresses(number).into_iter().zip([24, 64]) {
                let net = ipnet::IpNet::new(address, prefix).unwrap();
                netlink.add_address(device, net).await.unwrap();
            }
            netlink.set_up(device).await.unwrap();
        });
        wait_until_received(&namespace, number);
        Host { namespace, tun }
    }

    /// Checksum errors and the like that the host's stack has counted, by name.
    fn errors(&self) -> Vec<(String, u64)> {
        let read = || {
            let snmp = std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap();
            let snmp6 = std::fs::read_to_string("/proc/thread-self/net/snmp6").unwrap();
            (snmp, snmp6)
        };
        let (snmp, snmp6) = netns::run_in(&self.namespace, read).unwrap();
        let mut counters: Vec<(String, u64)> = Vec::new();
        let lines: Vec<Vec<&str>> =
            snmp.lines().map(|line| line.split_whitespace().collect()).collect();
        for pair in lines.chunks(2) {
            for (name, value) in pair[0].iter().zip(&pair[1]).skip(1) {
                // MaxConn is -1.
                counters.push((format!("{}{name}", pair[0][0]), value.parse().unwrap_or(0)));
            }
        }
        for line in snmp6.lines() {
            let (name, value) = line.split_once(char::is_whitespace).unwrap();
            counters.push((name.into(), value.trim().parse().unwrap()));
        }
        counters.retain(|(name, value)| {
            *value != 0 && (name.contains("Csum") || name.contains("InHdrErr"))
        });
        counters
    }
}

fn addresses(number: u8) -> [IpAddr; 2] {
    let v6 = Ipv6Addr::new(0xfd00, 0, 0, 0x0ff, 0, 0, 0, number.into());
    [Ipv4Addr::new(10, 77, 0, number).into(), v6.into()]
}

/// Waits for the route by which packets to a host's IPv6 address are its own. A task of the kernel adds it, some time after sockets may have the address;
/// what arrives before is dropped.
fn wait_until_received(namespace: &Namespace, number: u8) {
    let IpAddr::V6(address) = addresses(number)[1] else { unreachable!("the second is IPv6") };
    // Address, length of the prefix in hexadecimal digits.
    let route = format!("{:032x} 80 ", address.to_bits());
    netns::run_in(namespace, || {
        retry(|| match std::fs::read_to_string("/proc/thread-self/net/ipv6_route")? {
            routes if routes.lines().any(|line| line.starts_with(&route)) => Ok(()),
            routes => Err(io::Error::other(routes)),
        });
    })
    .unwrap();
}

/// Writes to a TUN device what was merged of packets held in a list.
struct Device<'a> {
    tun: &'a Tun,
    packets: &'a [Vec<u8>],
}

impl Sink<usize> for Device<'_> {
    fn write(&mut self, vnet: &VnetHeader, header: &[u8], pieces: &[Piece<usize>]) {
        let vnet = vnet.emit();
        let mut slices = vec![IoSlice::new(&vnet), IoSlice::new(header)];
        for piece in pieces {
            slices.push(IoSlice::new(
                &self.packets[piece.handle][piece.start as usize..piece.end as usize],
            ));
        }
        let len = slices.iter().map(|slice| slice.len()).sum::<usize>();
        assert_eq!(self.tun.write(&slices).unwrap(), len);
    }
}

/// The packets of one direction.
struct Seen {
    /// Packets read from TUN that stood for several.
    cut: usize,
    counters: Counters,
}

/// Carries packets from one TUN device to the other until told to stop.
fn carry(from: &Tun, to: &Tun, stop: &AtomicBool) -> Seen {
    let Offloads { tso, uso } = to.offloads();
    let mut coalescer = Coalescer::new(Mergeable { tcp: tso, udp: uso });
    let mut buffer = vec![0; READ_LEN];
    let mut cut = 0;
    let mut poller = Poller::new().unwrap();
    poller.add(from, 0, Interest::Read).unwrap();
    let mut events = [Event::default(); MAX_EVENTS];
    while !stop.load(Ordering::Relaxed) {
        poller.wait(&mut events, Some(Duration::from_millis(50))).unwrap();
        let mut packets = Vec::new();
        for _ in 0..4 {
            let len = match from.read(&mut buffer) {
                Ok(len) => len,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => panic!("read from TUN: {error}"),
            };
            let (header, packet) = buffer[..len].split_at_mut(VnetHeader::LEN);
            let vnet = VnetHeader::parse(header).unwrap();
            let transport = if packet[0] >> 4 == 4 { usize::from(packet[0] & 0xf) * 4 } else { 40 };
            let segmenter = Segmenter::new(&vnet, packet, transport).unwrap();
            cut += usize::from(segmenter.count() > 1);
            for index in 0..segmenter.count() {
                let mut segment = vec![0; segmenter.header_len()];
                let payload = segmenter.segment(packet, index, &mut segment);
                segment.extend(&packet[payload]);
                assert!(segment.len() <= 1500, "a segment of {} bytes", segment.len());
                packets.push(segment);
            }
        }
        let mut device = Device { tun: to, packets: &packets };
        for (index, packet) in packets.iter().enumerate() {
            coalescer.push(packet, index, false, &mut device);
        }
        coalescer.flush(&mut device);
    }
    Seen { cut, counters: *coalescer.counters() }
}

fn pattern(seed: usize, len: usize) -> Vec<u8> {
    (0..len).map(|index| ((seed + index).wrapping_mul(0x9e37_79b1) >> 13) as u8).collect()
}

/// Runs `traffic` between two hosts; what the direction from the first to the second has seen.
fn between_two_hosts(test: &str, traffic: impl FnOnce(&Host, &Host)) -> Seen {
    let (a, b) = (Host::new(test, 1), Host::new(test, 2));
    let stop = AtomicBool::new(false);
    let seen = thread::scope(|scope| {
        let there = scope.spawn(|| carry(&a.tun, &b.tun, &stop));
        let back = scope.spawn(|| carry(&b.tun, &a.tun, &stop));
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| traffic(&a, &b)));
        stop.store(true, Ordering::Relaxed);
        back.join().unwrap();
        let seen = there.join().unwrap();
        if let Err(panic) = done {
            std::panic::resume_unwind(panic);
        }
        seen
    });
    assert_eq!((a.errors(), b.errors()), (vec![], vec![]));
    seen
}

/// IPv6 addresses are usable once duplicate address detection is over; nobody answers on a TUN device, so by trying.
fn retry<T>(mut attempt: impl FnMut() -> io::Result<T>) -> T {
    let mut tries = 0;
    loop {
        match attempt() {
            Ok(value) => return value,
            Err(error) if tries == 100 => panic!("still fails after 5 s: {error}"),
            Err(_) => tries += 1,
        }
        thread::sleep(Duration::from_millis(50));
    }
}

fn tcp(family: usize) {
    let seen = between_two_hosts(&format!("tcp{family}"), |a, b| {
        let server = SocketAddr::new(addresses(2)[family], 5201);
        let listener = netns::run_in(&b.namespace, || retry(|| TcpListener::bind(server))).unwrap();
        thread::scope(|scope| {
            let received = scope.spawn(move || {
                let mut data = Vec::new();
                let (mut stream, _) = listener.accept().unwrap();
                stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
                stream.read_to_end(&mut data).unwrap();
                data
            });
            let mut stream =
                netns::run_in(&a.namespace, || retry(|| TcpStream::connect(server))).unwrap();
            stream.set_write_timeout(Some(Duration::from_secs(10))).unwrap();
            stream.write_all(&pattern(1, TCP_BYTES)).unwrap();
            drop(stream);
            assert!(received.join().unwrap() == pattern(1, TCP_BYTES), "data damaged");
        });
    });
    let counters = seen.counters;
    let payloads = (TCP_BYTES / 1460) as u64;
    assert!(counters.merged + counters.alone >= payloads, "{counters:?}");
    // Bulk data comes in super-packets and leaves in super-packets.
    assert!(seen.cut > 0 && counters.merged > payloads / 2, "{} cut, {counters:?}", seen.cut);
    assert_eq!((counters.checksum, counters.headers), (0, 0));
}

#[test]
fn tcp_over_ipv4() {
    tcp(0);
}

#[test]
fn tcp_over_ipv6() {
    tcp(1);
}

fn udp(family: usize) {
    let mut uso = false;
    let seen = between_two_hosts(&format!("udp{family}"), |a, b| {
        uso = a.tun.offloads().uso;
        let bind = |host: &Host, number: u8| {
            let local = SocketAddr::new(addresses(number)[family], 5000);
            netns::run_in(&host.namespace, || retry(|| UdpSocket::bind(local))).unwrap()
        };
        let (from, to) = (bind(a, 1), bind(b, 2));
        to.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        setsockopt(&from, sockopt::UdpGsoSegment, &(DATAGRAM_LEN as i32)).unwrap();
        // The last is shorter.
        let sent = pattern(2, DATAGRAMS * DATAGRAM_LEN - 7);
        retry(|| from.send_to(&sent, to.local_addr()?));
        for expected in sent.chunks(DATAGRAM_LEN) {
            let mut datagram = [0; 2000];
            let len = to.recv(&mut datagram).unwrap();
            assert!(datagram[..len] == *expected, "datagram damaged");
        }
    });
    let expected = if uso { DATAGRAMS as u64 } else { 0 };
    assert_eq!((seen.cut, seen.counters.merged), (usize::from(uso), expected));
}

#[test]
fn udp_over_ipv4() {
    udp(0);
}

#[test]
fn udp_over_ipv6() {
    udp(1);
}
