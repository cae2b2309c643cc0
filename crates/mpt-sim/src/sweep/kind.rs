//! What a plan is about.

use serde::Deserialize;

use super::check::{self, Fault};

/// What a plan is about.
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
    /// Of a plan; the study's, unless it says otherwise.
    ///
    /// # Errors
    ///
    /// Returns what is no TOML, and kinds that do not exist.
    pub fn of(text: &str) -> Result<Self, Fault> {
        #[derive(Deserialize)]
        struct Head {
            #[serde(default)]
            kind: Kind,
        }
        check::read::<Head>(text).map(|head| head.kind)
    }
}
