//! The path over which a flow is the quickest alone.

use super::Adaptive;
use super::path::{Kind, Sender};
use super::short::Alone;

/// The round-trip times that a short flow takes: two until its data begin, and four of slow start.
const ROUNDS: f64 = 6.0;
/// The least bytes for which one path alone has to be quicker than all.
const LEAST: u64 = 256 << 10;
/// The most bytes of a flow that counts as short. Over a fibre with LTE beside it both paths together are sooner from some
/// 300 MB on.
const MOST: u64 = 256 << 20;

/// The bytes by which paths are compared: those of some flows together, as of a page.
const USUAL: f64 = 1e6;
/// The factor by which another path has to be quicker to be preferred to the present one.
const STAYS: f64 = 0.8;
/// The least share of a path that a flow is taken to have.
const LEAST_FREE: f64 = 0.1;
/// The bytes of a segment.
const SEGMENT: f64 = 1_448.0;
/// The standard deviation of the delay with which a flow over one path has half of its rate, in microseconds.
const HALVES: f64 = 8_000.0;

/// The way of a flow, by what it costs.
#[derive(Clone, Copy, Debug)]
struct Pipe {
    /// Its round-trip time, in microseconds.
    rtt: f64,
    /// The time that each byte takes, in microseconds.
    per_byte: f64,
}

impl Adaptive {
    /// Chooses the path that short flows keep to.
    pub(super) fn update_short(&mut self) {
        let alone = if self.order.len() < 2 { None } else { self.best_alone() };
        self.short.set_alone(alone);
    }

    fn best_alone(&self) -> Option<Alone> {
        let present = self.short.alone();
        let (_, first) = self.ordered().next()?;
        // Also with those that bulk avoids at present: another flow may have them again.
        let all = self.set_of(&self.order);
        let all = Pipe { rtt: all.rtt, per_byte: 1.0 / all.rate };
        let known = |(_, path): &(u16, &Sender)| path.kind != Kind::Unknown;
        let pipe = |(slot, path)| (slot, path, Pipe::over(path, round_trip(path, first)));
        let pipes = self.bulk_paths().filter(known).map(pipe);
        let stays = |slot| present.is_some_and(|present| present.slot == slot);
        // The path changes only for one that is much better.
        let time = |slot, pipe: &Pipe| pipe.time() * if stays(slot) { STAYS } else { 1.0 };
        let (slot, path, pipe) =
            pipes.min_by(|a, b| time(a.0, &a.2).total_cmp(&time(b.0, &b.2)))?;
        let bytes = pipe.bytes_sooner_than(all);
        let least = if stays(slot) { LEAST / 2 } else { LEAST };
        (bytes >= least).then_some(Alone { slot, bytes, rate: path.model.expected_rate() })
    }

    /// Returns the path over which a flow is the quickest alone, beside those that are confined to paths already.
    /// `None`: over that path it would come in disorder as well.
    pub(super) fn best_for_one(&self, now: i64) -> Option<u16> {
        let first = self.bulk_paths().next()?.1;
        let time = |(slot, path)| {
            let pipe = Pipe::over(path, round_trip(path, first));
            let free = 1.0 - path.confined.share(now, path.model.expected_rate());
            let per_byte = pipe.per_byte / free.max(LEAST_FREE);
            (slot, path, Pipe { per_byte, ..pipe }.time())
        };
        let best = self.bulk_paths().map(time).min_by(|a, b| a.2.total_cmp(&b.2));
        best.filter(|(_, path, _)| !path.model.varies()).map(|(slot, ..)| slot)
    }
}

/// Returns the round-trip time of a flow over a path whose acknowledgements come over the shortest one.
fn round_trip(path: &Sender, shortest: &Sender) -> f64 {
    let longer = (path.delay - shortest.delay).max(0.0) + path.foreign_queue;
    shortest.usual_round_trip() + longer
}

impl Pipe {
    /// Returns a path alone, with this round-trip time.
    fn over(path: &Sender, rtt: f64) -> Self {
        // A packet that overtakes others looks like a loss, and a lost one comes a round-trip time later.
        let varies = (path.model.sigma() + path.model.wander()) / HALVES;
        let sending = (1.0 + varies * varies) / path.model.expected_rate();
        Self { rtt, per_byte: sending + path.loss() * rtt / SEGMENT }
    }

    /// Returns the time that [`USUAL`] bytes take, in microseconds.
    fn time(&self) -> f64 {
        ROUNDS * self.rtt + USUAL * self.per_byte
    }

    /// Returns the bytes up to which a flow ends sooner over this one than over the other one, at most [`MOST`].
    fn bytes_sooner_than(&self, other: Self) -> u64 {
        let saved = ROUNDS * (other.rtt - self.rtt);
        let lost = self.per_byte - other.per_byte;
        if saved <= 0.0 {
            0
        } else if lost <= 0.0 {
            MOST
        } else {
            ((saved / lost) as u64).min(MOST)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pipe of this round-trip time in milliseconds and this rate in bytes per microsecond.
    fn pipe(millis: f64, rate: f64) -> Pipe {
        Pipe { rtt: 1_000.0 * millis, per_byte: 1.0 / rate }
    }

    #[test]
    fn a_flow_is_sooner_over_the_short_path_until_the_rate_of_all_makes_up_for_it() {
        let short = pipe(40.0, 6.0);
        // 1.2 s less for its rounds, and as much longer for its bytes.
        let bytes = short.bytes_sooner_than(pipe(240.0, 12.0));
        assert!((14_399_000..=14_401_000).contains(&bytes), "{bytes}");
        assert_eq!(short.bytes_sooner_than(pipe(40.0, 12.0)), 0);
        assert_eq!(short.bytes_sooner_than(pipe(50.0, 6.0)), MOST);
        assert!(short.bytes_sooner_than(pipe(45.0, 12.0)) > LEAST);
    }

    /// LTE adds a tenth to the rate of a fibre, and slow start over both takes eight times as long.
    #[test]
    fn a_large_download_is_sooner_over_a_fibre_than_with_lte_beside_it() {
        let bytes = pipe(18.0, 37.5).bytes_sooner_than(pipe(140.0, 41.0));
        assert!((200_000_000..=MOST).contains(&bytes), "{bytes}");
    }
}
