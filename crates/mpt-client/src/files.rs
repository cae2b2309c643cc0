//! The keys of a controller, from their files.

use std::fmt::Display;
use std::path::Path;
use std::str::FromStr;

use mpt_core::session::{PresharedKey, PrivateKey};

use crate::{Error, KeyKind, read_key_file};

/// The private key in a file.
///
/// # Errors
///
/// [`Error::Unusable`] when it cannot be read, holds no key, or when anybody but root and the user of this process could
/// read it or has written it.
pub fn private_key(file: &Path) -> Result<PrivateKey, Error> {
    key(file, KeyKind::Private, "private key")
}

/// The pre-shared key in a file.
///
/// # Errors
///
/// Fails as [`private_key`] does.
pub fn preshared_key(file: &Path) -> Result<PresharedKey, Error> {
    key(file, KeyKind::Preshared, "pre-shared key")
}

fn key<K: FromStr<Err: Display>>(path: &Path, kind: KeyKind, what: &str) -> Result<K, Error> {
    let unusable = |fault: String| Error::Unusable(format!("{}: {fault}", path.display()));
    let text = read_key_file(path)
        .map_err(|error| unusable(error.describe(&kind.remedy_if_missing(path))))?;
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
        let shown = file.display();
        let Err(Error::Unusable(message)) = private_key(&file) else { panic!() };
        assert_eq!(message, format!("{shown}: is not there; run `mpt genkey -o {shown}`"));
        let Err(Error::Unusable(message)) = preshared_key(&file) else { panic!() };
        let expected = format!("{shown}: is not there; run `mpt genpsk -o {shown}` and copy");
        assert!(message.starts_with(&expected), "{message}");
        std::fs::write(&file, "secret\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let Err(Error::Unusable(message)) = preshared_key(&file) else { panic!() };
        assert!(message.contains("no pre-shared key"), "{message}");
        assert!(!message.contains("secret"), "{message}");
    }
}
