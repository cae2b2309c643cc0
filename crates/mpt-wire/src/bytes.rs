//! Big-endian fields at fixed offsets. All of these panic out of bounds: the views check first.
#![expect(
    clippy::indexing_slicing,
    reason = "the views have checked that their fields are there; a second answer for the case that \
              they are not would cost the packet path branches that are never taken"
)]

use std::ops::Range;

#[inline]
pub(crate) fn u8_at(bytes: &[u8], at: usize) -> u8 {
    bytes[at]
}

#[inline]
pub(crate) fn set_u8_at(bytes: &mut [u8], at: usize, value: u8) {
    bytes[at] = value;
}

#[inline]
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

#[inline]
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(array_at(bytes, at))
}

#[inline]
pub(crate) fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[at..at + N]);
    array
}

#[inline]
pub(crate) fn set_u16_at(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

#[inline]
pub(crate) fn set_u32_at(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
}

#[inline]
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(array_at(bytes, at))
}

#[inline]
pub(crate) fn set_u64_at(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_be_bytes());
}

#[inline]
pub(crate) fn set_array_at<const N: usize>(bytes: &mut [u8], at: usize, value: [u8; N]) {
    bytes[at..at + N].copy_from_slice(&value);
}

#[inline]
pub(crate) fn range(bytes: &[u8], range: Range<usize>) -> &[u8] {
    &bytes[range]
}

#[inline]
pub(crate) fn range_mut(bytes: &mut [u8], range: Range<usize>) -> &mut [u8] {
    &mut bytes[range]
}

#[inline]
pub(crate) fn from(bytes: &[u8], at: usize) -> &[u8] {
    &bytes[at..]
}
