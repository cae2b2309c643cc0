//! Named counters of what came and went besides data.

use crate::tunnel::counters::counters;

counters! {
    /// The counters of one connection. Those of messages that belong to no connection are kept
    /// apart.
    pub struct Counters {
        /// Keepalives sent.
        keepalives_sent,
        /// Keepalives heard.
        keepalives_received,
        /// Path status changes of the peer that were carried out.
        commands_executed,
        /// Answers sent.
        answers_sent,
        /// Messages of our own commands sent, repetitions included.
        requests_sent,
        /// Our commands that the peer carried out.
        commands_done,
        /// Our commands that the peer refused.
        commands_refused,
        /// Our commands that were not answered over any path.
        commands_unanswered,
        /// Dropped: shorter than it says.
        truncated,
        /// Dropped: longer than any command.
        too_long,
        /// Dropped: a code that is not known, or is not allowed.
        unknown_code,
        /// Dropped: a type of authentication that is not that of the connection, or none.
        authentication_type,
        /// Dropped: a round that does not exist, or is not that of the exchange.
        wrong_round,
        /// Dropped: a round 3 without a round 1 before it, or with another content.
        no_exchange,
        /// Dropped: tunnel addresses that are those of no connection.
        unknown_connection,
        /// Dropped: from an address or port that is not the peer's.
        wrong_source,
        /// Dropped: a nonce other than the one that was given.
        wrong_nonce,
        /// Dropped: a wrong digest.
        wrong_digest,
        /// Dropped: a status that is neither up nor down.
        wrong_argument,
        /// Answered, but about a path that is not there.
        unknown_path,
        /// Dropped: behind a GRE header on the data port, neither an IP packet nor a keepalive.
        unknown_data,
    }
}
