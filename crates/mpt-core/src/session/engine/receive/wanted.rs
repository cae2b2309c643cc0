//! The requests in the messages of a frame.

use mpt_wire::control::Reason;

/// The requests of all messages of a frame together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wanted {
    /// The probe that is to be answered.
    pub(crate) echo: Option<u64>,
    /// The peer asks for a survey of this path, of so many probes.
    pub(crate) survey: Option<u16>,
    /// The generation of the peer's table of paths that is to be acknowledged.
    pub(crate) acknowledge: Option<u32>,
    /// The address that the frame came from has answered a challenge.
    pub(crate) proved: bool,
    /// The peer says goodbye.
    pub(crate) goodbye: Option<Reason>,
}
