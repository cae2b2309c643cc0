//! The share of a path that flows take which are confined to it.

/// The time for which bytes count, in microseconds. A page takes all of a path for less than that.
const TIME: f64 = 2_000_000.0;

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

    /// Returns the share that this is of what a path of `rate` bytes per microsecond carries.
    pub(super) fn share(&self, now: i64, rate: f64) -> f64 {
        self.present(now) / (rate * TIME)
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
        let mut share_after = |from: i64, micros: i64| {
            for now in (from..from + micros).step_by(250) {
                load.add(now, 1_500);
            }
            load.share(from + micros, 6.0)
        };
        let page = share_after(0, 600_000);
        assert!((0.2..0.3).contains(&page), "{page}, 2.6 MB");
        let many = share_after(600_000, 3_000_000);
        assert!((0.7..1.0).contains(&many), "{many}");
        let later = load.share(6_600_000, 6.0);
        assert!(later < 0.25, "{later}, three seconds later");
    }
}
