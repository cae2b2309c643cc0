//! UDP sockets of a test, and waiting for what they bring.

use std::io;
use std::time::{Duration, Instant};

use mpt_linux::udp::{SocketConfig, UdpSocket};

pub(crate) fn bind(local: &str) -> UdpSocket {
    UdpSocket::bind(&SocketConfig {
        local: local.parse().unwrap(),
        interface: None,
        mark: None,
        checksum: true,
        receive_buffer: 1 << 20,
        send_buffer: 1 << 20,
    })
    .unwrap()
}

/// Tries until there is something, at most 2 s.
pub(crate) fn wait<T>(mut attempt: impl FnMut() -> io::Result<Option<T>>) -> T {
    let start = Instant::now();
    loop {
        match attempt() {
            Ok(Some(found)) => return found,
            Ok(None) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => panic!("{error}"),
        }
        assert!(start.elapsed() < Duration::from_secs(2), "nothing came");
        std::thread::sleep(Duration::from_millis(1));
    }
}
