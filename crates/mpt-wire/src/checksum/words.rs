//! The sum of bytes by the general registers.

use super::carry::add_with_carry;
use crate::bytes::array_at;

/// Returns the sum of the bytes as words in native byte order; an odd last byte is padded with zero.
#[inline]
pub(super) fn sum(bytes: &[u8]) -> u64 {
    // Eight bytes per step: an addition, and one with carry. Four sums, so that no step waits for
    // the one before. Without target features this is faster than what LLVM vectorizes (32-bit words
    // into 64-bit lanes; `benches/checksum.rs`), and it has less to do for a short slice.
    // The additions wrap: no slice is long enough for 128 bits to overflow, and looking for it in each step would take as long as the
    // additions themselves.
    const LANES: usize = 4;
    let mut lanes = [0u128; LANES];
    let mut chunks = bytes.chunks_exact(8 * LANES);
    for chunk in &mut chunks {
        for (lane, word) in lanes.iter_mut().zip(chunk.chunks_exact(8)) {
            *lane = lane.wrapping_add(u128::from(u64::from_ne_bytes(array_at(word, 0))));
        }
    }
    let mut sum = lanes.iter().copied().fold(0, u128::wrapping_add);
    let mut words = chunks.remainder().chunks_exact(4);
    for word in &mut words {
        sum = sum.wrapping_add(u128::from(u32::from_ne_bytes(array_at(word, 0))));
    }
    let mut last = [0; 4];
    let rest = words.remainder();
    if let Some(last) = last.get_mut(..rest.len()) {
        last.copy_from_slice(rest);
    }
    sum = sum.wrapping_add(u128::from(u32::from_ne_bytes(last)));
    add_with_carry((sum & 0xffff_ffff_ffff_ffff) as u64, (sum >> 64) as u64)
}
