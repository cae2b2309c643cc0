//! The files of the counts.
//!
//! `caps.now` is overwritten in its place twice a second, which takes no room on a full disk and is in the kernel's memory when the daemon is killed.
//! `caps.json` is exchanged as a whole once a minute and written through to the disk, so that a loss of power costs no more. Each ends with
//! a checksum, and the one with the higher number counts.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crc::{CRC_32_ISO_HDLC, Crc};
use mpt_linux::files::{Lock, lock};
use serde::{Deserialize, Serialize};

use super::account::Account;

const NOW: &str = "caps.now";
const SYNCED: &str = "caps.json";
/// Ending of the name under which a damaged file is kept.
const DAMAGED: &str = "damaged";
/// The length of `caps.now` is a multiple of this, so that it seldom changes.
const BLOCK: usize = 4096;
/// A file of ours is never longer: ten thousand paths.
const LARGEST: u64 = 4 << 20;
const CHECKSUM: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);

/// The account of one path, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// Name of its connection.
    pub(crate) connection: String,
    /// Its name.
    pub(crate) path: String,
    /// Its account.
    #[serde(flatten)]
    pub(crate) account: Account,
}

#[derive(Serialize, Deserialize)]
struct Content {
    format: u32,
    serial: u64,
    paths: Vec<Entry>,
}

/// The only version of the format so far.
const FORMAT: u32 = 1;

/// The files in which counts are kept, locked against other daemons.
#[derive(Debug)]
pub(crate) struct Store {
    directory: PathBuf,
    now: Lock,
    serial: u64,
}

/// The earlier counts that were found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// The accounts of the better file.
    pub(crate) entries: Vec<Entry>,
    /// Files that were damaged, by the names under which they are kept now.
    pub(crate) damaged: Vec<PathBuf>,
    /// True if nothing is known of earlier counts though there was a file.
    pub(crate) lost: bool,
}

impl Store {
    /// Opens the directory and reads what is there. A damaged file is kept under another name.
    pub(crate) fn open(directory: &Path) -> io::Result<(Self, Found)> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let now = options.open(directory.join(NOW))?;
        let Some(now) = lock(now)? else {
            return Err(io::Error::other("another mptd keeps its counts there"));
        };
        let files = [
            (NOW, read(now.file())),
            (SYNCED, File::open(directory.join(SYNCED)).and_then(|file| read(&file))),
        ];
        let mut found = Found::default();
        let mut best: Option<Content> = None;
        for (name, content) in files {
            match content {
                Ok(None) => {}
                Ok(Some(content)) => {
                    if best.as_ref().is_none_or(|best| content.serial > best.serial) {
                        best = Some(content);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    found.damaged.push(keep_aside(directory, name)?);
                }
                Err(error) => return Err(error),
            }
        }
        found.lost = best.is_none() && !found.damaged.is_empty();
        let Content { serial, paths, .. } =
            best.unwrap_or(Content { format: FORMAT, serial: 0, paths: Vec::new() });
        found.entries = paths;
        Ok((Self { directory: directory.to_owned(), now, serial }, found))
    }

    /// Writes the counts where they outlast this process; with `sync`, where they outlast the power of the host.
    pub(crate) fn write(&mut self, entries: &[Entry], sync: bool) -> io::Result<()> {
        self.serial += 1;
        let content = Content { format: FORMAT, serial: self.serial, paths: entries.to_vec() };
        let text = text(&content)?;
        let mut block = text.clone();
        block.resize(text.len().next_multiple_of(BLOCK), b' ');
        let file = self.now.file();
        file.write_all_at(&block, 0)?;
        if file.metadata()?.len() != block.len() as u64 {
            file.set_len(block.len() as u64)?;
        }
        if !sync {
            return Ok(());
        }
        // In any case: where there is no room for the other file, this one has it all.
        file.sync_data()?;
        let beside = self.directory.join(format!("{SYNCED}.new"));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let exchanged = options.open(&beside).and_then(|mut new| {
            new.write_all(&text)?;
            new.sync_all()?;
            std::fs::rename(&beside, self.directory.join(SYNCED))?;
            File::open(&self.directory)?.sync_all()
        });
        if exchanged.is_err() {
            let _ = std::fs::remove_file(&beside);
        }
        exchanged
    }
}

/// The content as text: a line of JSON, and a line with its checksum.
fn text(content: &Content) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec(content)?;
    text.push(b'\n');
    let sum = CHECKSUM.checksum(&text);
    writeln!(text, "crc32 {sum:08x}")?;
    Ok(text)
}

/// Reads a file; `None` when it is empty, [`io::ErrorKind::InvalidData`] when it is damaged.
fn read(file: &File) -> io::Result<Option<Content>> {
    let mut text = Vec::new();
    file.take(LARGEST).read_to_end(&mut text)?;
    if text.is_empty() {
        return Ok(None);
    }
    parse(&text).map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn parse(text: &[u8]) -> Option<Content> {
    let end = text.iter().position(|&byte| byte == b'\n')? + 1;
    let (json, sum) = text.split_at(end);
    let sum = std::str::from_utf8(sum).ok()?.trim_end().strip_prefix("crc32 ")?;
    if u32::from_str_radix(sum, 16).ok()? != CHECKSUM.checksum(json) {
        return None;
    }
    let content: Content = serde_json::from_slice(json).ok()?;
    (content.format == FORMAT).then_some(content)
}

/// Keeps a copy of a damaged file, in the place of an earlier one. The file itself may be locked.
fn keep_aside(directory: &Path, name: &str) -> io::Result<PathBuf> {
    let aside = directory.join(format!("{name}.{DAMAGED}"));
    std::fs::copy(directory.join(name), &aside)?;
    Ok(aside)
}

#[cfg(test)]
mod tests {
    use jiff::Zoned;
    use proptest::prelude::*;

    use super::*;
    use crate::caps::test::path;

    fn entries(bytes: u64) -> Vec<Entry> {
        let now: Zoned = "2026-06-20T00:00[UTC]".parse().unwrap();
        let mut account = Account::new(&now, &path("cap = \"1 GB/month\""));
        account.add(bytes, 0);
        vec![Entry { connection: "office".into(), path: "lte".into(), account }]
    }

    fn found(directory: &Path) -> Found {
        Store::open(directory).unwrap().1
    }

    #[test]
    fn what_was_written_last_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let (mut store, nothing) = Store::open(directory.path()).unwrap();
        assert_eq!(nothing, Found::default());
        store.write(&entries(1), true).unwrap();
        store.write(&entries(2), false).unwrap();
        drop(store);
        assert_eq!(found(directory.path()), Found { entries: entries(2), ..Found::default() });
        let size = std::fs::metadata(directory.path().join(NOW)).unwrap().len();
        assert_eq!(size, 4096);
    }

    #[test]
    fn a_damaged_file_is_kept_and_the_other_one_counts() {
        for (name, expected) in [(NOW, 1), (SYNCED, 2)] {
            let directory = tempfile::tempdir().unwrap();
            let (mut store, _) = Store::open(directory.path()).unwrap();
            store.write(&entries(1), true).unwrap();
            store.write(&entries(2), false).unwrap();
            drop(store);
            std::fs::write(directory.path().join(name), "{\"torn").unwrap();
            let found = found(directory.path());
            let aside = directory.path().join(format!("{name}.damaged"));
            assert_eq!(found.entries, entries(expected), "{name}");
            assert_eq!((found.damaged, found.lost), (vec![aside.clone()], false));
            assert_eq!(std::fs::read_to_string(aside).unwrap(), "{\"torn");
        }
    }

    #[test]
    fn where_both_are_damaged_nothing_is_known() {
        let directory = tempfile::tempdir().unwrap();
        for name in [NOW, SYNCED] {
            std::fs::write(directory.path().join(name), "\0\0\0").unwrap();
        }
        let found = found(directory.path());
        assert!(found.lost && found.entries.is_empty() && found.damaged.len() == 2, "{found:?}");
    }

    #[test]
    fn two_daemons_do_not_share_a_directory() {
        let directory = tempfile::tempdir().unwrap();
        let first = Store::open(directory.path()).unwrap();
        let error = Store::open(directory.path()).unwrap_err();
        assert_eq!(error.to_string(), "another mptd keeps its counts there");
        drop(first);
        assert!(Store::open(directory.path()).is_ok());
    }

    proptest! {
        /// No file is taken for another one than was written.
        #[test]
        fn one_flipped_bit_is_noticed(at in 0usize..200, bit in 0u8..8) {
            let content = Content { format: FORMAT, serial: 7, paths: entries(9) };
            let mut bytes = text(&content).unwrap();
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
            let read = parse(&bytes);
            // White space at the end says nothing, nor does the case of a digit.
            prop_assert!(read.is_none_or(|read| read.paths == content.paths && read.serial == 7));
        }

        #[test]
        fn any_bytes_are_a_file_or_damaged(bytes: Vec<u8>) {
            let _ = parse(&bytes);
        }
    }
}
