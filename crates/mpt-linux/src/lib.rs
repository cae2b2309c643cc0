//! The only crate that touches the operating system.
