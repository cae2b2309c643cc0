//! One run of the study in either profile.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::transport::congestion::Control;
use crate::transport::mptcp::{self, Scheduler};
use crate::transport::ns3_2011::{self, Congestion};
use crate::transport::tcp::{Config, Treatment};

use super::{Outcome, PathPlan, Reproduction, Standard};

/// 50 MB in packets of 1400 bytes.
pub const FILE: u64 = 35_714;
/// A receive buffer that limits nothing: ten times what both paths of the study hold.
const LARGE_BUFFER: u64 = 10_000;

/// An implementation of Multipath TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// The simulator of 2011.
    #[serde(rename = "ns3-2011")]
    Ns3,
    /// The RFCs.
    Rfc,
}

/// One run of the study in either profile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case {
    /// The implementation of Multipath TCP.
    pub profile: Profile,
    /// Treatment of reordering.
    pub treatment: Treatment,
    /// Congestion control.
    pub control: Control,
    /// SF-0 and SF-1.
    pub paths: [PathPlan; 2],
    /// Packets to be delivered.
    pub packets: u64,
    /// Lower limit of the retransmission timer; `None` for the profile's own (0.2 s, 1 s).
    pub minimum_rto: Option<Duration>,
    /// The scheduler of the profile `rfc`; the other profile always uses round robin.
    pub scheduler: Scheduler,
    /// Packets that the receiver of the profile `rfc` buffers ahead of their turn; `None` for a buffer that does not limit.
    pub receive_buffer: Option<u64>,
    /// Seed of all random numbers.
    pub seed: u64,
}

impl Case {
    /// Returns the network of Tables I and II (10 and 200 ms), with 50 MB.
    pub fn study(profile: Profile, treatment: Treatment, control: Control, seed: u64) -> Self {
        Self {
            profile,
            treatment,
            control,
            paths: [10, 200].map(|delay| PathPlan::study(Duration::from_millis(delay))),
            packets: FILE,
            minimum_rto: None,
            scheduler: Scheduler::RoundRobin,
            receive_buffer: None,
            seed,
        }
    }

    /// Returns the case with SF-1 slower than SF-0 (10 ms) by `difference`.
    #[must_use]
    pub fn with_difference(mut self, difference: Duration) -> Self {
        let first = Duration::from_millis(10);
        self.paths = [first, first + difference].map(PathPlan::study);
        self
    }

    /// True if the profile has this treatment and this control.
    pub fn exists(&self) -> bool {
        self.profile == Profile::Rfc || self.reproduction().is_some()
    }

    /// Runs it. Returns `None` if the profile lacks what the case asks for.
    pub fn run(&self) -> Option<Outcome> {
        match self.profile {
            Profile::Ns3 => Some(self.reproduction()?.run()),
            Profile::Rfc => Some(self.standard().run()),
        }
    }

    /// Returns the case as a run of the profile `ns3-2011`; `None` if that profile lacks the treatment or the congestion control.
    pub fn reproduction(&self) -> Option<Reproduction> {
        let treatment = match self.treatment {
            Treatment::None => ns3_2011::Treatment::None,
            Treatment::DSack => ns3_2011::Treatment::DSack,
            Treatment::Eifel => ns3_2011::Treatment::Eifel,
            Treatment::TcpDoor => ns3_2011::Treatment::TcpDoor,
            Treatment::FRto => ns3_2011::Treatment::FRto,
            Treatment::RackTlp => return None,
        };
        let congestion = match self.control {
            Control::Reno => Congestion::Uncoupled,
            Control::FullyCoupled => Congestion::FullyCoupled,
            Control::Lia => Congestion::Coupled,
            Control::Cubic | Control::Olia | Control::Balia => return None,
        };
        let study = ns3_2011::Options::study(treatment, congestion);
        let options = ns3_2011::Options {
            packets: self.packets,
            minimum_rto: self.minimum_rto.unwrap_or(study.minimum_rto),
            ..study
        };
        Some(Reproduction { options, paths: self.paths, seed: self.seed })
    }

    /// Returns the case as a run of the profile `rfc`.
    pub fn standard(&self) -> Standard {
        let standard = Config::standard(self.control, self.treatment);
        let tcp =
            Config { minimum_rto: self.minimum_rto.unwrap_or(standard.minimum_rto), ..standard };
        let options = mptcp::Options {
            tcp,
            scheduler: self.scheduler,
            receive_buffer: self.receive_buffer.unwrap_or(LARGE_BUFFER),
            total: Some(self.packets),
        };
        Standard { options, paths: self.paths.to_vec(), seed: self.seed }
    }
}

impl Outcome {
    /// Returns the throughput that the study would report, in Mbit/s: the logged one if it is the study's simulator, otherwise that of the delivered
    /// data.
    pub fn throughput(&self) -> f64 {
        self.logged.as_ref().map_or(self.goodput, |logged| logged.throughput)
    }
}

impl Profile {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ns3 => "ns3-2011",
            Self::Rfc => "rfc",
        }
    }
}

/// Returns the paper's name of a treatment, or the field's if it has none.
pub const fn treatment_name(treatment: Treatment) -> &'static str {
    match treatment {
        Treatment::None => "NoPR",
        Treatment::DSack => "D-SACK",
        Treatment::Eifel => "Eifel",
        Treatment::TcpDoor => "TCP-DOOR",
        Treatment::FRto => "F-RTO",
        Treatment::RackTlp => "RACK-TLP",
    }
}

/// Returns the paper's name of a congestion control, or the field's if it has none.
pub const fn control_name(control: Control) -> &'static str {
    match control {
        Control::Reno => "Un-CC",
        Control::Cubic => "cubic",
        Control::FullyCoupled => "FC-CC",
        Control::Lia => "Co-CC",
        Control::Olia => "OLIA",
        Control::Balia => "BALIA",
    }
}
