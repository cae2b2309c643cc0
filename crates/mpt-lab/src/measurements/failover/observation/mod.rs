//! The observations around an event: packets on the lines and through the tunnel, the daemons' own reports, and the resources that they hold.

pub(super) mod capture;
pub(super) mod leftovers;
pub(super) mod metronome;
pub(super) mod record;
pub(super) mod watch;
