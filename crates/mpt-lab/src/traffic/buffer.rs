//! The size of receive buffers, for packets that arrive while other sockets have their turn.

use std::os::fd::AsFd;

use anyhow::{Context, Result};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{RcvBuf, RcvBufForce};

/// Gives a socket a receive buffer of `bytes`, or as many as the system lets its user have.
pub(crate) fn enlarge(socket: &impl AsFd, bytes: usize) -> Result<()> {
    let forced = setsockopt(socket, RcvBufForce, &bytes);
    // Only root of the whole machine may force it.
    forced.or_else(|_| setsockopt(socket, RcvBuf, &bytes)).context("cannot enlarge a buffer")
}
