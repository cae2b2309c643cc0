//! The receive window: puts packets back in sequence.
