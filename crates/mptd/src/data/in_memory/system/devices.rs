//! A TUN device that is two queues.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice};
use std::rc::Rc;

use mpt_linux::tun::{Offloads, VNET_HEADER_LEN};

use crate::data::system::SuperPacketDevice;

/// The two queues between the host and the daemon.
#[derive(Debug, Default)]
pub(in crate::data::in_memory) struct Queues {
    /// Packets that the host sends, each behind its virtio-net header, which the daemon has still to read.
    pub(super) from_host: VecDeque<Vec<u8>>,
    /// Packets that the daemon has written.
    pub(super) to_host: Vec<Vec<u8>>,
}

/// The daemon's end of a device.
#[derive(Debug)]
pub(in crate::data::in_memory) struct MemoryDevice {
    pub(in crate::data::in_memory) name: String,
    pub(super) queues: Rc<RefCell<Queues>>,
}

impl SuperPacketDevice for MemoryDevice {
    fn name(&self) -> &str {
        &self.name
    }

    /// Returns no offloads: every packet is on its own, so that each can be told from the others.
    fn offloads(&self) -> Offloads {
        Offloads { tso: false, uso: false }
    }

    fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let packet = self.queues.borrow_mut().from_host.pop_front().ok_or(ErrorKind::WouldBlock)?;
        buffer[..packet.len()].copy_from_slice(&packet);
        Ok(packet.len())
    }

    fn write(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        let bytes: Vec<u8> = pieces.iter().flat_map(|piece| piece.iter().copied()).collect();
        self.queues.borrow_mut().to_host.push(bytes[VNET_HEADER_LEN..].to_vec());
        Ok(bytes.len())
    }
}
