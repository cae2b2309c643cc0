//! The counters of repair symbols.

use crate::tunnel::counters::counters;

counters! {
    /// The counters of a connection's forward error correction.
    pub struct FecCounters {
        /// Repair symbols that were sent.
        fec_symbols_sent,
        /// The bytes of their messages.
        fec_bytes_sent,
        /// Packets of a protected class that were sent without protection, since they are too long or too
        /// many came at once.
        fec_unprotected,
        /// Repair symbols that were received.
        fec_symbols_received,
        /// Packets that were restored from repair symbols.
        fec_recovered,
        /// Recovered packets that arrived by themselves later.
        fec_recovered_early,
        /// Repair symbols that were ignored: longer than any packet that is protected.
        fec_too_long,
        /// Repair symbols that were ignored: with numbers far from those of the packets that come, or not in
        /// ascending order.
        fec_wrong_numbers,
        /// Repair symbols that were ignored: more than packets have come.
        fec_flood,
        /// Groups of which the symbols do not give packets that may come: the peer has made them wrongly.
        fec_useless,
    }
}
