//! `mptd --check`: whether a configuration file is good, and what a daemon will do with it.

mod sharing;

use std::io::{self, Write};
use std::process::ExitCode;

use mpt_config as config;
use mpt_linux::reverse_path;

use crate::args::{Args, EXIT_CONFIG};

/// Writes what is wrong with the file to `errors`. Writes the verdict to `out`, and for each connection what it learns and what stays as the file says.
pub fn check(args: &Args, out: &mut impl Write, errors: &mut impl Write) -> io::Result<ExitCode> {
    match config::load(&args.config) {
        Ok(checked) => {
            for warning in &checked.warnings {
                writeln!(errors, "warning: {warning}")?;
            }
            // This check is about the settings of this host as they are now.
            let takes_internet = checked.config.takes_internet(false);
            let of_system = reverse_path::check(checked.config.bound_paths(), takes_internet);
            for warning in &of_system {
                writeln!(errors, "warning: {warning}")?;
            }
            let count = |number: usize, noun: &str| {
                format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
            };
            let paths = checked.config.connections.iter().map(|connection| connection.paths.len());
            writeln!(
                out,
                "{}: good, with {}, {}, {}, {}",
                args.config.display(),
                count(checked.config.devices.len(), "device"),
                count(checked.config.connections.len(), "connection"),
                count(paths.sum(), "path"),
                count(checked.warnings.len() + of_system.len(), "warning"),
            )?;
            for connection in &checked.config.connections {
                for line in sharing::lines(connection) {
                    writeln!(out, "{line}")?;
                }
            }
            Ok(ExitCode::SUCCESS)
        }
        Err(found) => {
            for error in &found.0 {
                writeln!(errors, "error: {error}")?;
            }
            Ok(ExitCode::from(EXIT_CONFIG))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
[[device]]
name = "mpt0"
addresses = ["10.9.0.1/30"]
[[connection]]
name = "office"
networks = ["10.9.0.2"]
[[connection.path]]
name = "dsl"
local = "192.0.2.1"
remote = "198.51.100.1"
"#;

    /// Returns what `--check` says of a text, with the name of the file as FILE: to the output, to the errors, and whether it is good.
    fn checked(text: &str) -> (String, String, bool) {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("mpt.toml");
        std::fs::write(&file, text).unwrap();
        let args = Args { config: file.clone(), check: true, unblock: false, manual: None };
        let (mut out, mut errors) = (Vec::new(), Vec::new());
        let code = check(&args, &mut out, &mut errors).unwrap();
        let text =
            |bytes| String::from_utf8(bytes).unwrap().replace(file.to_str().unwrap(), "FILE");
        (text(out), text(errors), code == ExitCode::SUCCESS)
    }

    #[test]
    fn a_good_file_is_called_good() {
        let expected = "FILE: good, with 1 device, 1 connection, 1 path, 0 warnings\n\
                        connection office: spreads packets by weights, which stay as configured: dsl 1\n";
        assert_eq!(checked(GOOD), (expected.into(), String::new(), true));
    }

    #[test]
    fn warnings_leave_it_good() {
        let (out, errors, good) = checked(&format!("{GOOD}up = false\n"));
        assert!(out.starts_with("FILE: good, with 1 device, 1 connection, 1 path, 1 warning\n"));
        let warning = "every path of connection \"office\" starts down; write up = true";
        assert_eq!(errors, format!("warning: FILE:5: connection.path: {warning}\n"));
        assert!(good);
    }

    #[test]
    fn a_missing_key_is_told_with_the_command_that_makes_it() {
        let peer = "public_key = \"VNGkqZLC2v5RVRmzsu6nZ+ZGyP5RmIVDRDpZ5jWFKHo=\"\n\
                    psk_file = \"/nowhere/office.psk\"";
        let text = GOOD.replace(
            "[[connection.path]]",
            &format!("[connection.peer]\n{peer}\n[[connection.path]]"),
        );
        let (_, errors, good) =
            checked(&format!("daemon.private_key_file = \"/nowhere/private.key\"\n{text}"));
        for expected in [
            "private_key_file: \"/nowhere/private.key\" is not there; run `mpt genkey -o /nowhere/private.key`\n",
            "psk_file: \"/nowhere/office.psk\" is not there; run `mpt genpsk -o /nowhere/office.psk` and copy that file to the peer",
        ] {
            assert!(errors.contains(expected), "{errors}");
        }
        assert!(!good);
    }

    #[test]
    fn every_error_of_a_bad_file_is_printed() {
        let (out, errors, good) = checked(&format!("{GOOD}weight = 0\nup = 3\n"));
        assert_eq!(out, "");
        assert_eq!(
            errors,
            "error: FILE:12: connection.path.weight: 0 is not a weight; write an integer from 1 to 65535\n\
             error: FILE:13: connection.path.up: 3 is not a boolean; write true or false\n"
        );
        assert!(!good);
    }
}
