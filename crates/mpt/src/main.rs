//! Command line of the multipath tunnel.
#![forbid(unsafe_code)]

fn main() {}
