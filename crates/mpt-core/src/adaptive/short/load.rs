//! What short flows take of their path.

/// The time for which bytes count, in microseconds. A page takes all of a path for less than that.
const TIME: f64 = 2_000_000.0;
/// The share of the path that short flows may take before further ones have all paths.
const MOST: f64 = 0.7;

/// The bytes that were sent lately, the earlier ones counting less.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Load {
    bytes: f64,
    at: i64,
}

impl Load {
    /// Notes `bytes` bytes that are sent.
    pub(super) fn add(&mut self, now: i64, bytes: u32) {
        self.bytes = self.present(now) + f64::from(bytes);
        self.at = now;
    }

    /// Returns true if a path of `rate` bytes per microsecond has no room for further flows.
    pub(super) fn fills(&self, now: i64, rate: f64) -> bool {
        self.present(now) > MOST * rate * TIME
    }

    fn present(&self, now: i64) -> f64 {
        self.bytes * (-((now - self.at).max(0) as f64) / TIME).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_leaves_room_and_many_of_them_do_not() {
        let mut load = Load::default();
        // 6 bytes per microsecond: 1,500 bytes every 250.
        let mut fills_after = |from: i64, micros: i64| {
            for now in (from..from + micros).step_by(250) {
                load.add(now, 1_500);
            }
            load.fills(from + micros, 6.0)
        };
        assert!(!fills_after(0, 600_000), "2.6 MB");
        assert!(fills_after(600_000, 3_000_000));
        assert!(!load.fills(6_600_000, 6.0), "three seconds later");
    }
}
