//! Key files: read only when nobody else can.

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use zeroize::Zeroizing;

use crate::KeyFileError;

/// The remedy where a name leads to something else than a key.
const NAME_A_KEY_FILE: &str = "write the name of a key file";

/// Largest number of bytes that are read: more than any key file has, since a key has 44 characters.
const LONGEST: u64 = 4096;

/// Reads the text of a key file.
///
/// # Errors
///
/// Fails when it cannot be read, or when anybody but root and the user of this process could read it or has written it. For root, the owner of its directory may,
/// too: the daemon runs as that user, and the key is the daemon's.
pub fn read_key_file(path: &Path) -> Result<Zeroizing<String>, KeyFileError> {
    let shown = path.display();
    let error = |fault: String, remedy: String| KeyFileError::Unusable { fault, remedy };
    let unreadable = |cause: std::io::Error| match cause.kind() {
        std::io::ErrorKind::NotFound => KeyFileError::Missing,
        _ => error(format!("cannot be read: {cause}"), NAME_A_KEY_FILE.into()),
    };
    let file = std::fs::File::open(path).map_err(unreadable)?;
    // The metadata is that of the open file, so that the file cannot be exchanged in between.
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(error("is not a file".into(), NAME_A_KEY_FILE.into()));
    }
    let (owner, own) = (metadata.uid(), nix::unistd::geteuid().as_raw());
    if owner != 0 && owner != own && !(own == 0 && owns_directory(owner, path)) {
        return Err(error(
            format!("belongs to user {owner}, who could read and change it"),
            format!("run `chown {own} {shown}`"),
        ));
    }
    let mode = metadata.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(error(
            format!("is open to others (mode {mode:04o})"),
            format!("run `chmod 600 {shown}`"),
        ));
    }
    let mut text = Zeroizing::new(String::new());
    file.take(LONGEST).read_to_string(&mut text).map_err(unreadable)?;
    Ok(text)
}

/// True if the directory of a file belongs to a user, who could exchange the file anyway.
fn owns_directory(user: u32, file: &Path) -> bool {
    let directory = file.parent().filter(|it| !it.as_os_str().is_empty());
    let metadata = std::fs::metadata(directory.unwrap_or(Path::new(".")));
    metadata.is_ok_and(|it| it.is_dir() && it.uid() == user)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn written(mode: u32) -> (tempfile::TempDir, std::path::PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("private.key");
        std::fs::write(&file, "secret\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        (directory, file)
    }

    #[test]
    fn only_what_nobody_else_can_open_is_read() {
        for mode in [0o600, 0o400, 0o700] {
            let (_directory, file) = written(mode);
            assert_eq!(read_key_file(&file).unwrap().as_str(), "secret\n", "{mode:o}");
        }
        for mode in [0o640, 0o604, 0o620, 0o602, 0o610, 0o777] {
            let (_directory, file) = written(mode);
            let expected =
                format!("is open to others (mode {mode:04o}); run `chmod 600 {}`", file.display());
            assert_eq!(read_key_file(&file).unwrap_err().describe(""), expected);
        }
    }

    #[test]
    fn a_stranger_s_file_is_refused() {
        let (_directory, file) = written(0o600);
        assert!(nix::unistd::geteuid().is_root(), "runs as root, to give the file away");
        std::os::unix::fs::chown(&file, Some(12_345), None).unwrap();
        let error = read_key_file(&file).unwrap_err().describe("");
        let expected = "belongs to user 12345, who could read and change it; run `chown 0 ";
        assert!(error.starts_with(expected), "{error}");
    }

    /// A key file as after `mpt setup` on a host that has the daemon's user.
    #[test]
    fn root_reads_the_key_of_the_user_to_whom_the_directory_belongs() {
        let (directory, file) = written(0o600);
        for given in [file.as_path(), directory.path()] {
            std::os::unix::fs::chown(given, Some(12_345), None).unwrap();
        }
        assert_eq!(read_key_file(&file).unwrap().as_str(), "secret\n");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(read_key_file(&file).is_err(), "the group of that user is somebody else");
    }

    #[test]
    fn what_is_no_file_is_told() {
        let (directory, file) = written(0o600);
        let error = read_key_file(directory.path()).unwrap_err();
        assert_eq!(error.describe(""), "is not a file; write the name of a key file");
        let missing = file.with_extension("missing");
        assert_eq!(read_key_file(&missing), Err(KeyFileError::Missing));
    }
}
