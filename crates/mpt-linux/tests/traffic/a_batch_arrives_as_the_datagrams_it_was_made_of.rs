//! Batches over the loopback device: what `UDP_SEGMENT` and `UDP_GRO` join and cut again are the datagrams that were
//! sent, and so they are where the device can do neither.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::time::Duration;

use mpt_linux::udp::{
    Batch, MAX_BATCH_BYTES, MAX_BATCH_DATAGRAMS, PathErrorKind, RECEIVE_LEN, SocketConfig,
    UdpSocket,
};
use socket2::SockAddr;

use crate::sockets::{bind, wait};

/// Reads datagrams until there are `count`, with their traffic classes.
fn receive(socket: &UdpSocket, from: SocketAddr, count: usize) -> Vec<(Vec<u8>, u8)> {
    let mut buffer = vec![0; RECEIVE_LEN];
    let mut datagrams = Vec::new();
    while datagrams.len() < count {
        let read = wait(|| socket.receive(&mut buffer).map(Some));
        assert_eq!(read.source, from);
        assert!(!read.truncated);
        let parts = buffer[..read.len].chunks(read.datagram_len.max(1));
        datagrams.extend(parts.map(|datagram| (datagram.to_vec(), read.tos)));
    }
    datagrams
}

/// Sends datagrams of `len` bytes, the last of `last`, each as a header and a payload; gives what arrived.
fn round_trip(local: &str, one_by_one: bool, count: usize, len: usize, last: usize, tos: u8) {
    let (sender, receiver) = (bind(local), bind(local));
    if one_by_one {
        sender.without_segmentation();
    }
    let datagrams: Vec<Vec<u8>> = (0..count)
        .map(|index| {
            let len = if index + 1 == count { last } else { len };
            (0..len).map(|byte| (byte * 7 + index) as u8).collect()
        })
        .collect();
    let pieces: Vec<IoSlice<'_>> = datagrams
        .iter()
        .flat_map(|datagram| {
            let (header, payload) = datagram.split_at(datagram.len().min(8));
            [IoSlice::new(header), IoSlice::new(payload)]
        })
        .filter(|piece| !piece.is_empty())
        .collect();
    let sent = sender.send_batch(&receiver.local().into(), tos, len, &pieces).unwrap();
    assert_eq!(sent, count);
    let expected: Vec<(Vec<u8>, u8)> = datagrams.into_iter().map(|bytes| (bytes, tos)).collect();
    assert_eq!(receive(&receiver, sender.local(), count), expected);
}

#[test]
fn over_ipv4_and_ipv6_with_and_without_segmentation() {
    for local in ["127.0.0.1:0", "[::1]:0"] {
        for one_by_one in [false, true] {
            round_trip(local, one_by_one, 1, 1472, 1472, 0);
            round_trip(local, one_by_one, 5, 1000, 1000, 0);
            round_trip(local, one_by_one, 44, 1472, 9, 0xb8);
            round_trip(local, one_by_one, MAX_BATCH_DATAGRAMS, 72, 72, 0x02);
            let len = MAX_BATCH_BYTES / MAX_BATCH_DATAGRAMS;
            round_trip(local, one_by_one, MAX_BATCH_DATAGRAMS, len, len, 0);
        }
    }
}

#[test]
fn a_closed_port_is_reported_by_the_error_queue_and_stops_nothing() {
    let (sender, receiver) = (bind("127.0.0.1:0"), bind("127.0.0.1:0"));
    let closed = bind("127.0.0.1:0").local();
    let datagram = [IoSlice::new(b"to nobody")];
    sender.send_batch(&closed.into(), 0, 9, &datagram).unwrap();
    let mut quote = [0; 64];
    let error = wait(|| sender.take_error(&mut quote));
    assert_eq!(
        (error.kind, error.remote, error.local),
        (PathErrorKind::Unreachable, closed, false)
    );
    assert_eq!(&quote[..error.quoted], b"to nobody");
    assert_eq!(sender.take_error(&mut quote).unwrap(), None);

    // With an error pending, neither sending nor receiving fails.
    sender.send_batch(&closed.into(), 0, 9, &datagram).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    sender.send_batch(&receiver.local().into(), 0, 9, &[IoSlice::new(b"to you...")]).unwrap();
    assert_eq!(receive(&receiver, sender.local(), 1), [(b"to you...".to_vec(), 0)]);
    let nothing = sender.receive(&mut [0; 64]).unwrap_err();
    assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
}

#[test]
fn a_datagram_longer_than_the_buffer_is_marked_as_cut() {
    let (sender, receiver) = (bind("127.0.0.1:0"), bind("127.0.0.1:0"));
    sender.send_batch(&receiver.local().into(), 0, 100, &[IoSlice::new(&[1; 100])]).unwrap();
    let mut buffer = [0; 60];
    let read = wait(|| receiver.receive(&mut buffer).map(Some));
    assert!(read.truncated);
    assert_eq!(read.len, 60);
}

#[test]
fn a_port_in_use_is_an_error() {
    let first = bind("127.0.0.1:0");
    let config = SocketConfig {
        local: first.local(),
        interface: None,
        mark: None,
        checksum: true,
        receive_buffer: 1 << 16,
        send_buffer: 1 << 16,
    };
    assert_eq!(UdpSocket::bind(&config).unwrap_err().kind(), io::ErrorKind::AddrInUse);
}

/// Batches of one call, each to its own peer: one datagram for this one, several for the next.
#[test]
fn batches_to_many_peers_arrive_each_at_its_own() {
    for one_by_one in [false, true] {
        let sender = bind("127.0.0.1:0");
        if one_by_one {
            sender.without_segmentation();
        }
        let receivers: Vec<UdpSocket> = (0..10).map(|_| bind("127.0.0.1:0")).collect();
        let remotes: Vec<SockAddr> = receivers.iter().map(|it| it.local().into()).collect();
        let datagrams: Vec<Vec<u8>> = (0..10).map(|index| vec![index; 100]).collect();
        let pieces: Vec<Vec<IoSlice<'_>>> =
            (0..10).map(|index| vec![IoSlice::new(&datagrams[index]); 1 + index % 3]).collect();
        let batch = |index: usize| Batch {
            remote: &remotes[index],
            tos: index as u8 * 4,
            datagram_len: 100,
            pieces: &pieces[index],
        };
        let (mut sent, mut calls) = (0, 0);
        while sent < 10 {
            let taken = sender.send_batches((sent..10).map(batch));
            calls += 1;
            sent += taken;
            // A batch that does not leave with others leaves alone.
            if sent < 10 {
                let it = batch(sent);
                let count = sender.send_batch(it.remote, it.tos, it.datagram_len, it.pieces);
                assert_eq!(count.unwrap(), it.pieces.len());
                sent += 1;
            }
        }
        assert_eq!(calls == 1, !one_by_one, "{calls} calls");
        for (index, receiver) in receivers.iter().enumerate() {
            let arrived = receive(receiver, sender.local(), pieces[index].len());
            let expected = (datagrams[index].clone(), index as u8 * 4);
            assert!(arrived.iter().all(|datagram| *datagram == expected), "{index}: {arrived:?}");
        }
    }
}
