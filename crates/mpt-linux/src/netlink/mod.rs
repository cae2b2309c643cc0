//! Addresses, routes, policy rules and link events by rtnetlink, asynchronously.
//!
//! [`Netlink`] asks the kernel, [`Events`] tells what changes, [`Owned`] remembers what was created
//! so that exactly this can be removed. Interfaces are named by their kernel index, which is never
//! used twice; [`Netlink::link`] finds it. Every request must run inside a Tokio runtime with its
//! time and I/O drivers enabled.

mod address;
mod blocks;
mod connection;
mod error;
mod event;
mod guard;
mod internet;
mod link;
mod notification;
mod numbers;
mod owned;
mod owner;
mod path;
mod route;
mod rule;
mod steering;
mod uplink;
mod veth;

pub use address::Address;
pub use blocks::NUMBERS;
pub use connection::Netlink;
pub use error::Error;
pub use event::{Event, Events};
pub use internet::Internet;
pub use link::LinkInfo;
pub use owned::Owned;
pub use owner::PROTOCOL;
pub use path::PathRouting;
pub use route::{Lookup, MAIN_TABLE, Query, Route, Via};
pub use rule::{Action, BLOCK_RULE_PRIORITY, PATH_RULE_PRIORITY, Rule, TUNNEL_RULE_PRIORITY};
pub use uplink::Uplink;
pub use veth::VethEnd;
