//! Key files: read only when nobody else can.

use std::fmt::Display;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::str::FromStr;

use mpt_core::control::{PresharedKey, PrivateKey};
use zeroize::Zeroizing;

use crate::Error;

/// More than any key file has, in bytes: a key has 44 characters.
const LONGEST: u64 = 4096;

/// The private key in a file.
///
/// # Errors
///
/// [`Error::Unusable`] when it cannot be read, holds no key, or when anybody but root and the user of this process could
/// read it or has written it.
pub fn private_key(file: &Path) -> Result<PrivateKey, Error> {
    key(file, "private key")
}

/// The pre-shared key in a file.
///
/// # Errors
///
/// As [`private_key`].
pub fn preshared_key(file: &Path) -> Result<PresharedKey, Error> {
    key(file, "pre-shared key")
}

fn key<K: FromStr<Err: Display>>(path: &Path, what: &str) -> Result<K, Error> {
    let shown = path.display();
    let unusable = |fault: String| Error::Unusable(format!("{shown}: {fault}"));
    let unreadable = |error: std::io::Error| unusable(error.to_string());
    let file = std::fs::File::open(path).map_err(unreadable)?;
    // Of the file that is open, so that it cannot be exchanged in between.
    let metadata = file.metadata().map_err(unreadable)?;
    let (owner, own) = (metadata.uid(), nix::unistd::geteuid().as_raw());
    if owner != 0 && owner != own {
        let fault = format!("belongs to user {owner}, who could read and change it");
        return Err(unusable(format!("{fault}; chown {own} {shown}")));
    }
    let mode = metadata.mode() & 0o777;
    if mode & 0o077 != 0 {
        let fault = format!("is open to others (mode {mode:04o})");
        return Err(unusable(format!("{fault}; chmod 600 {shown}")));
    }
    let mut text = Zeroizing::new(String::new());
    file.take(LONGEST).read_to_string(&mut text).map_err(unreadable)?;
    text.trim().parse().map_err(|error| unusable(format!("no {what}: {error}")))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_what_nobody_else_can_open_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("private.key");
        let made = PrivateKey::from_seed([7; 32]);
        std::fs::write(&file, format!("{}\n", *made.to_base64())).unwrap();
        let with = |mode| {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            private_key(&file)
        };
        assert_eq!(with(0o600), Ok(made.clone()));
        assert_eq!(with(0o400), Ok(made));
        for mode in [0o640, 0o604, 0o620] {
            let Err(Error::Unusable(message)) = with(mode) else { panic!("{mode:o}") };
            assert!(message.contains("is open to others"), "{message}");
        }
    }

    #[test]
    fn what_is_no_key_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("private.key");
        assert!(matches!(private_key(&file), Err(Error::Unusable(_))));
        std::fs::write(&file, "secret\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let Err(Error::Unusable(message)) = preshared_key(&file) else { panic!() };
        assert!(message.contains("no pre-shared key"), "{message}");
        assert!(!message.contains("secret"), "{message}");
    }
}
