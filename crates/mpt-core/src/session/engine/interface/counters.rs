//! The counters of frames of the control protocol.

use crate::tunnel::counters::counters;

counters! {
    /// Frames received, by what was wrong with them, and what was sent.
    pub struct SessionCounters {
        /// No frame of any type, or authentic with something in it that cannot be.
        malformed,
        /// Frames of another version of the protocol.
        bad_version,
        /// Handshake frames not made for our key: damaged, or from somebody who does not know it.
        bad_mac,
        /// Initiations answered with a cookie, because there were many.
        cookies_sent,
        /// Initiations answered with a cookie, because unconfirmed keys were in the way: the next one
        /// has to show a challenge.
        challenges_sent,
        /// Initiations with a challenge that is forged, too old or used up. They count as having none.
        stale_challenges,
        /// Unconfirmed keys that made room for those of a challenged initiation.
        keys_evicted,
        /// Initiations dropped, because there were too many.
        rate_limited,
        /// Initiations dropped, because this end has begun a handshake itself and has precedence.
        crossed,
        /// Initiations of peers that may not connect, and of such as have too many sessions.
        unknown_peer,
        /// Handshake frames that do not open, or open to nonsense.
        handshake_failed,
        /// Frames for keys that are not or no longer known.
        unknown_index,
        /// Sealed frames that do not open.
        unauthentic,
        /// Sealed frames that came before, or are too old to tell.
        replayed,
        /// Sealed frames of a path that does not exist here.
        unknown_path,
        /// Requests refused: their session has as many unfinished ones as it may.
        requests_unfinished,
        /// Requests and parts of results refused: their peer has asked for more than its rate.
        requests_rate_limited,
        /// Frames that could not be sent: too many waited, or the keys are used up.
        not_sent,
        /// Frames sent.
        frames_sent,
        /// Frames received, whatever became of them.
        frames_received,
        /// Probes sent.
        probes_sent,
        /// Echoes sent.
        echoes_sent,
        /// Handshakes that led to keys in use.
        handshakes,
        /// Addresses of paths that were learnt or followed.
        moves,
    }
}
