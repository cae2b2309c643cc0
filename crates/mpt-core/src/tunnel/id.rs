//! Names by which the tunnels and their caller refer to one another.

use std::fmt;
use std::num::NonZeroU32;

/// A TUN device. The caller numbers its devices from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceId(pub u16);

/// A bound UDP socket (local address, port, interface), numbered by the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SocketId(pub u32);

/// The place at which the owner keeps a packet that waits in a connection's queue: a small number
/// that another packet may have after its release. Each connection counts its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StoreId(pub u32);

/// Makes types of ids whose tables are [registries](super::registry::Registry).
macro_rules! handles {
    ($($(#[$doc:meta])* $Id:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $Id(Handle);

        impl $Id {
            /// Returns the id of the first one that has this index.
            #[must_use]
            pub const fn first(index: u32) -> Self {
                Self(Handle::first(index))
            }

            /// Returns a small number that no other one has at the same time. Another one may get it
            /// after the removal of this one.
            #[inline]
            #[must_use]
            pub const fn index(self) -> usize {
                self.0.index()
            }
        }

        impl From<Handle> for $Id {
            fn from(handle: Handle) -> Self {
                Self(handle)
            }
        }

        impl From<$Id> for Handle {
            fn from(id: $Id) -> Self {
                id.0
            }
        }
    )*};
}

handles! {
    /// A connection. After its removal the id names nothing any more.
    ConnectionId
    /// A path of any connection. After its removal the id names nothing any more.
    PathId
}

/// The lower bits of a handle, which are its generation.
const GENERATION_BITS: u32 = 10;
/// The last generation of an index.
const LAST_GENERATION: u32 = (1 << GENERATION_BITS) - 1;
/// The number of indices.
pub(crate) const INDICES: usize = 1 << (u32::BITS - GENERATION_BITS);

/// An index, and the generation of what has it: the next one has the next generation, and after the
/// last generation the first one comes again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Handle(NonZeroU32);

impl Handle {
    /// Returns the first generation of an index, which is below [`INDICES`].
    pub(super) const fn first(index: u32) -> Self {
        Self(NonZeroU32::MIN.saturating_add(index << GENERATION_BITS))
    }

    #[inline]
    pub(super) const fn index(self) -> usize {
        (self.0.get() >> GENERATION_BITS) as usize
    }

    const fn generation(self) -> u32 {
        self.0.get() & LAST_GENERATION
    }

    /// Returns the handle of what has the same index next.
    pub(super) const fn next(self) -> Self {
        if self.generation() == LAST_GENERATION {
            Self::first(self.index() as u32)
        } else {
            Self(self.0.saturating_add(1))
        }
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, generation {}", self.index(), self.generation())
    }
}
