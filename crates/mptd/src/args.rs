//! Command line of the daemon.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use mpt_config::{self as config, DEFAULT_FILE};
use mpt_linux::reverse_path;
use mpt_text::manual::{self, Section};

/// Something failed while it ran, or it could not start.
pub const EXIT_FAILURE: u8 = 1;
/// The command line is wrong. Given by clap.
pub const EXIT_USAGE: u8 = 2;
/// The configuration file is not usable (EX_CONFIG of sysexits.h): starting again will not help.
pub const EXIT_CONFIG: u8 = 78;

/// The multipath tunnel daemon: carries IP packets between two hosts over several paths at once, as GRE in UDP (RFC 8086).
#[derive(Clone, Debug, PartialEq, Eq, Parser)]
#[command(
    name = "mptd",
    version,
    after_help = "Signals:\n  \
        SIGHUP          read the file again and apply the difference; a bad file changes nothing\n  \
        SIGTERM, SIGINT remove what was created, and end\n\n\
        Exit codes:\n  \
        0   ended by a signal, --check found no error, or --unblock did its work\n  \
        1   could not start, or failed while running\n  \
        2   the command line is wrong\n  \
        78  the configuration file has errors"
)]
pub struct Args {
    /// Configuration file (mpt.toml(5) and examples/mpt.toml explain every key)
    #[arg(long, value_name = "FILE", default_value = DEFAULT_FILE)]
    pub config: PathBuf,

    /// Only check the file: prints every error and warning with its line, changes nothing
    #[arg(long)]
    pub check: bool,

    /// Open what a daemon that was killed has left blocked (`fallback = "block"`), and exit: removes the rules and routes that no running
    /// mptd owns, and prints them
    #[arg(long, conflicts_with = "check")]
    pub unblock: bool,

    /// Write the manual pages and shell completions of mptd to this directory, for packages, and exit
    #[arg(long, value_name = "DIRECTORY", hide = true, exclusive = true)]
    pub manual: Option<PathBuf>,
}

/// `mptd --manual`: writes mptd(8), mpt.toml(5) and the completions to the directory, and makes what is missing.
pub fn manual(directory: &Path, errors: &mut impl std::io::Write) -> std::io::Result<ExitCode> {
    let write = || {
        manual::write(Args::command(), Section::Administrator, directory)?;
        std::fs::write(directory.join("man/mpt.toml.5"), mpt_config::manual_page())
    };
    match write() {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            writeln!(errors, "mptd: {}: {error}", directory.display())?;
            Ok(ExitCode::from(EXIT_FAILURE))
        }
    }
}

/// `mptd --unblock`: removes what daemons left behind that were killed, and prints it.
pub fn unblock(
    out: &mut impl std::io::Write,
    errors: &mut impl std::io::Write,
) -> std::io::Result<ExitCode> {
    match crate::daemon::unblock() {
        Ok(removed) if removed.is_empty() => writeln!(out, "nothing was left behind")?,
        Ok(removed) => {
            for object in removed {
                writeln!(out, "removed {object}")?;
            }
        }
        Err(error) => {
            writeln!(errors, "mptd: {error}; run it as root")?;
            return Ok(ExitCode::from(EXIT_FAILURE));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// `mptd --check`: what is wrong with the file to `errors`, the verdict to `out`.
pub fn check(
    args: &Args,
    out: &mut impl std::io::Write,
    errors: &mut impl std::io::Write,
) -> std::io::Result<ExitCode> {
    match config::load(&args.config) {
        Ok(checked) => {
            for warning in &checked.warnings {
                writeln!(errors, "warning: {warning}")?;
            }
            // Of this host, as it is now.
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

    /// What `--check` says of a text, with the name of the file as FILE: to the output, to the errors, and whether it is good.
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
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
        let args = Args::parse_from(["mptd"]);
        let expected =
            Args { config: DEFAULT_FILE.into(), check: false, unblock: false, manual: None };
        assert_eq!(args, expected);
    }

    #[test]
    fn there_is_a_page_and_every_shell_has_completions() {
        let directory = tempfile::tempdir().unwrap();
        let mut errors = Vec::new();
        assert_eq!(manual(directory.path(), &mut errors).unwrap(), ExitCode::SUCCESS);
        assert_eq!(errors, b"");
        let text = |file: &str| std::fs::read_to_string(directory.path().join(file)).unwrap();
        assert!(text("man/mptd.8").contains("SIGHUP"));
        assert!(text("man/mpt.toml.5").contains("[[connection.path]]"));
        for (file, word) in
            [("bash/mptd.bash", "--check"), ("fish/mptd.fish", "check"), ("zsh/_mptd", "--check")]
        {
            assert!(text(&format!("completions/{file}")).contains(word), "{file}");
        }
    }

    #[test]
    fn the_exit_codes_are_documented() {
        let help = Args::command().render_long_help().to_string();
        for code in [0, EXIT_FAILURE, EXIT_USAGE, EXIT_CONFIG] {
            assert!(help.contains(&format!("\n  {code:<2}  ")), "{code} is not in\n{help}");
        }
    }

    #[test]
    fn a_good_file_is_called_good() {
        let expected = "FILE: good, with 1 device, 1 connection, 1 path, 0 warnings\n";
        assert_eq!(checked(GOOD), (expected.into(), String::new(), true));
    }

    #[test]
    fn warnings_leave_it_good() {
        let (out, errors, good) = checked(&format!("{GOOD}up = false\n"));
        assert_eq!(out, "FILE: good, with 1 device, 1 connection, 1 path, 1 warning\n");
        let warning = "every path of connection \"office\" starts down; write up = true";
        assert_eq!(errors, format!("warning: FILE:5: connection.path: {warning}\n"));
        assert!(good);
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
