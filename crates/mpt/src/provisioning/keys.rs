//! Key files: made and read without a daemon.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::Path;

use mpt_core::session::{PresharedKey, PrivateKey, PublicKey};
use zeroize::Zeroizing;

use crate::client::Failed;

/// The number of bytes that is read of a key file, which is more than any key has.
const LONGEST: u64 = 4096;

/// A new private key as text.
pub(crate) fn private() -> Result<Zeroizing<String>, Failed> {
    Ok(PrivateKey::from_seed(*seed()?).to_base64())
}

/// Returns a new pre-shared key, as text.
pub(crate) fn preshared() -> Result<Zeroizing<String>, Failed> {
    Ok(PresharedKey::from_seed(*seed()?).to_base64())
}

/// The public key of the private one in a file, or on standard input.
pub(crate) fn public(file: Option<&Path>) -> Result<PublicKey, Failed> {
    let mut text = Zeroizing::new(String::new());
    let (name, read) = match file.filter(|file| *file != Path::new("-")) {
        Some(file) => {
            let open = File::open(file);
            let read = open.and_then(|open| open.take(LONGEST).read_to_string(&mut text));
            (file.display().to_string(), read)
        }
        None => {
            let read = io::stdin().lock().take(LONGEST).read_to_string(&mut text);
            ("standard input".to_owned(), read)
        }
    };
    read.map_err(|error| Failed::File(format!("{name}: {error}")))?;
    let key: PrivateKey =
        text.parse().map_err(|error| Failed::File(format!("{name}: no private key: {error}")))?;
    Ok(key.public())
}

/// Writes a key where it is wanted: into a new file that nobody else can read, or to the output.
pub(crate) fn write(key: &str, file: Option<&Path>, out: &mut impl Write) -> Result<(), Failed> {
    let Some(file) = file else { return Ok(writeln!(out, "{key}")?) };
    let name = file.display();
    let open = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    let mut open = open.map_err(|error| {
        let advice = match error.kind() {
            io::ErrorKind::AlreadyExists => {
                "; a key in use is not overwritten: remove it, or name another file"
            }
            _ => "",
        };
        Failed::File(format!("{name}: {error}{advice}"))
    })?;
    let written =
        writeln!(open, "{key}").and_then(|()| give(&open, file)).and_then(|()| open.sync_all());
    written.map_err(|error| {
        let _ = fs::remove_file(file);
        Failed::File(format!("{name}: {error}"))
    })
}

/// Gives a file that root makes to the owner of its directory: the daemon may run as a user of its own, and has to read it.
pub(crate) fn give(open: &File, file: &Path) -> io::Result<()> {
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let owner = fs::metadata(directory.unwrap_or(Path::new(".")))?;
    let own = open.metadata()?.uid();
    if own != 0 || owner.uid() == own {
        return Ok(());
    }
    fchown(open, Some(owner.uid()), Some(owner.gid()))
}

/// Random bytes of the system: waits until it has gathered enough.
fn seed() -> Result<Zeroizing<[u8; 32]>, Failed> {
    let mut seed = Zeroizing::new([0; 32]);
    getrandom::fill(&mut *seed)
        .map_err(|error| Failed::File(format!("the system gives no random numbers: {error}")))?;
    Ok(seed)
}
