//! Routes and policy rules, and what they steer: the outer packets of paths, and the packets of tunnels.

pub(super) mod guard;
pub(super) mod internet;
pub(super) mod path;
pub(super) mod route;
pub(super) mod rule;
pub(super) mod steering;
pub(super) mod uplink;
