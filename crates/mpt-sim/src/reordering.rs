//! Metrics of reordering: those of the study, and of RFC 5236.

/// Statistics of a receiver's buffer of packets that came before their turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reordering {
    /// Packets that had to wait in the buffer. (OOO-R is this over the number of packets delivered.)
    pub stored: u64,
    /// The most packets that waited at a time.
    pub most: usize,
    /// Number of arrivals by the number of packets in the buffer, the arriving one included if it waits: the reorder buffer-occupancy density (RFC
    /// 5236, section 5), not normalised.
    pub density: Vec<u64>,
}

impl Reordering {
    /// Returns [`Reordering::density`] as shares of all arrivals.
    pub fn shares(&self) -> Vec<f64> {
        let all: u64 = self.density.iter().sum();
        self.density.iter().map(|&count| count as f64 / all as f64).collect()
    }

    /// Counts an arrival, after which `waiting` packets wait.
    pub(crate) fn arrival(&mut self, waiting: usize) {
        self.most = self.most.max(waiting);
        if self.density.len() <= waiting {
            self.density.resize(waiting + 1, 0);
        }
        self.density[waiting] += 1;
    }
}
