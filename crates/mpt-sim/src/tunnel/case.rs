//! One flow through one tunnel: the description of a run.

use std::time::Duration;

use mpt_core::path::mtu;
use mpt_core::{Mapping, advise, reorder};
use mpt_link::{Bitrate, ByteCount, Distribution, Jitter, Loss, Params, QueueLimit, Redraw};
use mpt_wire::gre;
use mpt_wire::ip::Version;
use serde::{Deserialize, Serialize};

use crate::transport::tcp::Config;

use super::plan::{FlowPlan, Via};

/// The length of a GRE header with a sequence number, in bytes.
const GRE: usize =
    gre::Template { protocol: gre::Protocol::IPV4, checksum: false, key: None, numbered: true }
        .header_len();

/// Headers around an inner packet on a link: GRE with a sequence number, UDP, IPv4, and Ethernet without its checksum (14 bytes, as the laboratory's
/// emulator counts).
pub const HEADERS: ByteCount = ByteCount(14 + mtu::overhead(Version::V4, GRE as u16) as u64);

/// Time from which a flow counts as settled: the laboratory's `goodput_3_to_10_mbit` begins there, too.
const SETTLED_FROM: Duration = Duration::from_secs(3);

/// Time that a session has before the flow begins: the handshake over a path of 320 ms takes about a second, and some twenty probes on each path
/// follow.
pub(crate) const WARM_UP: Duration = Duration::from_secs(3);

/// The description of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The paths, one link each way.
    pub paths: Vec<Path>,
    /// Reordering at both ends.
    pub reorder: reorder::Config,
    /// Mapping of packets to paths at both ends.
    pub mapping: Mapping,
    /// True if the ends have a session: a handshake, probes and all that follows from them.
    pub session: bool,
    /// Longest time that the ends have a session before the flow begins.
    pub warm_up: Duration,
    /// The flow through the tunnel.
    pub tcp: Config,
    /// Simulated time from the beginning of the flow on.
    pub duration: Duration,
    /// Time from which the flow counts as settled.
    pub settled_from: Duration,
    /// Seed of all random numbers.
    pub seed: u64,
}

/// One path: a link, alike in both directions but for its rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// Rate of the link, headers included.
    pub rate: Bitrate,
    /// Rate of the other direction, from end 1 to end 0, if it is another one.
    pub back: Option<Bitrate>,
    /// Propagation delay, one way.
    pub delay: Duration,
    /// Standard deviation of the delay, normal.
    pub jitter: Duration,
    /// The times at which the random part of the delay changes. If each packet has its own, packets overtake each other; if it holds for a while,
    /// they stay in order.
    pub redraw: Redraw,
    /// Random loss, in both directions.
    pub loss: Loss,
    /// Longest wait for the transmitter.
    pub queue: Duration,
    /// The wait above which the queue marks packets, or drops those that cannot be marked.
    pub mark_above: Option<Duration>,
    /// True if the queue serves flows in turns and keeps each of them short (FQ-CoDel, RFC 8290), whatever `queue` says.
    pub fair: bool,
    /// Interval of the grants of a link that sends in slots; zero for one that sends at any time.
    pub slot: Duration,
    /// Share of the packets, in both directions.
    pub weight: u16,
}

/// A set of settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// The papers' settings: a window of 10,000 and 300 ms (imareen2025), a gap is given up when a packet has waited for that long, late packets are
    /// dropped, no session.
    Paper,
    /// The daemon's defaults, and a session.
    Ours,
}

impl Profile {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Ours => "ours",
        }
    }

    /// Returns how it puts packets in order.
    pub fn reorder(self) -> reorder::Config {
        let mut config = reorder::Config::default();
        if self == Self::Paper {
            (config.window, config.max_delay) = (Some(10_000), Some(Duration::from_millis(300)));
            (config.early_release, config.late) = (false, reorder::Late::Drop);
            config.equalize = reorder::Equalize::Off;
        }
        config
    }
}

impl Path {
    /// Returns a path without jitter and loss, with a queue of 100 ms (imareen2025). The weight is the rate in Mbit/s.
    pub fn new(megabits: u16, delay: Duration) -> Self {
        Self {
            rate: Bitrate::from_megabits(u64::from(megabits))
                .unwrap_or(const { Bitrate::new(1).unwrap() }),
            back: None,
            delay,
            jitter: Duration::ZERO,
            redraw: Redraw::EveryPacket,
            loss: Loss::None,
            queue: Duration::from_millis(100),
            mark_above: None,
            fair: false,
            slot: Duration::ZERO,
            weight: megabits.max(1),
        }
    }

    /// Returns what has to be known of it for advice.
    pub fn known(&self) -> advise::Path {
        let rate = self.rate.bits_per_second();
        advise::Path { rate, delay: self.delay, jitter: self.jitter }
    }

    /// Returns the parameters of the direction from end `side`.
    pub(crate) fn params(&self, side: usize) -> Params {
        let jitter = (!self.jitter.is_zero()).then_some(Jitter {
            distribution: Distribution::Normal { deviation: self.jitter },
            redraw: self.redraw,
        });
        Params {
            rate: Some(self.back.filter(|_| side == 1).unwrap_or(self.rate)),
            queue: QueueLimit::Time(self.queue),
            delay: self.delay,
            jitter,
            keep_order: self.redraw != Redraw::EveryPacket,
            mark_above: self.mark_above,
            slot: self.slot,
            loss: self.loss,
            ..Params::default()
        }
    }
}

impl Case {
    /// Returns a flow of 10 s, as Linux has them by default, over these paths.
    pub fn new(profile: Profile, paths: Vec<Path>, seed: u64) -> Self {
        Self {
            paths,
            reorder: profile.reorder(),
            mapping: Mapping::Packet,
            session: profile == Profile::Ours,
            warm_up: if profile == Profile::Ours { WARM_UP } else { Duration::ZERO },
            tcp: FlowPlan::linux(Via::Tunnel(0)).tcp,
            duration: Duration::from_secs(10),
            settled_from: SETTLED_FROM,
            seed,
        }
    }

    /// Returns what the paths together could carry of TCP payload, in Mbit/s, for segments of `mss` bytes of which the inner
    /// packets are `inner` bytes.
    pub(super) fn capacity(&self, mss: u64, inner: u64) -> f64 {
        let bits: u64 = self.paths.iter().map(|path| path.rate.bits_per_second()).sum();
        bits as f64 / 1e6 * mss as f64 / (inner + HEADERS.0) as f64
    }
}
