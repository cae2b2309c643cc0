//! Key files.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use mpt_core::session::{KEY_LEN, PresharedKey, PrivateKey, PublicKey};
use tempfile::TempDir;

/// A key pair in a file, as `mpt genkey` writes it. The file goes with it.
pub(crate) struct Identity {
    directory: TempDir,
    pub(crate) private: PrivateKey,
}

/// A pre-shared key in a file, as `mpt genpsk` writes it. The file goes with it.
pub(crate) struct Preshared {
    directory: TempDir,
    seed: [u8; KEY_LEN],
}

impl Identity {
    /// A new one.
    pub(crate) fn new() -> Self {
        let private = PrivateKey::from_seed(random());
        let directory = tempfile::tempdir().unwrap();
        write(directory.path(), &private.to_base64());
        Self { directory, private }
    }

    pub(crate) fn public_key(&self) -> PublicKey {
        self.private.public()
    }

    /// The public key as the configuration of others has it.
    pub(crate) fn public(&self) -> String {
        self.public_key().to_string()
    }

    /// For `daemon.private_key_file`.
    pub(crate) fn file(&self) -> String {
        file(self.directory.path())
    }
}

impl Preshared {
    /// A new one.
    pub(crate) fn new() -> Self {
        let (directory, seed) = (tempfile::tempdir().unwrap(), random());
        write(directory.path(), &PresharedKey::from_seed(seed).to_base64());
        Self { directory, seed }
    }

    /// The key itself.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.seed
    }

    /// The key as text, as it stands in the file.
    pub(crate) fn text(&self) -> String {
        PresharedKey::from_seed(self.seed).to_base64().to_string()
    }

    /// For `psk_file`.
    pub(crate) fn file(&self) -> String {
        file(self.directory.path())
    }
}

fn random() -> [u8; KEY_LEN] {
    let mut bytes = [0; KEY_LEN];
    bytes.fill_with(|| fastrand::u8(..));
    bytes
}

fn write(directory: &Path, key: &str) {
    let mut options = fs::File::options();
    let mut file = options.write(true).create_new(true).mode(0o600).open(file(directory)).unwrap();
    writeln!(file, "{key}").unwrap();
}

fn file(directory: &Path) -> String {
    directory.join("key").to_str().unwrap().to_owned()
}
