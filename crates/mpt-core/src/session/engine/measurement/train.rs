//! Trains of probes: long frames that leave back to back. The bottleneck of a path sends them one
//! after another, so the time between two arrivals shows what the path carries before there is data
//! (packet dispersion; Dovrolis, Ramanathan, Moore 2004).

use mpt_wire::control::frame::{MAX_FRAME_LEN, MAX_PAYLOAD_LEN};

/// The length of a probe's frame, in bytes. An end answers a probe of this length with its time of
/// arrival.
pub(crate) const FRAME_LEN: usize = MAX_FRAME_LEN;
/// The length of the messages in such a frame, in bytes.
pub(crate) const PAYLOAD_LEN: usize = MAX_PAYLOAD_LEN;
/// The probes of the first train.
const FIRST: u16 = 4;
/// A train is twice as long as the one before if that took no longer than this, in microseconds.
const SHORT: f64 = 20_000.0;
/// The trains of a survey.
pub(crate) const TRAINS: usize = 4;
/// The most probes of a train.
const LONGEST: u16 = FIRST << (TRAINS - 1);
/// The most probes of all trains of a survey.
pub(crate) const MOST_PROBES: u16 = 2 * LONGEST - FIRST;
/// The probes of a train that have to arrive for it to count.
const LEAST: usize = 3;
/// The probes of a train that have to arrive for it to be compared with others.
const LONG: usize = 8;
/// The long trains that it takes to tell which of them is wrong.
const AGREE: usize = 3;
/// The precision of times of arrival, in microseconds: hosts take several packets at once.
const PRECISION: f64 = 100.0;
/// The length of a slot of radio links, in microseconds. All that arrives in a slot arrives at once,
/// and a short train looks faster than the path.
const SLOT: f64 = 1_000.0;
/// The standard errors within which the time of a probe lies.
const ERRORS: f64 = 2.0;
/// The standard errors that a normal distribution exceeds once in a thousand times.
const CERTAIN: f64 = 3.09;
/// The standard errors more, times the degrees of freedom, where few probes show the deviation.
const FEW: f64 = 10.0;

/// One train.
#[derive(Clone, Debug)]
pub(crate) struct Train {
    /// The time of each probe's arrival by the peer's clock, in microseconds modulo 2^32.
    came: Vec<Option<u32>>,
}

impl Train {
    /// Returns the train that follows another one, which was not left out.
    pub(crate) fn after(before: Option<&Self>) -> Self {
        let len = before.map_or(FIRST.into(), |before| {
            let times = before.times();
            let took = |last: &f64| times.iter().all(|time| last - time <= SHORT);
            let is_short = times.len() == before.len() && times.iter().all(took);
            if is_short { usize::from(LONGEST).min(2 * before.len()) } else { before.len() }
        });
        Self { came: vec![None; len] }
    }

    /// Returns a train that is left out.
    pub(crate) const fn none() -> Self {
        Self { came: Vec::new() }
    }

    /// Returns the number of its probes.
    pub(crate) fn len(&self) -> usize {
        self.came.len()
    }

    /// Notes that the probe in this place has arrived.
    pub(crate) fn note_came(&mut self, place: usize, time: u32) {
        if let Some(came) = self.came.get_mut(place) {
            came.get_or_insert(time);
        }
    }

    /// Returns the times of arrival in the order of the probes, in microseconds since one of them.
    fn times(&self) -> Vec<f64> {
        let came = self.came.iter().flatten();
        let first = came.clone().next().copied().unwrap_or(0);
        came.map(|time| f64::from(time.wrapping_sub(first).cast_signed())).collect()
    }
}

/// The time that a path takes for a probe, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spacing {
    pub(crate) usual: f64,
    /// The least that agrees with the trains; it may be zero or less.
    pub(crate) least: f64,
    /// The least that a path takes after such trains, except in one survey of a thousand by the arithmetic; it may be
    /// zero or less.
    pub(crate) bound: f64,
}

/// The sums for a least-squares line through the times of arrival in one or several trains. Jitter
/// changes single times by more than a fast path takes for a probe.
#[derive(Clone, Copy, Debug, Default)]
struct Fit {
    probes: usize,
    trains: usize,
    width: f64,
    covariance: f64,
    height: f64,
}

impl Fit {
    /// Returns the sums of one train.
    fn of(times: &[f64]) -> Self {
        let count = times.len() as f64;
        let (middle, mean) = ((count - 1.0) / 2.0, times.iter().sum::<f64>() / count);
        let mut fit = Self { probes: times.len(), trains: 1, ..Self::default() };
        for (place, time) in times.iter().enumerate() {
            let (x, y) = (place as f64 - middle, time - mean);
            fit.width += x * x;
            fit.covariance += x * y;
            fit.height += y * y;
        }
        fit
    }

    /// Returns the sums of both, whose lines have one slope.
    fn with(self, other: &Self) -> Self {
        Self {
            probes: self.probes + other.probes,
            trains: self.trains + other.trains,
            width: self.width + other.width,
            covariance: self.covariance + other.covariance,
            height: self.height + other.height,
        }
    }

    fn slope(&self) -> f64 {
        self.covariance / self.width
    }

    /// Returns so many standard errors of the slope where times of arrival have this standard deviation
    /// from the lines.
    fn error(&self, errors: f64, deviation: f64) -> f64 {
        errors * deviation / self.width.sqrt()
    }

    /// Returns the degrees of freedom of the distances from the lines.
    fn freedom(&self) -> f64 {
        (self.probes - self.trains - 1) as f64
    }

    /// Returns the standard deviation of the times of arrival from the lines.
    fn deviation(&self) -> f64 {
        let variance = (self.height - self.slope() * self.covariance).max(0.0) / self.freedom();
        variance.sqrt()
    }

    /// Returns the standard errors, by the deviation measured, by which the slope exceeds that of the path once in a
    /// thousand times: the quantile of Student's distribution, within 4 % from eight degrees of freedom on.
    fn certain_errors(&self) -> f64 {
        CERTAIN + FEW / self.freedom()
    }
}

impl Spacing {
    /// Returns the spacing in these trains, or `None` if too few probes arrived.
    ///
    /// A train may be slower than the path, when a host or a radio link pauses, or faster, when the
    /// whole train arrives at once after a pause. So one train does not count if it disagrees with
    /// the others, of which there are two or more.
    pub(crate) fn of(trains: &[Train]) -> Option<Self> {
        let times = trains.iter().map(Train::times).filter(|times| times.len() >= LEAST);
        let fits: Vec<Fit> = times.map(|times| Fit::of(&times)).collect();
        let together = |without: Option<usize>| {
            let others = fits.iter().enumerate().filter(|&(place, _)| Some(place) != without);
            others.fold(Fit::default(), |sum, (_, fit)| sum.with(fit))
        };
        let all = together(None);
        if fits.is_empty() {
            return None;
        }
        let deviation = all.deviation();
        let differs = |middle: &Fit| {
            let faster = middle.slope() + middle.error(ERRORS, deviation.max(SLOT)) < all.slope();
            faster || middle.slope() - middle.error(ERRORS, deviation.max(PRECISION)) > all.slope()
        };
        let others = middle(&fits).filter(|middle| differs(middle)).map(|middle| {
            let distance = |fit: &Fit| (fit.slope() - middle.slope()).abs() * fit.width.sqrt();
            let distances = fits.iter().map(distance).enumerate();
            together(distances.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(place, _)| place))
        });
        let fit = others.unwrap_or(all);
        let error = fit.error(ERRORS, fit.deviation().max(PRECISION));
        let certain = fit.error(fit.certain_errors(), fit.deviation()).max(error);
        Some(Self { usual: fit.slope(), least: fit.slope() - error, bound: fit.slope() - certain })
    }
}

/// Returns the one of three or more long trains in the middle by their slopes.
fn middle(fits: &[Fit]) -> Option<Fit> {
    let mut long: Vec<Fit> = fits.iter().copied().filter(|fit| fit.probes >= LONG).collect();
    long.sort_by(|a, b| a.slope().total_cmp(&b.slope()));
    if long.len() < AGREE { None } else { long.get(long.len() / 2).copied() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;
    use crate::session::Random;

    /// A train of this length over a path that takes so many microseconds for a probe, has room for so
    /// many of them in its queue, and whose jitter has this standard deviation.
    fn sent(
        mut train: Train,
        spacing: f64,
        room: usize,
        jitter: f64,
        random: &mut Random,
    ) -> Train {
        let began = random.u32();
        for place in 0..train.len().min(room) {
            let uniform = || f64::from(random.u32()) / f64::from(u32::MAX);
            let normal = std::iter::repeat_with(uniform).take(12).sum::<f64>() - 6.0;
            let micros = 200_000.0 + spacing * place as f64 + jitter * normal;
            train.note_came(place, began.wrapping_add(micros as u32));
        }
        train
    }

    /// A train of this length over a path without jitter.
    fn still(len: usize, spacing: f64, room: usize) -> Train {
        sent(Train { came: vec![None; len] }, spacing, room, 0.0, &mut Random::new([0; 32]))
    }

    fn survey(spacing: f64, room: usize, jitter: f64, random: &mut Random) -> Spacing {
        let mut trains: Vec<Train> = Vec::new();
        for _ in 0..TRAINS {
            trains.push(sent(Train::after(trains.last()), spacing, room, jitter, random));
        }
        Spacing::of(&trains).expect("enough of them arrive")
    }

    proptest! {
        // With other seeds each time, one run of some hundred would fail: few probes exceed eight of the standard errors
        // that they show themselves once in 150,000 surveys (Student's distribution).
        #![proptest_config(ProptestConfig { cases: 2_000, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

        #[test]
        fn the_spacing_of_a_path_is_found(
            spacing in 10.0..5_000.0_f64, room in 4_usize..100, jitter in 0.0..20_000.0_f64,
            seed: [u8; 32],
        ) {
            let found = survey(spacing, room, jitter, &mut Random::new(seed));
            let error = (found.usual - found.least) / ERRORS;
            prop_assert!((found.usual - spacing).abs() < 8.0 * error, "{found:?}");
        }
    }

    proptest! {
        /// A peer may say anything.
        #[test]
        fn times_that_lie_show_a_number_or_nothing(
            times in proptest::collection::vec((0..40_usize, any::<u32>()), 0..60),
        ) {
            let mut train = Train { came: vec![None; LONGEST.into()] };
            times.iter().for_each(|&(place, time)| train.note_came(place, time));
            let found = Spacing::of(&[train.clone(), Train::after(Some(&train))]);
            prop_assert!(found.is_none_or(|it| it.usual.is_finite() && it.least.is_finite()));
        }
    }

    /// A bound that is wrong keeps a path at a part of its rate from its first packet on.
    #[test]
    fn jitter_bounds_hardly_any_path_below_what_it_carries() {
        let mut random = Random::new([2; 32]);
        for (spacing, jitter) in [(100.0, 25_000.0), (100.0, 5_000.0), (1_000.0, 10_000.0)] {
            let mut wrong = || survey(spacing, 100, jitter, &mut random).bound > spacing;
            let count = (0..10_000).filter(|_| wrong()).count();
            assert!(count < 100, "{spacing} and {jitter} microseconds: {count} of 10,000");
        }
    }

    #[test]
    fn what_agrees_with_the_trains_holds_nineteen_times_in_twenty() {
        let mut random = Random::new([1; 32]);
        let mut holds = || survey(200.0, 100, 5_000.0, &mut random).least <= 200.0;
        let count = (0..1_000).filter(|_| holds()).count();
        assert!(count > 950, "{count}");
    }

    /// 100 Mbit/s in slots of 1 ms, in one of which short trains arrive.
    #[test]
    fn slots_are_not_taken_for_a_faster_path() {
        for offset in 0..10 {
            let train = |len| {
                let mut train = still(len, 100.0, 100);
                let first = train.came[0].expect("it has arrived");
                for time in train.came.iter_mut().flatten() {
                    *time = first + (*time - first + 100 * offset).next_multiple_of(1_000);
                }
                train
            };
            let found = Spacing::of(&[4, 8, 16, 32].map(train)).expect("enough of them");
            assert!((80.0..120.0).contains(&found.usual), "{offset}: {found:?}");
        }
    }

    /// The receiver stands still for 10 ms in the middle of a train, which looks like 20 Mbit/s.
    #[test]
    fn a_pause_in_a_train_is_not_taken_for_the_path() {
        let (fast, slow) = (10.0, 500.0);
        for paused in [8, 16, 32] {
            let train = |len, spacing| {
                let mut train = still(len, spacing, 100);
                let late = train.came.iter_mut().flatten().skip(len / 2);
                late.for_each(|time| *time += if len == paused { 10_000 } else { 0 });
                train
            };
            let found = |spacing| Spacing::of(&[4, 8, 16, 32].map(|len| train(len, spacing)));
            let least = found(fast).map(|it| it.least);
            assert!(least.is_some_and(|it| it < fast), "{paused}: {least:?}");
            let least = found(slow).map(|it| it.least);
            assert!(least.is_some_and(|it| it < slow), "{paused}: {least:?}");
        }
    }

    /// A link pauses, and then delivers at once what has arrived meanwhile: all of a train, or its second half.
    #[test]
    fn a_train_that_arrives_at_once_is_not_taken_for_the_path() {
        for spacing in [50.0, 100.0, 500.0] {
            for (late, part) in [8, 16, 32].into_iter().flat_map(|len| [(len, 1), (len, 2)]) {
                let train = |len: usize| {
                    let mut train = still(len, spacing, 100);
                    if len == late {
                        let last = train.came[len - 1];
                        train.came[len - len / part..].fill(last);
                    }
                    train
                };
                let found = Spacing::of(&[4, 8, 16, 32].map(train)).expect("enough of them");
                // Known within a quarter, a capacity counts as known well.
                let (least, most) = (0.8 * spacing, 1.25 * spacing);
                assert!((least..most).contains(&found.usual), "{late}: {found:?}");
            }
        }
    }

    #[test]
    fn trains_grow_while_they_are_short() {
        let next = |train: Train| Train::after(Some(&train)).len();
        assert_eq!(Train::after(None).len(), 4);
        assert_eq!([4, 8, 16].map(|len| next(still(len, 1_000.0, 100))), [8, 16, 32]);
        assert_eq!(next(still(32, 10.0, 100)), 32);
        assert_eq!(next(still(4, 10_000.0, 100)), 4, "30 ms");
        assert_eq!(next(still(8, 100.0, 5)), 8, "the queue is short");
        assert_eq!(next(still(8, 100.0, 0)), 8, "none has arrived yet");
    }

    #[test]
    fn too_few_arrivals_show_nothing() {
        assert_eq!(Spacing::of(&[]), None);
        assert_eq!(Spacing::of(&[still(32, 100.0, 2)]), None);
    }
}
