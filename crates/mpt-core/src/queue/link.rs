//! Links between the entries of a table.

use std::num::{NonZeroU16, NonZeroU32};

/// A link to an entry of a table: its index. An `Option` of it takes no more room than the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link<N>(N);

impl Link<NonZeroU16> {
    #[inline]
    pub(super) const fn to(index: u16) -> Self {
        Self(NonZeroU16::MIN.saturating_add(index))
    }

    #[inline]
    pub(super) const fn index(self) -> u16 {
        self.0.get() - 1
    }
}

impl Link<NonZeroU32> {
    #[inline]
    pub(super) const fn to(index: u32) -> Self {
        Self(NonZeroU32::MIN.saturating_add(index))
    }

    #[inline]
    pub(super) const fn index(self) -> u32 {
        self.0.get() - 1
    }
}
