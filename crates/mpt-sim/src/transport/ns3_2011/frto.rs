//! The simulator's variant of F-RTO: the steps of RFC 5682 with nothing restored, and acknowledgements thrown away.

use crate::kernel::random::Stream;

use super::PATHS;

/// The step of the algorithm. All subflows share one state, as in the original.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Step {
    /// No time-out yet, or the last was found spurious.
    #[default]
    Idle,
    /// A time-out of this subflow's number `recover` has occurred, and no acknowledgement has followed yet.
    First { recover: u64 },
    /// New data have been sent.
    Second,
    /// Recovery is conventional. Now duplicates let the window grow, too.
    Conventional,
}

#[derive(Clone, Debug)]
pub(super) struct FRto {
    pub(super) step: Step,
    /// Acknowledgements of each subflow's run so far; `None` outside of a run.
    runs: [Option<u64>; PATHS],
    discard: f64,
    stream: Stream,
}

/// The effect of an acknowledgement on the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Consequence {
    Nothing,
    /// The window becomes 3 packets.
    Three,
}

impl FRto {
    pub(super) fn new(discard: f64, stream: Stream) -> Self {
        Self { step: Step::Idle, runs: [None; PATHS], discard, stream }
    }

    /// True if this acknowledgement is thrown away, of a run that lasts as many as the window has packets, rounded
    /// up. The last of a run is not.
    pub(super) fn discards(&mut self, path: usize, window: f64) -> bool {
        // Both drawn always, so that the numbers do not depend on the state.
        let probability = self.discard * self.stream.unit();
        let begins = self.stream.unit() < probability;
        let run = &mut self.runs[path];
        if run.is_none() && begins {
            *run = Some(0);
        }
        let Some(seen) = run else { return false };
        *seen += 1;
        if *seen >= libm::ceil(window) as u64 {
            *run = None;
            return false;
        }
        true
    }

    /// Handles an acknowledgement of `next`. It is a `duplicate` if it acknowledges nothing new. `retransmitted_up_to` is one above the highest
    /// number retransmitted, and `can_send` is true if new data may be sent.
    pub(super) fn acknowledged(
        &mut self,
        next: u64,
        duplicate: bool,
        retransmitted_up_to: u64,
        can_send: bool,
    ) -> Consequence {
        match self.step {
            Step::First { recover } => {
                let conventional =
                    duplicate || next == recover || next < retransmitted_up_to || !can_send;
                self.step = if conventional { Step::Conventional } else { Step::Second };
                Consequence::Nothing
            }
            Step::Second if duplicate => {
                self.step = Step::Conventional;
                Consequence::Three
            }
            Step::Second => {
                self.step = Step::Idle;
                Consequence::Nothing
            }
            Step::Idle | Step::Conventional => Consequence::Nothing,
        }
    }
}
