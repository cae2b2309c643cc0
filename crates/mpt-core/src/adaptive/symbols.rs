//! The paths of repair symbols of forward error correction.

use std::time::Instant;

use super::Adaptive;

impl Adaptive {
    /// Returns the share of packets lost on the shortest path, which carries packets that cannot
    /// wait. Returns 0 where only one path works, since the symbols need another one.
    pub(crate) fn loss_for_symbols(&self) -> f64 {
        if self.order.len() < 2 {
            return 0.0;
        }
        let shortest = self.order.first().and_then(|&slot| self.paths[usize::from(slot)].as_ref());
        shortest.map_or(0.0, |path| path.loss())
    }

    /// Returns the path for a symbol of packets that have left over the paths `used`. It is another
    /// one if there is any, the one with the least loss in steps of a factor of four, and among
    /// those the shortest.
    pub(crate) fn way_for_symbol(&self, used: &[u16]) -> Option<u16> {
        let ways = self.ordered().map(|(slot, path)| {
            let class = ((path.loss() + 0.001).ln() / 4_f64.ln()).round() as i32;
            (used.contains(&slot), class, path.delay + path.model.queue(), slot)
        });
        let sooner = |a: &(bool, i32, f64, u16), b: &(bool, i32, f64, u16)| {
            (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2))
        };
        let best = ways.min_by(sooner).filter(|_| self.order.len() > 1)?;
        Some(best.3)
    }

    /// Sends a symbol of `bytes` outer bytes over a path. The bulk behind it has that much less.
    pub(crate) fn charge_symbol(&mut self, now: Instant, slot: u16, bytes: u32) {
        let (now, waited) = (self.micros(now), self.waited());
        if let Some(Some(path)) = self.paths.get_mut(usize::from(slot)) {
            path.pacer.charge(now, bytes, path.model.rate(), waited);
        }
    }
}
