//! A table of what has an id: the connections, or the paths of all connections.

use std::marker::PhantomData;

use super::id::{Handle, INDICES};

/// A table whose entries have ids of type `I`. An index is given again after a removal, with another
/// generation, so that the id of a removed entry finds nothing until a thousand others have had its
/// index. An index is never given up, so that the table is as long as its entries were most.
#[derive(Debug)]
pub(crate) struct Registry<I, T> {
    entries: Vec<Option<T>>,
    /// By index: the handle of the entry, or of the next one. They stand apart, since packets find
    /// live entries without them.
    handles: Vec<Handle>,
    ids: PhantomData<I>,
}

impl<I, T> Default for Registry<I, T> {
    fn default() -> Self {
        Self { entries: Vec::new(), handles: Vec::new(), ids: PhantomData }
    }
}

impl<I: From<Handle> + Into<Handle>, T> Registry<I, T> {
    /// Returns true if so many entries can be added.
    pub(crate) fn has_room(&self, entries: usize) -> bool {
        self.entries.len() + entries <= INDICES || self.iter().count() + entries <= INDICES
    }

    /// Adds an entry, at the lowest index that is free.
    ///
    /// # Panics
    ///
    /// If there is no room ([`Self::has_room`]).
    pub(crate) fn insert(&mut self, entry: T) -> I {
        let free = self.entries.iter().position(Option::is_none);
        let index = free.unwrap_or_else(|| {
            assert!(self.entries.len() < INDICES, "the caller has asked for room");
            self.handles.push(Handle::first(self.entries.len() as u32));
            self.entries.push(None);
            self.entries.len() - 1
        });
        self.entries[index] = Some(entry);
        self.handles[index].into()
    }

    /// Removes an entry. Its id finds nothing from now on.
    pub(crate) fn remove(&mut self, id: I) -> Option<T> {
        let handle = id.into();
        let place = self.handles.get_mut(handle.index()).filter(|it| **it == handle)?;
        let entry = self.entries[handle.index()].take()?;
        *place = handle.next();
        Some(entry)
    }

    /// Returns the entry with this id.
    pub(crate) fn get(&self, id: I) -> Option<&T> {
        let handle = id.into();
        self.handles.get(handle.index()).filter(|&&it| it == handle)?;
        self.entries[handle.index()].as_ref()
    }

    /// Returns the entry with this id.
    pub(crate) fn get_mut(&mut self, id: I) -> Option<&mut T> {
        let handle = id.into();
        self.handles.get(handle.index()).filter(|&&it| it == handle)?;
        self.entries[handle.index()].as_mut()
    }

    /// Returns the entry with this id, which was found for a packet just now, so that it exists: the
    /// generation is not compared.
    #[inline]
    pub(crate) fn found(&self, id: I) -> Option<&T> {
        let handle = id.into();
        debug_assert!(self.handles[handle.index()] == handle);
        self.entries.get(handle.index())?.as_ref()
    }

    /// Returns the entry with this id, as [`Self::found`] does.
    #[inline]
    pub(crate) fn found_mut(&mut self, id: I) -> Option<&mut T> {
        let handle = id.into();
        debug_assert!(self.handles[handle.index()] == handle);
        self.entries.get_mut(handle.index())?.as_mut()
    }

    /// Returns the entry that has an index now, with its id.
    pub(crate) fn at_index(&mut self, index: usize) -> Option<(I, &mut T)> {
        let handle = *self.handles.get(index)?;
        Some((handle.into(), self.entries[index].as_mut()?))
    }

    /// Returns the entries with their ids, by ascending index.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (I, &T)> {
        let places = self.entries.iter().zip(&self.handles);
        places.filter_map(|(entry, handle)| Some(((*handle).into(), entry.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PathId;

    #[test]
    fn the_id_of_a_removed_entry_finds_nothing() {
        let mut registry: Registry<PathId, u32> = Registry::default();
        let (first, second) = (registry.insert(1), registry.insert(2));
        assert_eq!(registry.remove(first), Some(1));
        let third = registry.insert(3);
        assert_eq!(third.index(), first.index());
        assert_ne!(third, first);
        assert_eq!(registry.get(first), None);
        assert_eq!(registry.get_mut(first), None);
        assert_eq!(registry.remove(first), None);
        assert_eq!((registry.get(second), registry.get(third)), (Some(&2), Some(&3)));
        assert_eq!(registry.iter().collect::<Vec<_>>(), [(third, &3), (second, &2)]);
        assert_eq!(registry.at_index(0), Some((third, &mut 3)));
    }

    #[test]
    fn an_id_comes_again_after_a_thousand_others_and_the_table_does_not_grow() {
        let mut registry: Registry<PathId, u32> = Registry::default();
        let mut given = std::collections::BTreeSet::new();
        for number in 0..3_000 {
            let id = registry.insert(number);
            assert_eq!(given.insert(id), number < 1_023, "{id:?}");
            registry.remove(id);
        }
        assert_eq!(registry.entries.len(), 1);
    }

    #[test]
    fn there_is_room_for_as_many_entries_as_there_are_indices() {
        let mut registry: Registry<PathId, ()> = Registry::default();
        let first = registry.insert(());
        // Each insertion looks for a free index, which takes as long as there are entries.
        registry.entries.resize(INDICES, Some(()));
        registry.handles.extend((1..INDICES as u32).map(Handle::first));
        assert!(!registry.has_room(1));
        registry.remove(first);
        assert!(registry.has_room(1));
        assert!(!registry.has_room(2));
    }
}
