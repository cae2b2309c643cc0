//! Forward RTO recovery (RFC 5682): new data after a time-out show whether it was due.

/// Number of new segments that are sent for the decision (step 2b).
const NEW_SEGMENTS: u8 = 2;

/// The state of the algorithm after a time-out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FRto {
    #[default]
    Off,
    /// The first segment has been retransmitted (step 1).
    Retransmitted,
    /// The first acknowledgement covered it; this many new segments may be sent (step 2b).
    Forward(u8),
    /// Linux' state: the arrival of anything that was sent only once shows that the time-out was not due (the enhanced algorithm of section 3).
    /// Meanwhile everything is retransmitted as usual.
    Watching,
}

/// The conclusion from an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The acknowledgement decides nothing, or the algorithm is off.
    Undecided,
    /// The time-out was due, as the first acknowledgement shows: recovery goes on as usual.
    Due,
    /// The time-out was due, as the second acknowledgement shows: the window is at most 3 segments (step 3a).
    DueLate,
    /// The time-out was not due (step 3b).
    Spurious,
}

impl FRto {
    /// Handles an acknowledgement after a time-out. `advanced`: something new was acknowledged; `everything`: all that had been sent before the
    /// time-out was; `original`: a segment that was sent only once was among it.
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
