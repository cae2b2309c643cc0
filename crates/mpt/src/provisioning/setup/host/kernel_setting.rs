//! Settings of the kernel below `/proc/sys`: reads and writes them, and says what to do where they cannot be written.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::client::Failed;

/// Returns the file of a setting.
pub(crate) fn file(name: &str) -> PathBuf {
    Path::new("/proc/sys").join(name.replace('.', "/"))
}

/// Returns the value of a setting.
///
/// # Errors
///
/// The setting cannot be read; the kernel may lack it.
pub(crate) fn read(name: &str) -> Result<String, Failed> {
    match fs::read_to_string(file(name)) {
        Ok(text) => Ok(text.trim().to_owned()),
        Err(error) => Err(Failed::File(format!("{name} cannot be read: {error}"))),
    }
}

/// Checks that a setting has this value or can be given it. Writes nothing.
///
/// # Errors
///
/// The setting has another value and cannot be written.
pub(crate) fn check(name: &str, value: &str) -> Result<(), Failed> {
    if read(name)? == value {
        return Ok(());
    }
    let opened = OpenOptions::new().write(true).open(file(name));
    opened.map(drop).map_err(|error| cannot_set(name, value, &error))
}

/// Gives a setting this value, unless it has it already.
///
/// # Errors
///
/// The setting has another value and cannot be written.
pub(crate) fn set(name: &str, value: &str) -> Result<(), Failed> {
    if read(name)? == value {
        return Ok(());
    }
    fs::write(file(name), value).map_err(|error| cannot_set(name, value, &error))
}

fn cannot_set(name: &str, value: &str, error: &io::Error) -> Failed {
    let advice = match error.kind() {
        ErrorKind::ReadOnlyFilesystem => format!(
            "/proc/sys is read-only here, as it usually is in a container.\n\
             Set it from outside, and run this again: start the container with --sysctl {name}={value} (docker, podman), or, if the container \
             shares the network of its host, run sysctl -w {name}={value} on the host"
        ),
        ErrorKind::PermissionDenied => "run this as root".to_owned(),
        _ => format!("run sysctl -w {name}={value} as root, and run this again"),
    };
    Failed::File(format!("{name} cannot be set to {value}: {error}; {advice}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each reason has its own remedy, and each message begins with the setting and the value.
    #[test]
    fn every_failure_names_the_setting_the_reason_and_the_remedy() {
        for (kind, expected) in [
            (ErrorKind::ReadOnlyFilesystem, "--sysctl net.ipv4.ip_forward=1 (docker, podman)"),
            (ErrorKind::PermissionDenied, "run this as root"),
            (ErrorKind::InvalidInput, "run sysctl -w net.ipv4.ip_forward=1 as root"),
        ] {
            let said = cannot_set("net.ipv4.ip_forward", "1", &kind.into()).to_string();
            assert!(said.starts_with("net.ipv4.ip_forward cannot be set to 1: "), "{said}");
            assert!(said.contains(expected), "{said}");
        }
    }

    #[test]
    fn a_setting_that_the_kernel_lacks_is_named() {
        let said = check("net.ipv4.no_such_setting", "1").unwrap_err().to_string();
        assert!(said.starts_with("net.ipv4.no_such_setting cannot be read: "), "{said}");
    }
}
