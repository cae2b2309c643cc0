//! The kinds of plans.

use serde::Deserialize;

use super::check::{self, Fault};

/// The subject of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The reordering study: [`Plan`](super::Plan).
    #[default]
    Study,
    /// The tunnel: [`TunnelPlan`](super::TunnelPlan).
    Tunnel,
}

impl Kind {
    /// Returns the kind of a plan; that of the study by default.
    ///
    /// # Errors
    ///
    /// Returns a fault if the text is no TOML, or the kind does not exist.
    pub fn of(text: &str) -> Result<Self, Fault> {
        #[derive(Deserialize)]
        struct Head {
            #[serde(default)]
            kind: Kind,
        }
        check::read::<Head>(text).map(|head| head.kind)
    }
}
