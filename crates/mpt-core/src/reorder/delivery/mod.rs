//! Deliveries that do not wait for their turn here: packets that are wanted at once, first copies of sealed data, and what a play-out has put in order.

mod ahead;
mod copies;
mod direct;
