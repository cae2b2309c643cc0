//! Random numbers: one stream per component, so that what one draws never shifts what another gets.

use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Stream(Pcg64);

impl Stream {
    /// Returns the stream of `component` in the run that has this seed.
    pub fn new(seed: u64, component: u64) -> Self {
        Self(Pcg64::seed_from_u64(derive(seed, component)))
    }

    /// Returns a number uniform in [0, 1), a multiple of 2^-53.
    pub fn unit(&mut self) -> f64 {
        const SCALE: f64 = 1.0 / (1_u64 << 53) as f64;
        (self.0.next_u64() >> 11) as f64 * SCALE
    }
}

/// Returns the seed of `component` in the run that has this seed: SplitMix64 (Steele, Lea, Flood 2014) of both, so that neighbouring seeds have
/// nothing in common.
pub fn derive(seed: u64, component: u64) -> u64 {
    mix(mix(seed).wrapping_add(component))
}

fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
