//! The context in which frames are handled.

use crate::session::engine::shared::Shared;
use crate::{Times, Tunnels};

/// The state that a frame may read and change besides its session.
pub(crate) struct Context<'a, P, S> {
    pub(crate) at: Times,
    pub(crate) shared: &'a mut Shared,
    pub(crate) tunnels: &'a mut Tunnels<P>,
    /// Takes the packets that become deliverable.
    pub(crate) sink: &'a mut S,
}
