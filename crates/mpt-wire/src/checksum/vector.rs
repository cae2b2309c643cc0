//! The sum of many bytes by the processor's vector registers, which takes half to two thirds of the time of the general ones. The program is built
//! for every processor, and looks for them when it runs.

use std::sync::LazyLock;

use fearless_simd::{Level, Simd, SimdBase, dispatch, prelude::*, u8x32, u32x8};

use super::carry::add_with_carry;
use super::words;

/// Bytes that are added in one step. What is shorter is left to the general registers.
pub(super) const STEP: usize = 64;

/// Bytes after which the lanes are emptied. A lane has 32 bits. At the end four of them are added to one, which then has four words of 16 bits of
/// each step.
const BLOCK: usize = 1 << 20;

const _: () =
    assert!(BLOCK.is_multiple_of(STEP) && (BLOCK / STEP) as u64 * 4 * 0xffff <= u32::MAX as u64);

/// The vector instructions of this processor. Looking for them takes longer than most sums.
static LEVEL: LazyLock<Level> = LazyLock::new(Level::new);

/// Returns the sum of the bytes as words in native byte order; an odd last byte is padded with zero.
#[inline]
pub(super) fn sum(bytes: &[u8]) -> u64 {
    sum_with(*LEVEL, bytes)
}

#[inline]
fn sum_with(level: Level, bytes: &[u8]) -> u64 {
    if level.is_fallback() {
        return words::sum(bytes);
    }
    // All blocks but the last have an even length, so none begins in the middle of a word.
    let blocks = bytes.chunks(BLOCK).map(|block| dispatch!(level, simd => sum_block(simd, block)));
    blocks.fold(0, add_with_carry)
}

/// Returns the sum of a block. One lane adds 32 bits of each step, modulo 2^32, and another one the higher halves of these. The difference is the sum
/// of the lower halves, since that is less than 2^32.
#[inline(always)]
fn sum_block<S: Simd>(simd: S, bytes: &[u8]) -> u64 {
    let mut both = [u32x8::splat(simd, 0); 2];
    let mut higher = both;
    let mut steps = bytes.chunks_exact(STEP);
    for step in &mut steps {
        for (half, (both, higher)) in
            step.chunks_exact(STEP / 2).zip(both.iter_mut().zip(&mut higher))
        {
            let words: u32x8<S> = u8x32::from_slice(simd, half).bitcast();
            *both += words;
            *higher += words >> 16;
        }
    }
    let higher = higher[0] + higher[1];
    let lower = both[0] + both[1] - (higher << 16);
    let lanes: [u32; 8] = (lower + higher).into();
    add_with_carry(lanes.into_iter().map(u64::from).sum(), words::sum(steps.remainder()))
}

#[cfg(test)]
mod tests {
    use super::super::carry::fold;
    use super::*;

    #[test]
    fn all_instructions_give_what_the_general_registers_give() {
        let best = Level::new();
        #[cfg_attr(not(target_arch = "x86_64"), expect(unused_mut))]
        let mut levels = vec![best, Level::baseline()];
        #[cfg(target_arch = "x86_64")]
        levels.extend(best.as_sse4_2().map(Level::Sse4_2));
        let random: Vec<u8> =
            (0..3 * BLOCK as u32 + 9).map(|i| (i.wrapping_mul(0x9e37_79b9) >> 24) as u8).collect();
        let largest = vec![0xff; random.len()];
        for level in levels {
            for bytes in [&random, &largest] {
                let lengths =
                    [0, 1, STEP - 1, STEP, 1448, BLOCK - 1, BLOCK, BLOCK + 1, bytes.len()];
                for len in lengths {
                    let bytes = &bytes[..len];
                    let (sum, expected) = (sum_with(level, bytes), words::sum(bytes));
                    assert_eq!(fold(sum), fold(expected), "{level:?}: {len} bytes");
                }
            }
        }
    }
}
