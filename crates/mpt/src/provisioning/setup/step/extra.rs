//! Steps that a host takes besides those of every client when it joins.

use ipnet::IpNet;

use super::Step;
use crate::client::Failed;

/// Steps besides those of every client.
pub(crate) trait Extra {
    /// Checks, before anything is agreed with the server, that the steps can be taken, as far as that can be known before. Changes nothing.
    ///
    /// # Errors
    ///
    /// No step of this kind can be taken on this host.
    fn check(&self) -> Result<(), Failed>;

    /// Returns the steps for the networks that the server offers.
    fn steps(&self, offered: &[IpNet]) -> Vec<Step>;
}

/// A client without further steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nothing;

impl Extra for Nothing {
    fn check(&self) -> Result<(), Failed> {
        Ok(())
    }

    fn steps(&self, _offered: &[IpNet]) -> Vec<Step> {
        Vec::new()
    }
}
