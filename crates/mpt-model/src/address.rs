//! Addresses that messages come from.

/// A source address as the responder sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Address {
    /// Where the initiator is at first.
    Home,
    /// Where the initiator is after it has roamed.
    Away,
    /// Where the attacker is, and receives.
    Attacker,
}

impl Address {
    /// All of them. The attacker can send from each.
    pub const ALL: [Self; 3] = [Self::Home, Self::Away, Self::Attacker];
}
