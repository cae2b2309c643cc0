//! The division of the memory of waiting packets among their owners.
//!
//! All connections of a client have one share, and every configured connection has one. As long as there is one share only, it may be all of the memory.
//! Beside others, a share grows as long as it is not larger than what is still free then ("dynamic thresholds", Choudhury and Hahne, 1998): one that
//! takes what it can gets a half, two get a third each, and so much is left for the others. Shares that need little are never limited, and nobody has to
//! know beforehand how many there are.

use std::collections::BTreeMap;

use mpt_core::ConnectionId;
use mpt_core::session::PublicKey;

/// A connection nobody has told of: its packets count for the first share.
const UNKNOWN: ShareId = ShareId(0);

/// The owner of packets that share memory with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Owner {
    /// A connection of the configuration.
    Connection(ConnectionId),
    /// A client, with all connections that it had created.
    Client(PublicKey),
}

/// Number of a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::data) struct ShareId(pub(in crate::data) u32);

/// A page that is being filled with copies of short packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::data) struct OpenPage {
    pub(super) page: u32,
    /// Bytes of it in use.
    pub(in crate::data) used: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Share {
    /// Pages that packets of this share occupy.
    held: u32,
    open: Option<OpenPage>,
    /// The owner; a share without one is free for the next owner.
    owner: Option<Owner>,
    /// Connections whose packets count for it.
    connections: u32,
}

/// The bytes that each share holds. A call while packets flow takes constant time and no memory.
#[derive(Debug)]
pub(in crate::data) struct Shares {
    /// Pages that waiting packets may occupy.
    capacity: u32,
    /// Pages that they occupy.
    held: u32,
    shares: Vec<Share>,
    /// By the index of a connection: the connection, and its share.
    of: Vec<Option<(ConnectionId, ShareId)>>,
    owners: BTreeMap<Owner, u32>,
    /// Shares without an owner.
    free: Vec<u32>,
}

impl Shares {
    /// Returns shares of `capacity` pages, none of which is held.
    pub(in crate::data) fn new(capacity: u32) -> Self {
        Self {
            capacity,
            held: 0,
            shares: vec![Share::default()],
            of: Vec::new(),
            owners: BTreeMap::new(),
            free: Vec::new(),
        }
    }

    /// Pages in use.
    pub(super) fn held(&self) -> u32 {
        self.held
    }

    /// The share for which the packets of a connection count.
    #[inline]
    pub(in crate::data) fn of(&self, connection: ConnectionId) -> ShareId {
        let known = self.of.get(connection.index()).copied().flatten();
        known.filter(|(of, _)| *of == connection).map_or(UNKNOWN, |(_, share)| share)
    }

    /// Adds `pages` to a share, if it may hold that many.
    #[inline]
    pub(in crate::data) fn take(&mut self, id: ShareId, pages: u32) -> bool {
        let share = &mut self.shares[id.0 as usize];
        let Some(left) = self.capacity.checked_sub(self.held + pages) else { return false };
        if self.owners.len() > 1 && share.held + pages > left {
            return false;
        }
        share.held += pages;
        self.held += pages;
        true
    }

    /// `pages`, of which `page` is the first, are no longer held.
    #[inline]
    pub(super) fn give_back(&mut self, id: ShareId, page: u32, pages: u32) {
        let share = &mut self.shares[id.0 as usize];
        share.held -= pages;
        self.held -= pages;
        if share.open.is_some_and(|open| open.page == page) {
            share.open = None;
        }
    }

    /// The page that a share is filling.
    #[inline]
    pub(super) fn open_page(&mut self, id: ShareId) -> &mut Option<OpenPage> {
        &mut self.shares[id.0 as usize].open
    }

    /// Counts the packets of a connection for this owner from now on.
    pub(in crate::data) fn assign(&mut self, connection: ConnectionId, owner: Owner) {
        let known = self.owners.get(&owner).copied();
        if known.is_some_and(|known| self.of(connection) == ShareId(known)) {
            return;
        }
        let index = connection.index();
        if self.of.len() <= index {
            self.of.resize(index + 1, None);
        }
        // One that had the index before is gone.
        self.vacate(index);
        let id = known.unwrap_or_else(|| {
            let id = self.free.pop().unwrap_or_else(|| {
                self.shares.push(Share::default());
                self.shares.len() as u32 - 1
            });
            self.owners.insert(owner, id);
            id
        });
        let share = &mut self.shares[id as usize];
        share.owner = Some(owner);
        share.connections += 1;
        self.of[connection.index()] = Some((connection, ShareId(id)));
    }

    /// A connection is gone.
    pub(in crate::data) fn forget(&mut self, connection: ConnectionId) {
        let known = self.of.get(connection.index()).copied().flatten();
        if known.is_some_and(|(of, _)| of == connection) {
            self.vacate(connection.index());
        }
    }

    /// Ends the share of the connection that has an index, if one has.
    fn vacate(&mut self, index: usize) {
        let Some((_, ShareId(id))) = self.of[index].take() else { return };
        let share = &mut self.shares[id as usize];
        share.connections -= 1;
        if share.connections == 0 {
            // Pages that its packets still occupy are given back when the round ends, even if the share has another owner by then.
            if let Some(owner) = share.owner.take() {
                self.owners.remove(&owner);
            }
            self.free.push(id);
        }
    }

    /// Connections other than these are gone.
    pub(in crate::data) fn retain(&mut self, is_there: impl Fn(ConnectionId) -> bool) {
        for index in 0..self.of.len() {
            if self.of[index].is_some_and(|(connection, _)| !is_there(connection)) {
                self.vacate(index);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPACITY: u32 = 1200;

    fn client(number: u8) -> Owner {
        Owner::Client(PublicKey::from([number; 32]))
    }

    /// Takes pages in turns until no share gets one. Returns the pages of each of the connections' shares.
    fn fill(shares: &mut Shares, connections: &[u32]) -> Vec<u32> {
        let ids: Vec<ShareId> =
            connections.iter().map(|&it| shares.of(ConnectionId::first(it))).collect();
        while ids.iter().filter(|&&id| shares.take(id, 1)).count() > 0 {}
        ids.iter().map(|id| shares.shares[id.0 as usize].held).collect()
    }

    #[test]
    fn the_only_one_may_have_everything() {
        let mut shares = Shares::new(CAPACITY);
        shares.assign(ConnectionId::first(0), Owner::Connection(ConnectionId::first(0)));
        assert_eq!(fill(&mut shares, &[0]), [CAPACITY]);
    }

    #[test]
    fn of_several_each_gets_as_much_as_is_left() {
        let mut shares = Shares::new(CAPACITY);
        for number in 0..5 {
            let id = ConnectionId::first(u32::from(number));
            shares.assign(id, client(number));
        }
        assert_eq!(fill(&mut shares, &[0]), [CAPACITY / 2]);
        assert_eq!(fill(&mut shares, &[1]), [CAPACITY / 4]);
        let mut shares = Shares::new(CAPACITY);
        for number in 0..5 {
            shares.assign(
                ConnectionId::first(number),
                Owner::Connection(ConnectionId::first(number)),
            );
        }
        assert_eq!(fill(&mut shares, &[0, 1, 2]), [CAPACITY / 4; 3]);
    }

    #[test]
    fn all_connections_of_a_client_have_one_share() {
        let mut shares = Shares::new(CAPACITY);
        for number in 0..8 {
            shares.assign(ConnectionId::first(number), client(1));
        }
        shares.assign(ConnectionId::first(8), client(2));
        assert_eq!(fill(&mut shares, &[0, 1, 2, 3, 4, 5, 6, 7]), [CAPACITY / 2; 8]);
        assert_eq!(fill(&mut shares, &[8]), [CAPACITY / 4]);
    }

    #[test]
    fn a_share_is_free_again_when_its_last_connection_is_gone() {
        let mut shares = Shares::new(CAPACITY);
        for round in 0..100_u8 {
            shares.assign(ConnectionId::first(0), client(round));
            shares.assign(ConnectionId::first(1), client(round));
            shares.assign(ConnectionId::first(1), client(round));
            shares.forget(ConnectionId::first(0));
            assert_eq!(shares.owners.len(), 1);
            shares.retain(|_| false);
            assert!(shares.owners.is_empty());
        }
        assert_eq!(shares.shares.len(), 2);
    }
}
