//! The state of the sender of a connection with adaptive mapping: its estimates, and its queue.

use serde::{Deserialize, Serialize};

/// The longest time without data after which loss and queue of a path still count as recent, in milliseconds.
const RECENT_MS: u64 = 10_000;

/// The sender's measurements of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Estimate {
    /// The rate at which the path is given packets, in bit/s, outer headers included.
    pub rate: u64,
    /// True once a queue has shown the bottleneck: `rate` is then the estimate of what the path carries. Until then it is a limit
    /// that grows with what is delivered.
    pub bottleneck_seen: bool,
    /// The rate at which packets arrive at the peer, in bit/s, outer headers included.
    pub delivered: u64,
    /// Time that packets stand in the queue of the path, in microseconds.
    pub queue_us: u64,
    /// Standard deviation of a packet's delay in microseconds; 0 below a millisecond.
    pub jitter_us: u64,
    /// The least round-trip time in microseconds.
    pub rtt_us: u64,
    /// Packets lost per million, of about the latest two thousand.
    pub lost_per_million: u32,
    /// The number of times the rate was cut since a queue stood.
    pub cuts: u64,
    /// Milliseconds since the latest packet left that is known to have arrived; `None` before the first. Data alone shows loss and
    /// queue, so they are as old as that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ms: Option<u64>,
}

impl Estimate {
    /// True if the path has carried data lately, so that its loss and its queue are those of now.
    #[must_use]
    pub fn is_recent(&self) -> bool {
        self.idle_ms.is_some_and(|idle| idle <= RECENT_MS)
    }
}

/// Repairs of the packets of a path, as the sender counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repairs {
    /// Packets that were lost on the path, as far as the sender noticed while it repaired.
    pub lost: u64,
    /// Lost packets that came after they were sent again, over any path.
    pub repaired: u64,
    /// Packets counted as lost that came by themselves: they were only late.
    pub late: u64,
    /// Lost packets that were not sent again because the budget of repairs was used up.
    pub refused: u64,
    /// Packets that were sent again over this path.
    pub sent: u64,
    /// Their bytes, outer headers included.
    pub sent_bytes: u64,
}

/// The queue of a connection: packets for which no path had room yet. Each segment of a super-packet counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// Bytes that wait.
    pub bytes: u64,
    /// Packets that wait.
    pub packets: u64,
    /// Flows that they belong to.
    pub flows: u64,
    /// Packets that waited and have left.
    pub left: u64,
    /// Packets that left with "congestion experienced" (RFC 3168), so that their flow sends less.
    pub marked: u64,
    /// Packets dropped so that their flow sends less.
    pub dropped: u64,
    /// Packets dropped since the queue was full.
    pub overflowed: u64,
    /// Acknowledgements of TCP dropped since a later one that waited said all that they did.
    #[serde(default)]
    pub superseded: u64,
}

/// The path that short flows keep to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShortFlows {
    /// The name of the path.
    pub path: String,
    /// The bytes up to which a flow ends sooner over this path alone than over all.
    pub bytes: u64,
}
