//! The parameters of a link at one time.

use std::time::Duration;

use crate::{Bitrate, Jitter, Loss, Probability, QueueLimit};

/// The parameters of a link at one time. The default is a perfect link: no limit, no delay, no loss.
///
/// The queue limit is that of the moment the packet comes; the rate is that of each moment of its transmission, also
/// where it changes in the middle; everything else is that of the moment its transmission begins.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Params {
    /// Rate of the transmitter; `None` is no limit, then nothing ever waits.
    pub rate: Option<Bitrate>,
    /// Limit of the queue for the transmitter.
    pub queue: QueueLimit,
    /// The wait for the transmitter above which a packet is marked "congestion experienced" (RFC 3168), or dropped if
    /// it has no such mark; `None` for a queue that marks nothing.
    #[cfg_attr(feature = "serde", serde(default))]
    pub mark_above: Option<Duration>,
    /// Distance of the grants of a link that sends in slots (LTE: 1 ms), counted from the start of the link: what the
    /// transmitter finishes within a slot leaves together at its end. Zero for a link that sends at any time.
    #[cfg_attr(feature = "serde", serde(default))]
    pub slot: Duration,
    /// Time from the end of the transmission to the arrival.
    pub delay: Duration,
    /// Random part of the delay. The sum is never below 0.
    pub jitter: Option<Jitter>,
    /// True if packets arrive in the order in which they were sent, whatever delay and jitter say: one that would
    /// overtake another arrives with it instead, right behind it.
    pub keep_order: bool,
    /// Random loss on the wire.
    pub loss: Loss,
    /// Probability that a packet arrives twice. The copy has a jitter of its own.
    pub duplication: Probability,
}
