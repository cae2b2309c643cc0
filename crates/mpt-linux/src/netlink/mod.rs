//! Addresses, routes, policy rules and link events by rtnetlink, asynchronously.
//!
//! [`Netlink`] asks the kernel, [`Events`] tells what changes, [`Owned`] remembers what was created
//! so that exactly this can be removed. Interfaces are named by their kernel index, which is never
//! used twice; [`Netlink::link`] finds it. Every request must run inside a Tokio runtime with its
//! time and I/O drivers enabled.

mod connection;
mod error;
mod event;
mod interfaces;
mod ledger;
mod numbers;
mod routing;

pub use connection::Netlink;
pub use error::Error;
pub use event::{Event, Events};
pub use interfaces::address::Address;
pub use interfaces::link::LinkInfo;
pub use interfaces::veth::VethEnd;
pub use ledger::Owned;
pub use ledger::owner::PROTOCOL;
pub use numbers::blocks::NUMBERS;
pub use routing::internet::Internet;
pub use routing::path::PathRouting;
pub use routing::route::{Lookup, MAIN_TABLE, Query, Route, Via};
pub use routing::rule::{
    Action, BLOCK_RULE_PRIORITY, PATH_RULE_PRIORITY, Rule, TUNNEL_RULE_PRIORITY,
};
pub use routing::uplink::Uplink;
