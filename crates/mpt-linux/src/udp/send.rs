//! Sending a batch of datagrams to one peer with one system call, and batches to many peers.

use std::io::{self, IoSlice};
use std::mem;
use std::os::fd::AsRawFd;

use socket2::SockAddr;

use super::cmsg::{ControlBuffer, Writer};
use super::socket::UdpSocket;

/// Datagrams in one batch. The kernel's own limit was 64 until Linux 6.9 and is 128 since.
pub const MAX_BATCH_DATAGRAMS: usize = 64;
/// Bytes of UDP payload in one batch: an IPv4 packet of 65,535 bytes, less its headers.
pub const MAX_BATCH_BYTES: usize = 65_535 - 20 - 8;
/// Pieces in one batch: GRE and inner header in one, payload in the other.
pub const MAX_BATCH_PIECES: usize = 2 * MAX_BATCH_DATAGRAMS;
/// Batches in one [`UdpSocket::send_batches`].
pub const MAX_BATCHES: usize = 64;

/// Datagrams to one peer, as [`UdpSocket::send_batch`] takes them.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// The peer.
    pub remote: &'a SockAddr,
    /// Outer traffic class (DSCP and ECN).
    pub tos: u8,
    /// Bytes of every datagram but the last, which may be shorter.
    pub datagram_len: usize,
    /// The datagrams in order; a piece belongs to one datagram.
    pub pieces: &'a [IoSlice<'a>],
}

impl Batch<'_> {
    /// Bytes of one datagram, if there are several.
    fn segment(&self) -> Option<u16> {
        let bytes: usize = self.pieces.iter().map(|piece| piece.len()).sum();
        (bytes > self.datagram_len).then_some(self.datagram_len as u16)
    }
}

impl UdpSocket {
    /// Sends datagrams of `datagram_len` bytes each, only the last of which may be shorter, to `remote`. The `pieces` are the batch in
    /// order; a datagram may have several pieces, a piece belongs to one datagram. `tos` is the outer traffic class (DSCP and ECN).
    ///
    /// Gives how many datagrams the kernel took: fewer than given when its buffer filled up on the way (then wait until writable and
    /// send the rest). Errors of the first datagram are returned: `WouldBlock` when there was no room at all, `EMSGSIZE` when it is
    /// larger than the device's MTU, `ENOBUFS` when the queue below dropped it.
    pub fn send_batch(
        &self,
        remote: &SockAddr,
        tos: u8,
        datagram_len: usize,
        pieces: &[IoSlice<'_>],
    ) -> io::Result<usize> {
        let bytes: usize = pieces.iter().map(|piece| piece.len()).sum();
        let datagrams = bytes.div_ceil(datagram_len.max(1));
        debug_assert!(bytes <= MAX_BATCH_BYTES && datagrams <= MAX_BATCH_DATAGRAMS);
        if datagrams <= 1 {
            return self.send_message(remote, tos, None, pieces).map(|()| 1);
        }
        if self.segmentation.get() {
            match self.send_message(remote, tos, Some(datagram_len as u16), pieces) {
                Ok(()) => return Ok(datagrams),
                // For a batch, the kernel leaves out what it tells of a single datagram in the error queue: what size would do.
                Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) => {
                    return self.send_one_by_one(remote, tos, datagram_len, pieces);
                }
                Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EIO)) => {
                    // Either the device cannot do it, or (before Linux 6.12) a datagram is larger than the MTU: sending one by one tells.
                    let sent = self.send_one_by_one(remote, tos, datagram_len, pieces)?;
                    self.segmentation.set(false);
                    tracing::info!(local = %self.local(), %error, "device below cannot segment UDP: one datagram per packet");
                    return Ok(sent);
                }
                Err(error) => return Err(error),
            }
        }
        self.send_one_by_one(remote, tos, datagram_len, pieces)
    }

    fn send_message(
        &self,
        remote: &SockAddr,
        tos: u8,
        segment: Option<u16>,
        pieces: &[IoSlice<'_>],
    ) -> io::Result<()> {
        let mut control = ControlBuffer::<CONTROL_LEN>::new();
        let mut header = message(remote, pieces);
        let mut writer = Writer::new(&mut header, &mut control);
        push_tos(&mut writer, remote, tos);
        if let Some(segment) = segment {
            writer.push(libc::SOL_UDP, libc::UDP_SEGMENT, segment);
        }
        // A pending error of an earlier datagram (an ICMP message) is reported once, on whatever is sent next, and clears.
        let mut pending = 2;
        loop {
            // SAFETY: `header` points to the address, the pieces and the control buffer, all of which live through the call; the kernel
            // only reads them.
            let sent = unsafe {
                libc::sendmsg(self.socket.as_raw_fd(), &raw const header, libc::MSG_DONTWAIT)
            };
            if sent >= 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                Some(
                    libc::ECONNREFUSED
                    | libc::EHOSTUNREACH
                    | libc::ENETUNREACH
                    | libc::EPROTO
                    | libc::EMSGSIZE
                    | libc::ENOPROTOOPT,
                ) if pending > 0 => pending -= 1,
                _ => return Err(error),
            }
        }
    }

    /// Sends up to [`MAX_BATCHES`] batches, each to its own peer, with one system call (`sendmmsg`). Gives how many the kernel took, whole;
    /// fewer than given when something is in the way of the next one: [`Self::send_batch`] says what, and goes on from there.
    pub fn send_batches<'a>(&self, batches: impl Iterator<Item = Batch<'a>>) -> usize {
        // SAFETY: all-zero is a valid `mmsghdr` (null pointers and zero lengths).
        let mut messages: [libc::mmsghdr; MAX_BATCHES] = unsafe { mem::zeroed() };
        let mut controls = [const { ControlBuffer::<CONTROL_LEN>::new() }; MAX_BATCHES];
        let mut count = 0;
        for (control, batch) in controls.iter_mut().zip(batches) {
            let segment = batch.segment();
            if segment.is_some() && !self.segmentation.get() {
                break;
            }
            let header = &mut messages[count].msg_hdr;
            *header = message(batch.remote, batch.pieces);
            let mut writer = Writer::new(header, control);
            push_tos(&mut writer, batch.remote, batch.tos);
            if let Some(segment) = segment {
                writer.push(libc::SOL_UDP, libc::UDP_SEGMENT, segment);
            }
            count += 1;
        }
        if count == 0 {
            return 0;
        }
        // SAFETY: the first `count` messages point to addresses, pieces and control buffers that live through the call; the kernel writes
        // only `msg_len` in them.
        let sent = unsafe {
            libc::sendmmsg(
                self.socket.as_raw_fd(),
                messages.as_mut_ptr(),
                count as libc::c_uint,
                libc::MSG_DONTWAIT as _,
            )
        };
        usize::try_from(sent).unwrap_or(0)
    }

    /// For devices without checksum offload, which cannot take `UDP_SEGMENT`.
    fn send_one_by_one(
        &self,
        remote: &SockAddr,
        tos: u8,
        datagram_len: usize,
        pieces: &[IoSlice<'_>],
    ) -> io::Result<usize> {
        let mut control = ControlBuffer::<CONTROL_LEN>::new();
        // SAFETY: all-zero is a valid `mmsghdr` (null pointers and zero lengths).
        let mut messages: [libc::mmsghdr; MAX_BATCH_DATAGRAMS] = unsafe { mem::zeroed() };
        let mut count = 0;
        let mut rest = pieces;
        while !rest.is_empty() && count < MAX_BATCH_DATAGRAMS {
            let mut len = 0;
            let end = rest.iter().position(|piece| {
                len += piece.len();
                len >= datagram_len
            });
            let (datagram, others) = rest.split_at(end.map_or(rest.len(), |last| last + 1));
            messages[count].msg_hdr = message(remote, datagram);
            rest = others;
            count += 1;
        }
        let mut template = message(remote, &[]);
        push_tos(&mut Writer::new(&mut template, &mut control), remote, tos);
        for message in &mut messages[..count] {
            message.msg_hdr.msg_control = template.msg_control;
            message.msg_hdr.msg_controllen = template.msg_controllen;
        }
        let mut pending = 2;
        loop {
            // SAFETY: the first `count` messages point to memory that lives through the call; the kernel writes only `msg_len` in them.
            let sent = unsafe {
                libc::sendmmsg(
                    self.socket.as_raw_fd(),
                    messages.as_mut_ptr(),
                    count as libc::c_uint,
                    libc::MSG_DONTWAIT as _,
                )
            };
            if sent >= 0 {
                return Ok(sent as usize);
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                Some(libc::ECONNREFUSED | libc::EHOSTUNREACH | libc::ENETUNREACH)
                    if pending > 0 =>
                {
                    pending -= 1;
                }
                _ => return Err(error),
            }
        }
    }
}

/// Two control messages: traffic class and segment size.
const CONTROL_LEN: usize = 64;

fn message(remote: &SockAddr, pieces: &[IoSlice<'_>]) -> libc::msghdr {
    // SAFETY: all-zero is a valid `msghdr` (null pointers and zero lengths); some targets have private padding fields.
    let mut header: libc::msghdr = unsafe { mem::zeroed() };
    header.msg_name = remote.as_ptr().cast_mut().cast();
    header.msg_namelen = remote.len();
    // `IoSlice` is guaranteed to have the layout of `iovec`.
    header.msg_iov = pieces.as_ptr().cast_mut().cast();
    header.msg_iovlen = pieces.len() as _;
    header
}

fn push_tos(writer: &mut Writer<'_>, remote: &SockAddr, tos: u8) {
    if tos == 0 {
        return;
    }
    if remote.is_ipv6() {
        writer.push(libc::IPPROTO_IPV6, libc::IPV6_TCLASS, libc::c_int::from(tos));
    } else {
        writer.push(libc::IPPROTO_IP, libc::IP_TOS, libc::c_int::from(tos));
    }
}
