//! Writes messages one behind the other into what will be sealed.

use super::entry::Entry;
use super::feedback::{ArrivedEntry, MissingEntry, ReceivedEntry, SentEntry, Stamp};
use super::frame::{MAX_PAYLOAD_LEN, MAX_PROBE_PAYLOAD_LEN};
use super::message::{
    MAX_CHUNK_LEN, MAX_PATHS, MAX_REQUEST_LEN, MESSAGE_HEADER_LEN, Message, PATHS_HEADER_LEN,
    PathEntry, ReportEntry, kind,
};
use super::missing_map::{self, MAX_MAP_LEN};
use crate::bytes::set_u16_at;

/// A message does not fit, neither whole nor in part: what was written before is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("the message does not fit into the frame")]
pub struct Full;

/// Writes messages one behind the other, up to a given length.
///
/// It appends to a buffer of the caller. If that has the capacity, nothing is allocated.
#[derive(Debug)]
pub struct Writer<'a> {
    buffer: &'a mut Vec<u8>,
    /// The length of the buffer at the beginning.
    start: usize,
    /// The most bytes to append.
    limit: usize,
}

impl<'a> Writer<'a> {
    /// Appends at most `limit` bytes to `buffer`, and never more than a frame has room for
    /// ([`MAX_PAYLOAD_LEN`]).
    pub fn new(buffer: &'a mut Vec<u8>, limit: usize) -> Self {
        let start = buffer.len();
        Self { buffer, start, limit: limit.min(MAX_PAYLOAD_LEN) }
    }

    /// Returns the writer of a frame that tests a path MTU: at most [`MAX_PROBE_PAYLOAD_LEN`] bytes.
    pub fn of_path_probe(buffer: &'a mut Vec<u8>, limit: usize) -> Self {
        let start = buffer.len();
        Self { buffer, start, limit: limit.min(MAX_PROBE_PAYLOAD_LEN) }
    }

    /// Returns how many bytes were appended.
    pub fn len(&self) -> usize {
        self.buffer.len() - self.start
    }

    /// True if nothing was appended.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how many more bytes may be appended, the headers of messages included.
    pub fn remaining(&self) -> usize {
        self.limit - self.len()
    }

    /// Appends a message.
    ///
    /// # Errors
    ///
    /// [`Full`] if it does not fit; always so for a body that is longer than its message may carry.
    pub fn push(&mut self, message: &Message<'_>) -> Result<(), Full> {
        match *message {
            Message::Pad { len } => {
                let end = self.begin(kind::PAD, usize::from(len))?;
                self.buffer.resize(end, 0);
                Ok(())
            }
            Message::Probe { token } => self.append(kind::PROBE, &token.to_be_bytes(), &[]),
            Message::Echo { token } => self.append(kind::ECHO, &token.to_be_bytes(), &[]),
            Message::Report(entries) => self.push_report(entries.iter()),
            Message::Paths { generation, epoch, from, entries } => {
                self.push_paths(generation, epoch, from, entries.iter())
            }
            Message::PathsAck { generation } => {
                self.append(kind::PATHS_ACK, &generation.to_be_bytes(), &[])
            }
            Message::Request { body, .. } if body.len() > MAX_REQUEST_LEN => Err(Full),
            Message::Request { id, offset, body } => {
                self.append(kind::REQUEST, [id, offset].map(u32::to_be_bytes).as_flattened(), body)
            }
            Message::Result { chunk, .. } if chunk.len() > MAX_CHUNK_LEN => Err(Full),
            Message::Result { id, offset, total, chunk } => {
                let header = [id, offset, total].map(u32::to_be_bytes);
                self.append(kind::RESULT, header.as_flattened(), chunk)
            }
            Message::Goodbye { reason } => self.append(kind::GOODBYE, &[reason.0], &[]),
            Message::Clock { id, time } => {
                self.append(kind::CLOCK, [id, time].map(u32::to_be_bytes).as_flattened(), &[])
            }
            Message::Departed { interval, stamps } => {
                self.push_entries(kind::DEPARTED, &interval.to_be_bytes(), stamps.iter())
            }
            Message::SentUpTo(entries) => self.push_entries(kind::SENT_UP_TO, &[], entries.iter()),
            Message::Arrived { time, entries } => {
                self.push_entries(kind::ARRIVED, &time.to_be_bytes(), entries.iter())
            }
            Message::Received(entries) => self.push_entries(kind::RECEIVED, &[], entries.iter()),
            Message::Missing(entries) => self.push_entries(kind::MISSING, &[], entries.iter()),
            Message::Refused(entries) => self.push_entries(kind::REFUSED, &[], entries.iter()),
            Message::Symbol(symbol) => {
                let (head, offsets) = symbol.head();
                let len = head.len() + offsets.len() + symbol.parity.len();
                self.begin(kind::SYMBOL, len)?;
                for part in [&head[..], offsets, symbol.parity] {
                    self.buffer.extend_from_slice(part);
                }
                Ok(())
            }
            Message::Kept { from, loss } => {
                self.append(kind::KEPT, &from.to_be_bytes(), &loss.to_be_bytes())
            }
            Message::Survey { probes } => self.append(kind::SURVEY, &probes.to_be_bytes(), &[]),
            Message::Came { token, time } => {
                self.append(kind::CAME, &token.to_be_bytes(), &time.to_be_bytes())
            }
            Message::MissingMap(map) => {
                self.append(kind::MISSING_MAP, &map.first.to_be_bytes(), map.bits)
            }
        }
    }

    /// Appends a [`Report`](Message::Report).
    ///
    /// # Errors
    ///
    /// [`Full`] if not all of it fits: see [`room_for_report`](Self::room_for_report).
    pub fn push_report(
        &mut self,
        entries: impl ExactSizeIterator<Item = ReportEntry>,
    ) -> Result<(), Full> {
        self.begin(kind::REPORT, entries.len() * ReportEntry::LEN)?;
        entries.for_each(|entry| entry.encode(self.buffer));
        Ok(())
    }

    /// Appends [`Departed`](Message::Departed) with as many stamps as fit.
    ///
    /// # Errors
    ///
    /// [`Full`] if not even the message without stamps fits.
    pub fn push_departed(
        &mut self,
        interval: u16,
        stamps: impl Iterator<Item = Stamp>,
    ) -> Result<(), Full> {
        self.push_what_fits(kind::DEPARTED, &interval.to_be_bytes(), stamps)
    }

    /// Appends [`SentUpTo`](Message::SentUpTo) with as many entries as fit.
    ///
    /// # Errors
    ///
    /// [`Full`] if not even the message without entries fits.
    pub fn push_sent_up_to(
        &mut self,
        entries: impl Iterator<Item = SentEntry>,
    ) -> Result<(), Full> {
        self.push_what_fits(kind::SENT_UP_TO, &[], entries)
    }

    /// Appends [`Arrived`](Message::Arrived) with as many entries as fit.
    ///
    /// # Errors
    ///
    /// [`Full`] if not even the message without entries fits.
    pub fn push_arrived(
        &mut self,
        time: u32,
        entries: impl Iterator<Item = ArrivedEntry>,
    ) -> Result<(), Full> {
        self.push_what_fits(kind::ARRIVED, &time.to_be_bytes(), entries)
    }

    /// Appends [`Received`](Message::Received) with as many entries as fit.
    ///
    /// # Errors
    ///
    /// [`Full`] if not even the message without entries fits.
    pub fn push_received(
        &mut self,
        entries: impl Iterator<Item = ReceivedEntry>,
    ) -> Result<(), Full> {
        self.push_what_fits(kind::RECEIVED, &[], entries)
    }

    /// Appends [`Missing`](Message::Missing) with as many entries as fit.
    ///
    /// # Errors
    ///
    /// [`Full`] if not even the message without entries fits.
    pub fn push_missing(
        &mut self,
        entries: impl Iterator<Item = MissingEntry>,
    ) -> Result<(), Full> {
        self.push_what_fits(kind::MISSING, &[], entries)
    }

    /// Appends a [`MissingMap`](Message::MissingMap) of ranges in ascending order, with as many of
    /// their numbers as a map has bits for, or nothing where there is no range.
    ///
    /// # Errors
    ///
    /// [`Full`] if there is no room for the longest map.
    pub fn push_missing_map(
        &mut self,
        entries: impl Iterator<Item = MissingEntry>,
    ) -> Result<(), Full> {
        let mut entries = entries.filter(|entry| entry.count > 0).peekable();
        let Some(&MissingEntry { first, .. }) = entries.peek() else { return Ok(()) };
        let start = self.buffer.len();
        self.begin(kind::MISSING_MAP, missing_map::HEAD_LEN + MAX_MAP_LEN)?;
        self.buffer.extend_from_slice(&first.to_be_bytes());
        missing_map::append_bits(self.buffer, first, entries);
        self.set_length(start)
    }

    /// Appends [`Refused`](Message::Refused) with as many entries as fit.
    ///
    /// # Errors
    ///
    /// [`Full`] if not even the message without entries fits.
    pub fn push_refused(
        &mut self,
        entries: impl Iterator<Item = MissingEntry>,
    ) -> Result<(), Full> {
        self.push_what_fits(kind::REFUSED, &[], entries)
    }

    fn push_entries<E: Entry>(
        &mut self,
        kind: u8,
        header: &[u8],
        entries: impl ExactSizeIterator<Item = E>,
    ) -> Result<(), Full> {
        self.begin(kind, header.len() + entries.len() * E::LEN)?;
        self.buffer.extend_from_slice(header);
        entries.for_each(|entry| entry.encode(self.buffer));
        Ok(())
    }

    /// The length of the message is known only behind its entries, so it is written last.
    fn push_what_fits<E: Entry>(
        &mut self,
        kind: u8,
        header: &[u8],
        entries: impl Iterator<Item = E>,
    ) -> Result<(), Full> {
        let start = self.buffer.len();
        self.begin(kind, header.len())?;
        self.buffer.extend_from_slice(header);
        let room = self.remaining() / E::LEN;
        entries.take(room).for_each(|entry| entry.encode(self.buffer));
        self.set_length(start)
    }

    /// Sets the length of the last message, which begins at `start` and whose body is written.
    fn set_length(&mut self, start: usize) -> Result<(), Full> {
        let body = self.buffer.len() - start - MESSAGE_HEADER_LEN;
        set_u16_at(self.buffer, start + 1, u16::try_from(body).map_err(|_| Full)?);
        Ok(())
    }

    /// Returns how many entries a [`Report`](Message::Report) may have to fit.
    pub fn room_for_report(&self) -> usize {
        self.remaining().saturating_sub(MESSAGE_HEADER_LEN) / ReportEntry::LEN
    }

    /// Appends [`Paths`](Message::Paths).
    ///
    /// # Errors
    ///
    /// [`Full`] if not all of it fits; always so for more than [`MAX_PATHS`] entries.
    pub fn push_paths(
        &mut self,
        generation: u32,
        epoch: u32,
        from: u32,
        entries: impl ExactSizeIterator<Item = PathEntry>,
    ) -> Result<(), Full> {
        if entries.len() > MAX_PATHS {
            return Err(Full);
        }
        self.begin(kind::PATHS, PATHS_HEADER_LEN + entries.len() * PathEntry::LEN)?;
        let header = [generation, epoch, from].map(u32::to_be_bytes);
        self.buffer.extend_from_slice(header.as_flattened());
        entries.for_each(|entry| entry.encode(self.buffer));
        Ok(())
    }

    /// Pads until `len` bytes were appended, or a few more: a pad is not shorter than its header.
    /// Does nothing if they are that many already.
    ///
    /// # Errors
    ///
    /// [`Full`] if the pad does not fit.
    pub fn pad_to(&mut self, len: usize) -> Result<(), Full> {
        match len.saturating_sub(self.len()) {
            0 => Ok(()),
            missing => {
                let len = missing.saturating_sub(MESSAGE_HEADER_LEN).min(MAX_PROBE_PAYLOAD_LEN);
                self.push(&Message::Pad { len: u16::try_from(len).map_err(|_| Full)? })
            }
        }
    }

    fn append(&mut self, kind: u8, header: &[u8], body: &[u8]) -> Result<(), Full> {
        self.begin(kind, header.len() + body.len())?;
        self.buffer.extend_from_slice(header);
        self.buffer.extend_from_slice(body);
        Ok(())
    }

    /// Appends the header of a message with a body of `len` bytes: where the message will end.
    fn begin(&mut self, kind: u8, len: usize) -> Result<usize, Full> {
        if MESSAGE_HEADER_LEN + len > self.remaining() {
            return Err(Full);
        }
        let [high, low] = u16::try_from(len).map_err(|_| Full)?.to_be_bytes();
        self.buffer.extend_from_slice(&[kind, high, low]);
        Ok(self.buffer.len() + len)
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::{Economy, PathState, messages};
    use super::*;

    const REPORT: ReportEntry = ReportEntry { path_id: 1, frames: 2, sent: 3, received: 4 };
    const PATH: PathEntry = PathEntry {
        path_id: 1,
        weight: 2,
        wish: 3,
        state: PathState::USABLE,
        economy: Economy::NONE,
    };

    #[test]
    fn what_does_not_fit_changes_nothing() {
        let mut buffer = vec![0xaa];
        let mut writer = Writer::new(&mut buffer, 20);
        assert_eq!(writer.push(&Message::Probe { token: 1 }), Ok(()));
        assert_eq!((writer.len(), writer.remaining()), (11, 9));
        assert_eq!(writer.push(&Message::Probe { token: 1 }), Err(Full));
        assert_eq!(writer.push_report([REPORT; 2].into_iter()), Err(Full));
        assert_eq!(writer.push(&Message::Pad { len: 7 }), Err(Full));
        assert_eq!(writer.push(&Message::PathsAck { generation: 1 }), Ok(()));
        assert_eq!((writer.len(), writer.remaining()), (18, 2));
        assert_eq!(buffer, [0xaa, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 1, 5, 0, 4, 0, 0, 0, 1]);
    }

    #[test]
    fn what_no_message_may_carry_never_fits() {
        let mut buffer = Vec::new();
        let mut writer = Writer::new(&mut buffer, usize::MAX);
        assert_eq!(writer.remaining(), 1170);
        assert_eq!(writer.room_for_report(), 53);
        let long = [0; 1025];
        assert_eq!(writer.push(&Message::Request { id: 1, offset: 0, body: &long }), Err(Full));
        let result = Message::Result { id: 1, offset: 0, total: 1025, chunk: &long };
        assert_eq!(writer.push(&result), Err(Full));
        assert_eq!(writer.push_paths(1, 2, 3, [PATH; 129].into_iter()), Err(Full));
        assert_eq!(writer.push_report([REPORT; 54].into_iter()), Err(Full));
        assert_eq!(writer.push(&Message::Pad { len: u16::MAX }), Err(Full));
        assert!(writer.is_empty());
        assert_eq!(writer.push_paths(1, 2, 3, [PATH; 128].into_iter()), Ok(()));
    }

    #[test]
    fn padding_is_exact_if_there_is_room_for_a_header() {
        for wanted in 0..=40 {
            let mut buffer = Vec::new();
            let mut writer = Writer::new(&mut buffer, 40);
            writer.push(&Message::PathsAck { generation: 1 }).unwrap();
            let expected = match wanted {
                ..=7 => 7,
                8..=9 => 10,
                _ => wanted,
            };
            assert_eq!(writer.pad_to(wanted), Ok(()));
            assert_eq!(writer.len(), expected, "{wanted} wanted");
            assert_eq!(writer.pad_to(wanted), Ok(()));
            assert_eq!(writer.pad_to(wanted.max(41)), Err(Full));
            assert!(messages(&buffer).all(|message| message.is_ok()));
        }
    }
}
