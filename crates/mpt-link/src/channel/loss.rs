//! Random loss.

use crate::Probability;

/// Random loss of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Loss {
    /// None.
    #[default]
    None,
    /// Each packet is lost with the same probability, independently of the others.
    Bernoulli(Probability),
    /// A link that is in one of two states for a while (Gilbert 1960, Elliott 1963; the parameters are those of
    /// `netem`'s `gemodel`). A link starts in the good state; after each packet it may change.
    GilbertElliott {
        /// From good to bad, per packet: p.
        to_bad: Probability,
        /// From bad to good, per packet: r.
        to_good: Probability,
        /// Loss in the good state: 1 - k.
        loss_good: Probability,
        /// Loss in the bad state: 1 - h.
        loss_bad: Probability,
    },
}

impl Loss {
    /// A Gilbert model of bursts in which every packet is lost: `mean` is the share of packets lost, `burst_length` the
    /// mean number of packets lost in a row. `None` where there is no such link (`mean` of 1, a length below 1, or
    /// bursts too short for so much loss).
    pub fn bursts(mean: Probability, burst_length: f64) -> Option<Self> {
        let to_good = Probability::new(1.0 / burst_length)?;
        // The stationary distribution gives mean = p / (p + r).
        let to_bad = Probability::new(to_good.value() * mean.value() / (1.0 - mean.value()))?;
        let (loss_good, loss_bad) = (Probability::ZERO, Probability::ONE);
        Some(Self::GilbertElliott { to_bad, to_good, loss_good, loss_bad })
    }

    /// Share of packets lost in the long run.
    pub fn mean(&self) -> Probability {
        match *self {
            Self::None => Probability::ZERO,
            Self::Bernoulli(probability) => probability,
            Self::GilbertElliott { to_bad, to_good, loss_good, loss_bad } => {
                let sum = to_bad.value() + to_good.value();
                // A chain that never changes stays in the good state.
                let bad = if sum > 0.0 { to_bad.value() / sum } else { 0.0 };
                let mean = (1.0 - bad) * loss_good.value() + bad * loss_bad.value();
                Probability::new(mean.min(1.0)).unwrap_or_default()
            }
        }
    }
}

impl From<Probability> for Loss {
    /// Each packet is lost with this probability, independently of the others.
    fn from(probability: Probability) -> Self {
        if probability == Probability::ZERO { Self::None } else { Self::Bernoulli(probability) }
    }
}

/// The state of the link between packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LossProcess {
    bad: bool,
}

impl LossProcess {
    /// True if the next packet is lost; `loss` and `transition` are drawn uniformly from [0, 1).
    pub(crate) fn next(&mut self, model: &Loss, loss: f64, transition: f64) -> bool {
        match *model {
            Loss::None => {
                self.bad = false;
                false
            }
            Loss::Bernoulli(probability) => {
                self.bad = false;
                probability.happens(loss)
            }
            Loss::GilbertElliott { to_bad, to_good, loss_good, loss_bad } => {
                let (leave, probability) =
                    if self.bad { (to_good, loss_bad) } else { (to_bad, loss_good) };
                self.bad ^= leave.happens(transition);
                probability.happens(loss)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probability(value: f64) -> Probability {
        Probability::new(value).unwrap()
    }

    #[test]
    fn bursts_have_the_mean_asked_for() {
        for (mean, length) in [(0.01, 1.0), (0.01, 8.0), (0.3, 2.5)] {
            let model = Loss::bursts(probability(mean), length).unwrap();
            assert!((model.mean().value() - mean).abs() < 1e-12, "{model:?}");
        }
        assert_eq!(Loss::bursts(probability(0.01), 0.5), None);
        assert_eq!(
            Loss::bursts(probability(0.9), 1.0),
            None,
            "they would have to run into each other"
        );
        assert_eq!(Loss::bursts(Probability::ONE, 2.0), None);
        assert_eq!(Loss::bursts(probability(0.1), f64::NAN), None);
    }

    #[test]
    fn state_changes_after_the_packet() {
        let model = Loss::GilbertElliott {
            to_bad: Probability::ONE,
            to_good: Probability::ONE,
            loss_good: Probability::ZERO,
            loss_bad: Probability::ONE,
        };
        let mut process = LossProcess::default();
        let lost: Vec<bool> = (0..4).map(|_| process.next(&model, 0.5, 0.5)).collect();
        assert_eq!(lost, [false, true, false, true]);
        assert_eq!(model.mean(), probability(0.5));
    }
}
