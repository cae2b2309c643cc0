//! The buffer of the control frame that is being handled.

use mpt_wire::control::frame::MAX_PROBE_FRAME_LEN;

/// Room for one byte more than any frame has, so that a longer one is seen to be.
pub(super) type FrameBuffer = [u8; MAX_PROBE_FRAME_LEN + 1];

/// Returns an empty buffer.
pub(super) fn frame_buffer() -> Box<FrameBuffer> {
    Box::new([0; MAX_PROBE_FRAME_LEN + 1])
}
