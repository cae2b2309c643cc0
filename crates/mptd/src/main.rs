//! The multipath tunnel daemon.
#![forbid(unsafe_code)]

fn main() {}
