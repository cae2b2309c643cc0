//! Batches to many peers by one system call, where they leave by one socket: a daemon with a thousand clients has a packet or two for each.

use std::io::IoSlice;

use mpt_core::{PathId, SocketId};
use mpt_linux::udp::{Batch, MAX_BATCH_PIECES, MAX_BATCHES};

use super::exits::Exits;
use super::outbox::Flushed;
use crate::data::paths::table::PathTable;
use crate::data::system::{BatchSocket, System};

/// Pieces in one call: the whole of several full batches, or all batches of a round of small packets.
const MAX_PIECES: usize = 4 * MAX_BATCH_PIECES;

/// Hands what was gathered in these channels, each listed once, to the kernel, in this order as far as they leave by one socket: receivers
/// wait for what is overtaken. `each` is told of those that could not be sent with others.
pub(in crate::data) fn flush<S: System>(
    gathered: &mut [(PathId, usize)],
    exits: &mut Exits<'_, S>,
    arena: &[u8],
    room: &mut usize,
    mut each: impl FnMut(PathId, usize, Flushed),
) {
    let mut rest = gathered;
    while let Some(&first) = rest.first() {
        let id = socket_of(exits.paths, first);
        let count = bring_forward(rest, |&entry| socket_of(exits.paths, entry) == id);
        let (group, others) = rest.split_at_mut(count);
        rest = others;
        let mut group = &group[..];
        while !group.is_empty() {
            let taken = match id.and_then(|id| exits.sockets.socket(id)) {
                Some(socket) if group.len() > 1 => flush_ready(group, exits.paths, socket, arena),
                _ => 0,
            };
            group = &group[taken..];
            // A datagram that is alone, has to wait, or meets an error is handled by itself.
            let Some((&(id, channel), others)) = group.split_first() else { break };
            if let Some(path) = exits.paths.get_mut(id) {
                each(id, channel, path.flush(exits.now, channel, exits.sockets, arena, room));
            }
            group = others;
        }
    }
}

fn socket_of(paths: &PathTable, (id, channel): (PathId, usize)) -> Option<SocketId> {
    let path = paths.get(id)?;
    Some(path.channels.get(channel)?.socket)
}

/// Moves those that are wanted to the front; both they and the others keep their order. Gives how many they are.
fn bring_forward<T>(all: &mut [T], wanted: impl Fn(&T) -> bool) -> usize {
    let mut count = 0;
    for at in 0..all.len() {
        if wanted(&all[at]) {
            all[count..=at].rotate_right(1);
            count += 1;
        }
    }
    count
}

/// Sends the first of these channels, as many as can leave at once. Returns how many that were.
fn flush_ready(
    group: &[(PathId, usize)],
    paths: &mut PathTable,
    socket: &impl BatchSocket,
    arena: &[u8],
) -> usize {
    let mut pieces = [IoSlice::new(&[]); MAX_PIECES];
    let mut ends = [0; MAX_BATCHES];
    let (mut count, mut used) = (0, 0);
    let ready = |&(id, channel): &(PathId, usize)| {
        let path = paths.get(id)?;
        let outbox = &path.channels.get(channel)?.outbox;
        Some((path, outbox, outbox.ready()?))
    };
    for entry in group.iter().take(MAX_BATCHES) {
        match ready(entry) {
            Some((_, outbox, it)) if used + it.most_pieces <= MAX_PIECES => {
                used += outbox.pieces(arena, &mut pieces[used..]);
            }
            _ => break,
        }
        ends[count] = used;
        count += 1;
    }
    if count < 2 {
        return 0;
    }
    let mut start = 0;
    let batches = group.iter().zip(&ends[..count]).map_while(|(entry, &end)| {
        let (path, _, it) = ready(entry)?;
        let pieces = &pieces[std::mem::replace(&mut start, end)..end];
        let remote = path.base().1;
        Some(Batch { remote, tos: it.tos, datagram_len: it.datagram_len, pieces })
    });
    let sent = socket.send_batches(batches);
    for &(id, channel) in &group[..sent] {
        if let Some(path) = paths.get_mut(id) {
            path.channels[channel].outbox.taken();
        }
    }
    sent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_keep_their_order() {
        let mut all = [1, 2, 3, 4, 5, 6, 7];
        assert_eq!(bring_forward(&mut all, |it| it % 3 == 1), 3);
        assert_eq!(all, [1, 4, 7, 2, 3, 5, 6]);
        assert_eq!(bring_forward(&mut all, |_| true), 7);
        assert_eq!(all, [1, 4, 7, 2, 3, 5, 6]);
        assert_eq!(bring_forward(&mut all, |_| false), 0);
    }
}
