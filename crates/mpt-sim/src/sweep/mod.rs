//! Sweeps: every combination of a plan, one line of JSON each.

mod check;
mod plan;
mod results;
mod tunnel;

use serde::Deserialize;

pub use check::Fault;
pub use plan::{Key, Plan};
pub use results::{Job, run};
pub use tunnel::{TunnelKey, TunnelPlan};

/// What a plan is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The reordering study: [`Plan`].
    #[default]
    Study,
    /// The tunnel: [`TunnelPlan`].
    Tunnel,
}

impl Kind {
    /// Of a plan; the study's, unless it says otherwise.
    ///
    /// # Errors
    ///
    /// What is no TOML, and kinds that do not exist.
    pub fn of(text: &str) -> Result<Self, Fault> {
        #[derive(Deserialize)]
        struct Head {
            #[serde(default)]
            kind: Kind,
        }
        check::read::<Head>(text).map(|head| head.kind)
    }
}
