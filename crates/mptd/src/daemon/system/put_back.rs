//! The answer to other programs that remove rules, routes and addresses which the daemon needs: how soon they are put back, and what the log says.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Removals within [`PERIOD`] that are logged one by one and mended at once. More of them are a struggle with another program.
const FEW: usize = 8;
/// The time in which removals are counted.
const PERIOD: Duration = Duration::from_secs(60);
/// The time between two repairs in a struggle. A rule or route that is removed is there again within a second.
const PAUSE: Duration = Duration::from_millis(200);

/// The record of what was put back lately.
#[derive(Debug, Default)]
pub(in crate::daemon) struct PutBack {
    /// The time at which something was put back, within the last [`PERIOD`]; at most one more than [`FEW`].
    times: VecDeque<Instant>,
    /// The struggle that goes on was logged.
    warned: bool,
}

impl PutBack {
    /// Logs what was put back at `now`, at a bounded rate.
    pub(in crate::daemon) fn log(&mut self, objects: &[String], now: Instant) {
        if objects.is_empty() {
            return;
        }
        self.times.retain(|&time| now.saturating_duration_since(time) < PERIOD);
        if self.times.is_empty() {
            self.warned = false;
        }
        self.times.push_back(now);
        if self.times.len() <= FEW {
            let objects = objects.join(", ");
            tracing::warn!(
                objects,
                "put back, since another program or a device set down had removed it"
            );
            return;
        }
        self.times.pop_front();
        if !std::mem::replace(&mut self.warned, true) {
            tracing::warn!(
                object = objects[0],
                "another program removes rules or routes of mptd again and again; they are put back each time, and that is not logged any more. \
                 For systemd-networkd write ManageForeignRoutingPolicyRules=no and ManageForeignRoutes=no into [Network] of \
                 /etc/systemd/networkd.conf.d/mpt.conf; for NetworkManager add the tunnel's device to unmanaged-devices"
            );
        }
    }

    /// Returns how long to wait before the next repair.
    pub(in crate::daemon) fn pause(&self, now: Instant) -> Duration {
        let lately =
            self.times.iter().filter(|&&time| now.saturating_duration_since(time) < PERIOD);
        if lately.count() >= FEW { PAUSE } else { Duration::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_repairs_are_made_at_once_and_many_at_a_bounded_rate() {
        let mut put_back = PutBack::default();
        let start = Instant::now();
        for second in 0..FEW as u64 {
            assert_eq!(put_back.pause(start), Duration::ZERO, "{second}");
            put_back.log(&["a rule".to_owned()], start + Duration::from_secs(second));
        }
        assert_eq!(put_back.pause(start + Duration::from_secs(10)), PAUSE);
        for second in 10..1000 {
            put_back.log(&["a rule".to_owned()], start + Duration::from_secs(second));
            assert!(put_back.times.len() <= FEW + 1, "it remembers no more than it needs");
        }
        assert_eq!(put_back.pause(start + Duration::from_secs(1000)), PAUSE);
        assert_eq!(put_back.pause(start + Duration::from_secs(1100)), Duration::ZERO);
    }

    #[test]
    fn nothing_is_no_repair() {
        let mut put_back = PutBack::default();
        put_back.log(&[], Instant::now());
        assert!(put_back.times.is_empty());
    }
}
