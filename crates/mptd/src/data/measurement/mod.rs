//! Measurement of the traffic of paths: rates, the bytes that count for caps, and speed tests.

pub(super) mod capped;
mod carried;
pub(super) mod rates;
mod speed_tests;
