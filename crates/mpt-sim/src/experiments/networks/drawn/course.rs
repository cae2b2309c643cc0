//! The changes of the uplinks of a network while a flow runs over them: rates that wander, steps, and pauses.

use std::f64::consts::TAU;
use std::fmt::Write;
use std::time::Duration;

use mpt_link::{Bitrate, ByteCount, Change, QueueLimit};

use super::super::hard::{OFTEN, rate};
use super::uplink::{at, between, milliseconds};
use crate::kernel::random::Stream;
use crate::tunnel::Path;

/// Component of the seed that the courses of networks are drawn from.
const COMPONENT: u64 = 1 << 42;
/// The deviation of the logarithm of a rate that wanders, as of a phone that moves within a cell.
const DEVIATIONS: [f64; 2] = [0.1, 0.7];
/// The time in which a rate that wanders forgets what it was, in seconds.
const MEMORY: [f64; 2] = [0.3, 5.0];
/// The least and the greatest share of its own rate to which a rate wanders.
const WANDERS: [f64; 2] = [0.05, 2.0];
/// The time between two steps, in seconds: other users of a cell, another coding of a Wi-Fi, another satellite.
const BETWEEN_STEPS: [f64; 2] = [1.0, 10.0];
/// The share of its own rate to which a rate steps.
const STEPS: [f64; 2] = [0.15, 1.2];
/// The greatest change of a delay with a step, in ms; half of the delay where that is less.
const SHIFT: f64 = 15.0;
/// The time between two pauses, in seconds: handovers, scans, a radio that sleeps.
const BETWEEN_PAUSES: [f64; 2] = [1.5, 15.0];
/// The length of a pause, in ms.
const PAUSES: [f64; 2] = [30.0, 1_500.0];
/// The rate in a pause, in bits per second.
const STANDSTILL: u64 = 1_000;

/// The kind of changes of an uplink, its course.
#[derive(Clone, Copy, Debug)]
pub(super) enum Course {
    /// It stays as it is.
    Steady,
    /// Its rate wanders: the deviation of its logarithm, and its memory in seconds.
    Wanders(f64, f64),
    /// Its rate and its delay are others each time after so many seconds on average.
    Steps(f64),
    /// It stands still, each time after so many seconds on average, for so many milliseconds on average.
    Pauses(f64, f64),
}

/// The changes of a network: the time, the link, and the change.
pub(super) type Changes = Vec<(Duration, usize, Change)>;

/// Returns the changes of the links of the network of a seed, and the course of each link.
pub(super) fn draw(seed: u64, links: &[Path], duration: Duration) -> (Changes, Vec<Course>) {
    let mut random = Stream::new(seed, COMPONENT + links.len() as u64);
    let courses: Vec<Course> = links.iter().map(|_| Course::draw(&mut random)).collect();
    let mut changes = Changes::new();
    for (link, (path, course)) in links.iter().zip(&courses).enumerate() {
        // What a buffer holds does not shrink with the rate, so packets wait longer in it.
        let bytes = path.rate.bits_per_second() as f64 / 8.0 * path.queue.as_secs_f64();
        let queue = QueueLimit::Bytes(ByteCount(bytes as u64));
        changes.push((Duration::ZERO, link, Change::Queue(queue)));
        course.happen(&mut random, path, duration, |at, change| changes.push((at, link, change)));
    }
    (changes, courses)
}

impl Course {
    fn draw(random: &mut Stream) -> Self {
        // The numbers are drawn whether they are used or not, so that one property never changes the others.
        let kind = random.unit();
        let (first, second) = (random.unit(), random.unit());
        match kind {
            0.0..0.2 => Self::Steady,
            0.2..0.6 => Self::Wanders(at(DEVIATIONS, first), at(MEMORY, second)),
            0.6..0.8 => Self::Steps(at(BETWEEN_STEPS, first)),
            _ => Self::Pauses(at(BETWEEN_PAUSES, first), at(PAUSES, second)),
        }
    }

    fn happen(
        self,
        random: &mut Stream,
        path: &Path,
        duration: Duration,
        mut change: impl FnMut(Duration, Change),
    ) {
        let mut at = Duration::ZERO;
        match self {
            Self::Steady => {}
            Self::Wanders(deviation, memory) => {
                let kept = libm::exp(-OFTEN.as_secs_f64() / memory);
                let mut logarithm = deviation * normal(random);
                while at < duration {
                    let share = libm::exp(logarithm).clamp(WANDERS[0], WANDERS[1]);
                    change(at, rate(path, share));
                    let new = libm::sqrt(1.0 - kept * kept) * deviation * normal(random);
                    logarithm = kept * logarithm + new;
                    at += OFTEN;
                }
            }
            Self::Steps(mean) => {
                let shift = SHIFT.min(path.delay.as_secs_f64() * 500.0);
                loop {
                    at += exponential(random, mean);
                    if at >= duration {
                        break;
                    }
                    change(at, rate(path, between(random, STEPS)));
                    let delay = path.delay + milliseconds(2.0 * shift * random.unit());
                    change(at, Change::Delay(delay.saturating_sub(milliseconds(shift))));
                }
            }
            Self::Pauses(mean, length) => loop {
                at += exponential(random, mean);
                if at >= duration {
                    break;
                }
                change(at, Change::Rate(Bitrate::new(STANDSTILL)));
                at += exponential(random, length / 1e3);
                change(at, rate(path, 1.0));
            },
        }
    }

    /// Adds its description to a text.
    pub(super) fn describe(self, text: &mut String) {
        // A string takes everything that is written to it.
        let _ = match self {
            Self::Steady => Ok(()),
            Self::Wanders(deviation, memory) => {
                write!(text, ", rate wanders by {:.0} % in {memory:.1} s", 100.0 * deviation)
            }
            Self::Steps(mean) => write!(text, ", steps every {mean:.1} s"),
            Self::Pauses(mean, length) => {
                write!(text, ", pauses of {length:.0} ms every {mean:.1} s")
            }
        };
    }
}

/// Returns a number of the standard normal distribution (Box and Muller 1958).
fn normal(random: &mut Stream) -> f64 {
    let (radius, angle) = (1.0 - random.unit(), random.unit());
    libm::sqrt(-2.0 * libm::log(radius)) * libm::cos(TAU * angle)
}

/// Returns a time of the exponential distribution with a mean in seconds.
fn exponential(random: &mut Stream, mean: f64) -> Duration {
    Duration::from_secs_f64(-mean * libm::log(1.0 - random.unit()))
}
