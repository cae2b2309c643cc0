//! The extent of a benchmark: durations and numbers of its measurements.

use std::time::Duration;

use super::setup::SETTLE;
use super::stages::{Measure, Stage};

/// Approximate time in which a stage is set up.
pub(super) const SET_UP: Duration = Duration::from_secs(1);

/// Durations and numbers of measurements.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// Duration of one TCP transfer.
    pub(super) tcp: Duration,
    /// Turns of each TCP transfer in a round, by which compared stages alternate.
    tcp_turns: u32,
    /// Duration of one attempt of the search for the highest UDP rate.
    pub(super) udp: Duration,
    /// Most attempts of the search.
    pub(super) udp_attempts: u32,
    /// Number of echo requests.
    pub(super) pings: u32,
}

impl Pace {
    /// The pace for figures to publish.
    pub(super) const FULL: Self = Self {
        tcp: Duration::from_secs(3),
        tcp_turns: 3,
        udp: Duration::from_secs(2),
        udp_attempts: 10,
        pings: 300,
    };
    /// The pace to see whether all of it works.
    pub(super) const QUICK: Self = Self {
        tcp: Duration::from_secs(1),
        tcp_turns: 1,
        udp: Duration::from_secs(1),
        udp_attempts: 6,
        pings: 100,
    };

    /// Returns what one measurement consists of, for people.
    pub(super) fn extent(self) -> String {
        format!(
            "TCP for {} s in each of {} turn(s) of a round, UDP for {} s in each of at most {} attempts, {} pings",
            self.tcp.as_secs(),
            self.tcp_turns,
            self.udp.as_secs(),
            self.udp_attempts,
            self.pings
        )
    }

    /// Returns how many times something is measured in a round.
    pub(super) fn turns(self, measure: Measure) -> u32 {
        match measure {
            Measure::Tcp { .. } => self.tcp_turns,
            // Memory does not change, and these search or collect for as long as many turns of TCP take.
            Measure::IdleMemory | Measure::Ping | Measure::Udp { .. } | Measure::UdpCpu { .. } => 1,
        }
    }

    /// Returns the approximate duration of a stage's measurements in a round.
    pub(super) fn stage(self, stage: &Stage) -> Duration {
        let each = |&measure| self.measure(measure) * self.turns(measure);
        SET_UP + stage.measures.iter().map(each).sum::<Duration>()
    }

    /// Returns the approximate duration of one measurement.
    pub(super) fn measure(self, measure: Measure) -> Duration {
        match measure {
            Measure::IdleMemory => SETTLE,
            Measure::Ping => Duration::from_millis(10) * self.pings,
            Measure::Tcp { .. } => self.tcp,
            Measure::Udp { .. } => self.udp * self.udp_attempts,
            Measure::UdpCpu { .. } => self.tcp,
        }
    }
}
