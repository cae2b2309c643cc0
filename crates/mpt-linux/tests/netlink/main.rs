//! Addresses, routes, rules and interfaces, as the kernel is asked and told of them; one file per behaviour.

#[path = "../network/mod.rs"]
mod network;

mod addresses_are_listed_with_their_exact_prefix;
mod changes_of_the_network_are_told_in_order;
mod errors_say_what_was_attempted;
mod exactly_what_was_created_is_removed;
mod netlink_stays_in_the_namespace_it_was_connected_in;
mod routes_carry_our_mark;
mod veth_pairs_join_two_namespaces;
