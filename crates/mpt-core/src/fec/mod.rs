//! Forward error correction for what cannot wait for a repair: the sender adds repair symbols over other
//! paths, from which the receiver restores packets that are lost.
//!
//! ```text
//! packets   a1 a2 a3   b1 b2 b3   c1 c2 c3
//! symbols           A          B          C
//!
//! A = P(a)      B = Q(a) + P(b)      C = Q(b) + P(c)
//! ```
//!
//! P and Q are the two parities of a group by a Reed-Solomon code. One loss in group b is restored by B as
//! soon as that comes, and two by B and C. A symbol that is lost costs nothing unless packets of both of its
//! neighbours are lost as well, since the next one has the other parity.
//!
//! `docs/repair.md` has the arithmetic, and section 16.4 of `docs/protocol.md` the messages.

mod code;
mod counters;
mod encoder;
mod restorer;
mod store;

pub use self::counters::FecCounters;
pub(crate) use self::encoder::{Encoder, Ready, Strength};
pub(crate) use self::restorer::{Restored, Restorer};
