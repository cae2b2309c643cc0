//! The amount that may be sent to an address.

/// The amount that may be sent to an address of the peer. To an unproved address no more is sent
/// than has arrived from there, since its owner may have asked for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Allowance {
    /// The address is proved.
    Unlimited,
    /// So many bytes more have come from there than were sent there.
    Bytes(usize),
}

impl Allowance {
    /// The allowance of an address never grows beyond this: enough for the first part of a result.
    const MOST: usize = 4096;

    /// Returns true if the address is proved.
    pub(crate) fn is_unlimited(self) -> bool {
        self == Self::Unlimited
    }

    /// Returns how many bytes may be sent besides `len` others; `None` if not even those.
    pub(crate) fn left_beside(self, len: usize) -> Option<usize> {
        match self {
            Self::Unlimited => Some(usize::MAX),
            Self::Bytes(left) => left.checked_sub(len),
        }
    }

    /// So many bytes have come.
    pub(crate) fn earn(&mut self, len: usize) {
        if let Self::Bytes(left) = self {
            *left = (*left + len).min(Self::MOST);
        }
    }

    /// So many bytes are sent.
    pub(crate) fn spend(&mut self, len: usize) {
        if let Self::Bytes(left) = self {
            *left = left.saturating_sub(len);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_sent_than_has_come_and_what_has_come_counts_up_to_a_bound() {
        let mut allowance = Allowance::Bytes(100);
        assert_eq!((allowance.left_beside(30), allowance.left_beside(101)), (Some(70), None));
        allowance.spend(60);
        assert_eq!(allowance, Allowance::Bytes(40));
        allowance.earn(10);
        assert_eq!(allowance, Allowance::Bytes(50));
        allowance.earn(1 << 20);
        assert_eq!(allowance, Allowance::Bytes(4096));
    }

    #[test]
    fn a_proved_address_has_no_limit() {
        let mut allowance = Allowance::Unlimited;
        allowance.spend(1 << 20);
        allowance.earn(1);
        assert_eq!(allowance.left_beside(1 << 20), Some(usize::MAX));
    }
}
