//! The laboratory: namespaces, traffic, demo and benchmark.
#![forbid(unsafe_code)]

fn main() {}
