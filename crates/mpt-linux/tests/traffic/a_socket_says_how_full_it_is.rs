//! A socket says how much of its receive buffer is taken, so that a reader knows before the kernel drops what comes.

use std::io::IoSlice;

use mpt_linux::udp::RECEIVE_LEN;

use crate::sockets::{bind, wait};

#[test]
fn what_waits_counts_until_it_is_read() {
    let (sender, receiver) = (bind("127.0.0.1:0"), bind("127.0.0.1:0"));
    assert_eq!(receiver.receive_fill().unwrap(), 0.0, "nothing has come");
    let (datagram, mut last, mut sent) = ([7; 1_000], 0.0, 0);
    let fill = loop {
        let piece = [IoSlice::new(&datagram)];
        if sender.send_batch(&receiver.local().into(), 0, datagram.len(), &piece).is_ok() {
            sent += 1;
        }
        let fill = receiver.receive_fill().unwrap();
        assert!(fill >= last, "{fill} after {last}");
        if fill > 0.9 {
            break fill;
        }
        last = fill;
        assert!(sent < 10_000, "{fill} after {sent} datagrams of 1,000 bytes in a buffer of 1 MiB");
    };
    assert!(fill <= 1.1 && sent > 100, "{fill} after {sent}");
    let mut buffer = vec![0; RECEIVE_LEN];
    let mut read = 0;
    while read < sent {
        let received = wait(|| receiver.receive(&mut buffer).map(Some));
        read += received.len.div_ceil(received.datagram_len);
    }
    assert_eq!(receiver.receive_fill().unwrap(), 0.0, "all has been read");
}
