//! Frames of the control protocol and the messages in them (docs/protocol.md, part 2).
