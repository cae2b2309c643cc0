//! Forward RTO recovery (RFC 5682): new data after a time-out tell whether it was due.

/// New segments that are sent to find out (step 2b).
const NEW_SEGMENTS: u8 = 2;

/// Where the algorithm is after a time-out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FRto {
    #[default]
    Off,
    /// The first segment has been retransmitted (step 1).
    Retransmitted,
    /// The first acknowledgement covered it; so many new segments may be sent (step 2b).
    Forward(u8),
    /// As Linux has it: whatever was sent once only and comes now shows that the time-out was not due (the enhanced
    /// algorithm of section 3). Meanwhile everything is retransmitted as usual.
    Watching,
}

/// What an acknowledgement means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing yet, or the algorithm is off.
    Undecided,
    /// It was due, found by the first acknowledgement: recover as usual.
    Due,
    /// It was due, found by the second: the window is at most 3 segments (step 3a).
    DueLate,
    /// It was not (step 3b).
    Spurious,
}

impl FRto {
    /// `advanced`: something new was acknowledged, `everything`: all that had been sent before the time-out,
    /// `original`: among what came was a segment sent once only.
    pub(crate) fn acknowledged(
        &mut self,
        advanced: bool,
        everything: bool,
        original: bool,
    ) -> Verdict {
        match *self {
            Self::Off => Verdict::Undecided,
            Self::Retransmitted if !advanced || everything => {
                *self = Self::Off;
                Verdict::Due
            }
            Self::Retransmitted => {
                *self = Self::Forward(NEW_SEGMENTS);
                Verdict::Undecided
            }
            Self::Forward(_) => {
                *self = Self::Off;
                if original { Verdict::Spurious } else { Verdict::DueLate }
            }
            Self::Watching if original => {
                *self = Self::Off;
                Verdict::Spurious
            }
            Self::Watching => Verdict::Undecided,
        }
    }

    /// True if a new segment may be sent whatever the window says.
    pub(crate) fn may_send(self) -> bool {
        matches!(self, Self::Forward(1..))
    }

    /// True if the window says what may be sent, and grows.
    pub(crate) fn leaves_the_window(self) -> bool {
        matches!(self, Self::Off | Self::Watching)
    }

    pub(crate) fn sent_new(&mut self) {
        if let Self::Forward(left) = self {
            *left = left.saturating_sub(1);
        }
    }
}
