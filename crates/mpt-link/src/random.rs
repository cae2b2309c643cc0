//! Random numbers: one stream per purpose.

use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// A stream of random numbers. Streams of one seed and different purposes are independent.
#[derive(Clone, Debug)]
pub(crate) struct Stream(Pcg64);

impl Stream {
    /// `purpose` must differ from the others in its high bytes, so that neighbouring seeds share no stream.
    pub(crate) fn new(seed: u64, purpose: &[u8; 8]) -> Self {
        Self(Pcg64::seed_from_u64(seed ^ u64::from_be_bytes(*purpose)))
    }

    /// Uniform in [0, 1), a multiple of 2^-53.
    pub(crate) fn unit(&mut self) -> f64 {
        const SCALE: f64 = 1.0 / (1_u64 << 53) as f64;
        (self.0.next_u64() >> 11) as f64 * SCALE
    }

    /// Two of them, [`Stream::unit`] each.
    pub(crate) fn pair(&mut self) -> [f64; 2] {
        [self.unit(), self.unit()]
    }

    /// Returns what [`Stream::pair`] would give after `index` calls of it, without making them.
    pub(crate) fn pair_at(&self, index: u64) -> [f64; 2] {
        let mut ahead = self.clone();
        ahead.0.advance(u128::from(index) * 2);
        ahead.pair()
    }
}

/// The random numbers that one packet may need, drawn whether needed or not: packet n gets the same numbers whatever the link is
/// configured to do with them, and whatever became of the packets before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draws {
    pub(crate) loss: f64,
    pub(crate) transition: f64,
    pub(crate) jitter: [f64; 2],
    pub(crate) duplication: f64,
    pub(crate) copy_jitter: [f64; 2],
}

#[derive(Clone, Debug)]
pub(crate) struct Random {
    loss: Stream,
    transition: Stream,
    jitter: Stream,
    duplication: Stream,
    copy_jitter: Stream,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            loss: Stream::new(seed, b"loss    "),
            transition: Stream::new(seed, b"state   "),
            jitter: Stream::new(seed, b"jitter  "),
            duplication: Stream::new(seed, b"twice   "),
            copy_jitter: Stream::new(seed, b"copy    "),
        }
    }

    pub(crate) fn draw(&mut self) -> Draws {
        Draws {
            loss: self.loss.unit(),
            transition: self.transition.unit(),
            jitter: self.jitter.pair(),
            duplication: self.duplication.unit(),
            copy_jitter: self.copy_jitter.pair(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipping_ahead_gives_what_drawing_gives() {
        let mut stream = Stream::new(7, b"jitter  ");
        let from_start = stream.clone();
        for index in 0..100 {
            assert_eq!(stream.pair(), from_start.pair_at(index));
        }
    }

    #[test]
    fn neighbouring_seeds_and_purposes_share_no_stream() {
        let firsts: Vec<u64> = (0..100)
            .flat_map(|seed| {
                let draws = Random::new(seed).draw();
                let [j, _] = draws.jitter;
                let [c, _] = draws.copy_jitter;
                [draws.loss, draws.transition, j, draws.duplication, c].map(f64::to_bits)
            })
            .collect();
        let mut distinct = firsts.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), firsts.len());
    }
}
