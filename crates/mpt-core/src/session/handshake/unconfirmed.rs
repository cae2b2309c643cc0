//! Which initiations get keys: the rule for keys under which no frame has come yet.
//!
//! Anybody can repeat an initiation that was recorded. It opens like a genuine one, so keys are made for it, and nobody ever sends a frame under
//! them. The rule keeps such keys from standing in the way of the peer: an initiation is *challenged* if its Hello repeats a fresh challenge of this
//! responder, which no recorded one does. An unchallenged initiation gets keys only where no others wait to be confirmed, and removes none. If it
//! gets none, the responder sends a challenge.

/// Sets of unconfirmed keys of challenged initiations that one session has at most. Only the genuine
/// peer makes such initiations, and it has one or two on their way.
pub const MAX_CHALLENGED: usize = 3;

/// The decision of a responder about an initiation of a peer that may have the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// Make keys and answer. The unconfirmed keys at this place have to go for them.
    Answer {
        /// The place among the session's unconfirmed keys.
        evict: Option<usize>,
    },
    /// Make none, and send a challenge.
    Challenge,
}

/// Decides about an initiation.
///
/// - `unconfirmed`: the session's unconfirmed keys that this end made as responder, the oldest first;
///   of each the time of the challenge that its initiation has shown, if it was challenged.
/// - `occupied`: there is no room outside of this session for unconfirmed keys of an unchallenged
///   initiation.
/// - `answered`: the latest challenge that an answered initiation of this session has shown.
/// - `shown`: the time of the challenge that this initiation shows, if it is good.
#[must_use]
pub fn decide(
    unconfirmed: impl Iterator<Item = Option<u64>> + Clone,
    occupied: bool,
    answered: Option<u64>,
    shown: Option<u64>,
) -> Decision {
    if shown.is_some() && shown > answered {
        let count = unconfirmed.clone().flatten().count();
        let mut unconfirmed = unconfirmed;
        let oldest = unconfirmed.position(|challenge| challenge.is_some());
        return Decision::Answer { evict: oldest.filter(|_| count >= MAX_CHALLENGED) };
    }
    if occupied || unconfirmed.count() > 0 {
        return Decision::Challenge;
    }
    Decision::Answer { evict: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(
        unconfirmed: &[Option<u64>],
        occupied: bool,
        answered: Option<u64>,
        shown: Option<u64>,
    ) -> Decision {
        super::decide(unconfirmed.iter().copied(), occupied, answered, shown)
    }

    const ANSWER: Decision = Decision::Answer { evict: None };

    #[test]
    fn an_unchallenged_initiation_gets_keys_where_nothing_waits() {
        assert_eq!(decide(&[], false, None, None), ANSWER);
        assert_eq!(decide(&[], true, None, None), Decision::Challenge);
        assert_eq!(decide(&[None], false, None, None), Decision::Challenge);
        assert_eq!(decide(&[Some(1)], false, Some(1), None), Decision::Challenge);
    }

    #[test]
    fn a_challenged_initiation_always_gets_keys() {
        assert_eq!(decide(&[None], true, None, Some(1)), ANSWER);
        assert_eq!(decide(&[None, Some(1), Some(2)], true, Some(2), Some(3)), ANSWER);
        let full = [None, Some(1), Some(2), Some(3)];
        assert_eq!(decide(&full, true, Some(3), Some(4)), Decision::Answer { evict: Some(1) });
    }

    #[test]
    fn an_older_challenge_counts_as_none() {
        assert_eq!(decide(&[], false, Some(3), Some(3)), ANSWER);
        assert_eq!(decide(&[Some(3)], false, Some(3), Some(3)), Decision::Challenge);
        assert_eq!(decide(&[Some(3)], false, Some(3), Some(2)), Decision::Challenge);
    }
}
