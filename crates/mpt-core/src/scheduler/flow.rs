//! Flow mapping: weighted rendezvous hashing of a flow over the paths.
//!
//! Every path draws a number from the flow's hash and its own identity; the flow takes the path
//! whose number is best. The draw of a path depends on no other path: when one goes away, only its
//! own flows move, and when it returns the same flows come back. With draws `-ln(u) / weight`
//! (exponentially distributed with the weight as rate) the shares of the flows are those of the
//! weights: Schindelhauer and Schomaker, "Weighted distributed hash tables", SPAA 2005.

/// The choice of a path by flow. A draw for every path is O(n), so the choices of recent flows are
/// remembered.
#[derive(Clone, Debug)]
pub struct Rendezvous {
    /// The candidates in the order of the slots.
    candidates: Vec<Candidate>,
    /// Flow hash and slot, by the low bits of the hash.
    recent: Vec<Option<(u64, usize)>>,
}

/// Choices remembered, a power of two.
const RECENT: usize = 256;

#[derive(Clone, Copy, Debug)]
struct Candidate {
    slot: usize,
    identity: u64,
    weight: f64,
}

impl Rendezvous {
    /// A mapping without paths.
    pub fn new() -> Self {
        Self { candidates: Vec::new(), recent: vec![None; RECENT] }
    }

    /// Sets identity and weight of a slot, or takes it out.
    pub fn set(&mut self, slot: usize, member: Option<(u64, u16)>) {
        let place = self.candidates.partition_point(|candidate| candidate.slot < slot);
        if self.candidates.get(place).is_some_and(|candidate| candidate.slot == slot) {
            self.candidates.remove(place);
        }
        if let Some((identity, weight)) = member {
            let weight = f64::from(weight);
            self.candidates.insert(place, Candidate { slot, identity, weight });
        }
        self.recent.fill(None);
    }

    /// The slot of a flow; `None` if no slot takes part.
    #[inline]
    pub fn choose(&mut self, flow_hash: u64) -> Option<usize> {
        if let [candidate] = self.candidates[..] {
            return Some(candidate.slot);
        }
        let place = flow_hash as usize & (RECENT - 1);
        if let Some((hash, slot)) = self.recent[place]
            && hash == flow_hash
        {
            return Some(slot);
        }
        let slot = self.draw(flow_hash)?;
        self.recent[place] = Some((flow_hash, slot));
        Some(slot)
    }

    fn draw(&self, flow_hash: u64) -> Option<usize> {
        self.candidates
            .iter()
            .map(|candidate| (candidate.draw(flow_hash), candidate.slot))
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, slot)| slot)
    }
}

impl Default for Rendezvous {
    fn default() -> Self {
        Self::new()
    }
}

impl Candidate {
    fn draw(&self, flow_hash: u64) -> f64 {
        // 52 bits and a half: exact in an f64, and uniform in the open interval (0, 1), where the
        // logarithm is finite.
        let bits = mix(flow_hash ^ self.identity) >> 12;
        let uniform = (bits as f64 + 0.5) / (1_u64 << 52) as f64;
        -uniform.ln() / self.weight
    }
}

/// Finaliser of SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators",
/// OOPSLA 2014).
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Identity of a path for [`Rendezvous::set`], from its name (FNV-1a): the same after a restart and
/// on every machine.
pub(crate) fn identity(name: &str) -> u64 {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    mix(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_give_different_identities() {
        let names = ["dsl", "lte", "path1", "path2", ""];
        for (i, a) in names.iter().enumerate() {
            for b in &names[i + 1..] {
                assert_ne!(identity(a), identity(b));
            }
        }
    }

    #[test]
    fn every_draw_is_finite() {
        let candidate = Candidate { slot: 0, identity: 0, weight: 1.0 };
        // The finaliser maps 0 to 0, the smallest uniform number there is.
        assert!(candidate.draw(0).is_finite());
        assert!(candidate.draw(u64::MAX).is_finite());
    }
}
