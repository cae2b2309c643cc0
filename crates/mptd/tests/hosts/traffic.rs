//! Data whose every byte and every packet is accounted for.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::ops::Range;
use std::time::{Duration, Instant};
use std::{iter, thread};

use super::{Host, PATIENCE};

/// An endless pseudo-random stream (SplitMix64), of which the receiver knows every byte.
pub(crate) struct Noise(u64);

impl Noise {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn fill(&mut self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(8) {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut word = self.0;
            word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            chunk.copy_from_slice(&(word ^ (word >> 31)).to_le_bytes()[..chunk.len()]);
        }
    }
}

/// One TCP connection from `from` to `to` (an address of its own with a free port), `bytes` of noise in both directions at once,
/// compared byte by byte as they arrive.
pub(crate) fn tcp_both_ways(from: &Host, to: &Host, address: &str, bytes: usize) {
    let address: SocketAddr = address.parse().unwrap();
    let listener = to.run(|| TcpListener::bind(address)).unwrap();
    thread::scope(|scope| {
        let server = scope.spawn(|| exchange(&listener.accept().unwrap().0, bytes, [1, 2]));
        let client = from.run(|| TcpStream::connect_timeout(&address, PATIENCE)).unwrap();
        exchange(&client, bytes, [2, 1]);
        server.join().unwrap();
    });
}

/// Sends the noise of one seed and expects that of the other.
fn exchange(stream: &TcpStream, bytes: usize, [sent, expected]: [u64; 2]) {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut noise = Noise::new(sent);
            let mut chunk = vec![0; 64 * 1024];
            for start in (0..bytes).step_by(chunk.len()) {
                let length = chunk.len().min(bytes - start);
                noise.fill(&mut chunk[..length]);
                (&mut &*stream).write_all(&chunk[..length]).expect("the stream takes everything");
            }
            stream.shutdown(Shutdown::Write).unwrap();
        });
        let mut noise = Noise::new(expected);
        let (mut got, mut want) = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
        for start in (0..bytes).step_by(got.len()) {
            let length = got.len().min(bytes - start);
            (&mut &*stream).read_exact(&mut got[..length]).expect("the whole stream arrives");
            noise.fill(&mut want[..length]);
            assert!(got[..length] == want[..length], "corrupted after byte {start}");
        }
        assert_eq!((&mut &*stream).read(&mut got).unwrap(), 0, "more than was sent");
    });
}

/// Sends so many numbered datagrams of 100 bytes, few enough at a time for any line, and expects every one of them once.
pub(crate) fn deliver(from: &UdpSocket, to: &UdpSocket, count: u64) {
    let address = to.local_addr().unwrap();
    let mut numbers = thread::scope(|scope| {
        scope.spawn(|| send_numbered(from, address, 0..count, 100, 4000));
        receive_count(to, count)
    });
    numbers.sort_unstable();
    assert!(numbers.iter().copied().eq(0..count), "{} of {count}: {numbers:?}", numbers.len());
}

/// Sends datagrams number `numbers` of `length` bytes (8 at least), paced to `per_second`.
pub(crate) fn send_numbered(
    socket: &UdpSocket,
    to: SocketAddr,
    numbers: Range<u64>,
    length: usize,
    per_second: u32,
) {
    let start = Instant::now();
    let first = numbers.start;
    for number in numbers {
        let due = start + Duration::from_secs(1) * (number - first) as u32 / per_second;
        if let Some(early) = due.checked_duration_since(Instant::now()) {
            // Small sleeps are long on a busy machine; a few datagrams in a row hurt nobody.
            if early > Duration::from_millis(1) {
                thread::sleep(early);
            }
        }
        socket.send_to(&datagram(number, length), to).unwrap();
    }
}

/// Receives so many numbered datagrams, or those that come until nothing comes for a long time.
pub(crate) fn receive_count(socket: &UdpSocket, count: u64) -> Vec<u64> {
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    (0..count).map_while(|_| receive_one(socket)).collect()
}

/// Receives numbered datagrams, of which the first may be long in coming, until nothing more comes for `quiet`.
pub(crate) fn receive_until_quiet(socket: &UdpSocket, quiet: Duration) -> Vec<u64> {
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut numbers = Vec::from_iter(receive_one(socket));
    socket.set_read_timeout(Some(quiet)).unwrap();
    numbers.extend(iter::from_fn(|| receive_one(socket)));
    numbers
}

/// Asserts that nothing more arrives.
pub(crate) fn expect_silence(socket: &UdpSocket, time: Duration) {
    socket.set_read_timeout(Some(time)).unwrap();
    assert_eq!(receive_one(socket), None, "a datagram that nobody expected");
}

/// `None`: nothing came in time.
fn receive_one(socket: &UdpSocket) -> Option<u64> {
    let mut buffer = [0; 2000];
    let length = socket.recv(&mut buffer).ok()?;
    let number = u64::from_be_bytes(buffer[..8].try_into().unwrap());
    assert!(buffer[..length] == datagram(number, length), "datagram {number} is corrupted");
    Some(number)
}

/// Returns the number of times that the sequence of numbers goes back.
pub(crate) fn inversions(numbers: &[u64]) -> usize {
    numbers.windows(2).filter(|pair| pair[1] < pair[0]).count()
}

/// Returns the number of repeated numbers.
pub(crate) fn duplicates(numbers: &[u64]) -> usize {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).filter(|pair| pair[0] == pair[1]).count()
}

fn datagram(number: u64, length: usize) -> Vec<u8> {
    let mut datagram = vec![0; length];
    datagram[..8].copy_from_slice(&number.to_be_bytes());
    Noise::new(number).fill(&mut datagram[8..]);
    datagram
}
