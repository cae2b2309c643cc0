//! Addresses that messages come from.

/// A source address as the responder sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Address {
    /// The initiator's first address.
    Home,
    /// The initiator's address after it has roamed.
    Away,
    /// The attacker's address, at which it receives.
    Attacker,
}

impl Address {
    /// All addresses. The attacker can send from each.
    pub const ALL: [Self; 3] = [Self::Home, Self::Away, Self::Attacker];
}
