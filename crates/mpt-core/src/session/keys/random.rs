//! Randomness from a seed the caller gives: nothing here asks the operating system.

use std::fmt;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use zeroize::Zeroizing;

/// A ChaCha20 generator. The same seed gives the same numbers, and so the same keys: a daemon
/// takes 32 bytes of the operating system's, a simulation whatever it likes.
///
/// An attacker who reads this state from memory learns all numbers to come, but no key drawn before by [`Random::key`]: sessions of the past stay
/// closed.
pub struct Random {
    generator: ChaCha20Rng,
}

impl Random {
    /// A generator that is determined by `seed`.
    #[must_use]
    pub fn new(seed: [u8; 32]) -> Self {
        Self { generator: ChaCha20Rng::from_seed(seed) }
    }

    /// 32 bits, for session indices and jitter.
    pub fn u32(&mut self) -> u32 {
        self.generator.next_u32()
    }

    /// 64 bits, for the tokens of probes.
    pub fn u64(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// `N` bytes that are no secret, such as a nonce.
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.generator.fill_bytes(&mut bytes);
        bytes
    }

    /// 32 bytes to make a key of. The generator starts anew from a seed of its own making, which
    /// overwrites the state the key came from.
    pub fn key(&mut self) -> Zeroizing<[u8; 32]> {
        let key = Zeroizing::new(self.bytes());
        let seed = Zeroizing::new(self.bytes());
        self.generator = ChaCha20Rng::from_seed(*seed);
        key
    }
}

/// Says nothing of the state.
impl fmt::Debug for Random {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Random").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_determines_everything() {
        let draw = |seed| {
            let mut random = Random::new([seed; 32]);
            (random.u32(), *random.key(), random.u64(), random.bytes::<24>(), *random.key())
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn a_key_is_not_what_the_generator_would_have_given_next() {
        let mut with = Random::new([7; 32]);
        let mut without = Random::new([7; 32]);
        let key = *with.key();
        assert_eq!(key, without.bytes::<32>());
        assert_ne!(with.bytes::<32>(), without.bytes::<32>());
    }

    #[test]
    fn debug_output_tells_nothing() {
        assert_eq!(format!("{:?}", Random::new([1; 32])), "Random { .. }");
    }
}
