//! The sockets and outboxes of all paths, by the ids of the paths.

use mpt_core::PathId;

use super::PathIo;

/// The sockets and outboxes of all paths. The id of a path that is gone finds nothing, even if another
/// path has its index.
#[derive(Debug, Default)]
pub(crate) struct PathTable {
    /// By [`PathId::index`].
    places: Vec<Option<(PathId, PathIo)>>,
}

impl PathTable {
    /// Returns what a path has.
    #[inline]
    pub(crate) fn get(&self, id: PathId) -> Option<&PathIo> {
        let (of, io) = self.places.get(id.index())?.as_ref()?;
        (*of == id).then_some(io)
    }

    /// Returns what a path has.
    #[inline]
    pub(crate) fn get_mut(&mut self, id: PathId) -> Option<&mut PathIo> {
        let (of, io) = self.places.get_mut(id.index())?.as_mut()?;
        (*of == id).then_some(io)
    }

    /// Puts what a path has in place.
    pub(crate) fn insert(&mut self, id: PathId, io: PathIo) {
        let index = id.index();
        if self.places.len() <= index {
            self.places.resize_with(index + 1, || None);
        }
        self.places[index] = Some((id, io));
    }

    /// Takes out what a path has.
    pub(crate) fn remove(&mut self, id: PathId) -> Option<PathIo> {
        let taken = self.places.get_mut(id.index())?.take_if(|(of, _)| *of == id);
        taken.map(|(_, io)| io)
    }

    /// Returns what each path has.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (PathId, &PathIo)> {
        self.places.iter().flatten().map(|(id, io)| (*id, io))
    }

    /// Returns what each path has.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (PathId, &mut PathIo)> {
        self.places.iter_mut().flatten().map(|(id, io)| (*id, io))
    }

    /// Takes out what all paths have.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = PathIo> + use<> {
        std::mem::take(&mut self.places).into_iter().flatten().map(|(_, io)| io)
    }
}
