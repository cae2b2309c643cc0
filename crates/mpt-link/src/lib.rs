//! The model of one direction of one link: rate, slots, propagation delay, jitter, loss, duplication, queue, and a
//! schedule of changes to them.
//!
//! A deterministic state machine, driven by packets, time and a seed: it reads no clock and draws no entropy, so that
//! the simulator and the laboratory's emulator compute the same link, and the same arguments give the same results to
//! the nanosecond on every machine (floating-point functions come from `libm`).
//!
//! A packet passes these stages, in this order:
//!
//! ```text
//!  enqueue -> [ queue, drop-tail or marking ] -> [ transmitter, rate, slots ] -> [ loss ] -> [ duplication ] -> [ delay + jitter ] -> poll
//! ```
//!
//! A lost packet has used its share of queue and rate, as on a real wire. (Kernel `netem` drops before its rate
//! limit: at 1 % loss the difference is 1 % of the rate.)
//!
//! [`Link`] carries packets of any type. [`Channel`] is the model alone: it tells what becomes of a packet, for callers
//! that carry packets in their own way, such as an emulator that moves runs of segments at once. [`FairLink`] has a queue
//! that serves flows in turns ([`FqCodel`], RFC 8290) instead of the one above.
//!
//! ```
//! use std::time::{Duration, Instant};
//! use mpt_link::{Bitrate, ByteCount, Link, Params};
//!
//! # #[expect(clippy::disallowed_methods)]
//! # fn now() -> Instant { Instant::now() }
//! let start = now();
//! let params = Params {
//!     rate: Bitrate::new(100_000_000),
//!     delay: Duration::from_millis(5),
//!     ..Params::default()
//! };
//! let mut link = Link::new(start, params, [], 1);
//! link.enqueue(start, ByteCount(1250), "a packet");
//! let arrival = start + Duration::from_micros(5100);
//! assert_eq!(link.next_timeout(), Some(arrival));
//! assert_eq!(link.poll(arrival), Some("a packet"));
//! ```
#![forbid(unsafe_code)]

mod channel;
mod fair_link;
mod link;
mod medium;
mod params;
mod queue;
mod random;
mod schedule;
mod time;
mod units;

pub use channel::jitter::{Distribution, Jitter, Redraw};
pub use channel::loss::Loss;
pub use channel::{Capable, Channel, Counters, Outcome, Tally};
pub use fair_link::{Arrival, FairLink};
pub use link::Link;
pub use medium::Medium;
pub use params::Params;
pub use queue::QueueLimit;
pub use queue::fq_codel::{Dequeued, FqCodel, FqCodelConfig};
pub use schedule::Change;
pub use units::{Bitrate, ByteCount, NoProbability, Probability};
