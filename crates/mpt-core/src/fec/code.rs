//! The code itself: two parities of up to eight packets.

use mpt_wire::control::{MAX_GROUP, MAX_MESSAGE_LEN, Symbol};
use reed_solomon_erasure::galois_8::ReedSolomon;

/// The longest packet that is protected, in bytes: its symbol has to fit into a control frame, which every
/// path carries.
pub(super) const MAX_LEN: usize = MAX_MESSAGE_LEN - Symbol::MAX_HEAD_LEN;
/// Parities of a group.
const PARITIES: usize = 2;

/// A Reed-Solomon code of eight packets and two parities. A group of fewer packets has zeros in place of
/// the others, and so has a packet behind its end.
#[derive(Debug)]
pub(super) struct Code(ReedSolomon);

/// Both parities of a group, or what is known of them.
#[derive(Clone, Debug)]
pub(super) struct Parities {
    bytes: [Box<[u8; MAX_LEN]>; PARITIES],
    /// The length of the longest packet.
    len: usize,
}

impl Parities {
    pub(super) fn new() -> Self {
        Self { bytes: std::array::from_fn(|_| Box::new([0; MAX_LEN])), len: 0 }
    }

    /// Makes them those of no packet.
    pub(super) fn clear(&mut self) {
        for bytes in &mut self.bytes {
            bytes[..self.len].fill(0);
        }
        self.len = 0;
    }

    /// Returns the first or second parity.
    pub(super) fn get(&self, which: usize) -> &[u8] {
        &self.bytes[which][..self.len]
    }
}

/// Adds bytes to others, in the field of the code.
pub(super) fn add(sum: &mut [u8], bytes: &[u8]) {
    sum.iter_mut().zip(bytes).for_each(|(sum, byte)| *sum ^= byte);
}

impl Code {
    pub(super) fn new() -> Self {
        Self(ReedSolomon::new(MAX_GROUP, PARITIES).expect("the field has room for ten"))
    }

    /// Adds bytes of the packet at a place of its group, from an offset on, to the parities of the group.
    pub(super) fn add(&self, place: usize, offset: usize, bytes: &[u8], parities: &mut Parities) {
        if bytes.is_empty() {
            return;
        }
        let range = offset..offset + bytes.len();
        parities.len = parities.len.max(range.end);
        let [first, second] = &mut parities.bytes;
        let mut sums = [&mut first[range.clone()], &mut second[range]];
        let added = self.0.encode_single_sep(place, bytes, &mut sums);
        debug_assert_eq!(added, Ok(()), "one of eight, as long as the parities");
    }

    /// Restores the packets of a group that are marked as missing. `shards` has the eight packets and then
    /// the two parities, all equally long, each with whether it is known. Returns false if too few are.
    pub(super) fn restore(&self, shards: &mut [(&mut [u8], bool); MAX_GROUP + PARITIES]) -> bool {
        self.0.reconstruct_data(shards).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The factors of the packets in both parities, as `docs/protocol.md` has them.
    const FACTORS: [[u8; MAX_GROUP]; PARITIES] = [
        [0x1a, 0x84, 0xba, 0x33, 0xe7, 0x10, 0xc6, 0x27],
        [0x84, 0x1a, 0x33, 0xba, 0x10, 0xe7, 0x27, 0xc6],
    ];

    #[test]
    fn the_factors_are_those_of_the_protocol() {
        let code = Code::new();
        let [first, second] = FACTORS;
        for (place, expected) in first.into_iter().zip(second).enumerate() {
            let mut parities = Parities::new();
            code.add(place, 0, &[1], &mut parities);
            let factors = [0, 1].map(|which| parities.get(which)[0]);
            assert_eq!(factors, [expected.0, expected.1], "packet {place}");
            // The field: x times 0x80 is 0x1d.
            let mut parities = Parities::new();
            code.add(place, 0, &[2], &mut parities);
            let double = |byte: u8| byte << 1 ^ if byte & 0x80 == 0 { 0 } else { 0x1d };
            assert_eq!([0, 1].map(|which| parities.get(which)[0]), factors.map(double));
        }
    }

    #[test]
    fn any_two_packets_are_restored_from_both_parities_and_any_one_from_either() {
        let code = Code::new();
        let packets: Vec<Vec<u8>> = (0..MAX_GROUP)
            .map(|n| (0..100 - 7 * n).map(|i| (i * n + 3 * n) as u8).collect())
            .collect();
        let mut parities = Parities::new();
        for (place, packet) in packets.iter().enumerate() {
            code.add(place, 0, packet, &mut parities);
        }
        let masks = (0..1_u32 << (MAX_GROUP + PARITIES)).filter(|mask| mask.count_ones() <= 2);
        for mask in masks {
            let is_known = |place: usize| mask & (1 << place) == 0;
            let mut bytes: Vec<Vec<u8>> = packets.clone();
            bytes.extend([0, 1].map(|which| parities.get(which).to_vec()));
            for (place, bytes) in bytes.iter_mut().enumerate() {
                bytes.resize(100, 0);
                if !is_known(place) {
                    bytes.fill(0xaa);
                }
            }
            let mut places = 0..;
            let mut shards: Vec<(&mut [u8], bool)> = bytes
                .iter_mut()
                .map(|bytes| (&mut bytes[..], is_known(places.next().unwrap_or_default())))
                .collect();
            let shards: &mut [_; MAX_GROUP + PARITIES] = (&mut shards[..]).try_into().expect("ten");
            assert!(code.restore(shards), "{mask:b}");
            for (packet, bytes) in packets.iter().zip(&bytes) {
                assert_eq!(packet[..], bytes[..packet.len()], "{mask:b}");
                assert!(bytes[packet.len()..].iter().all(|&byte| byte == 0));
            }
        }
    }
}
