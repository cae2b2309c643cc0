//! Ones'-complement addition (RFC 1071 section 2).

/// Ones'-complement addition of 64-bit numbers: 2^64 is 1 modulo 0xffff.
#[inline]
pub(super) const fn add_with_carry(a: u64, b: u64) -> u64 {
    let (sum, carry) = a.overflowing_add(b);
    sum + carry as u64
}

/// Folds a sum of words into one: the carries are added again until none is left.
#[inline]
pub(super) const fn fold(sum: u64) -> u16 {
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    let sum = (sum & 0xffff) + ((sum >> 16) & 0xffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    (sum & 0xffff) as u16
}
