//! Command line of the daemon.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use mpt_config::DEFAULT_FILE;
use mpt_text::manual::{self, Section};

/// Exit code if something failed while it ran, or it could not start.
pub const EXIT_FAILURE: u8 = 1;
/// Exit code if the command line is wrong, which clap gives.
pub const EXIT_USAGE: u8 = 2;
/// Exit code if the configuration file is not usable (EX_CONFIG of sysexits.h): starting again will not help.
pub const EXIT_CONFIG: u8 = 78;

/// The multipath tunnel daemon: carries IP packets between two hosts over several paths at once, as GRE in UDP (RFC 8086).
#[derive(Clone, Debug, PartialEq, Eq, Parser)]
#[command(
    name = "mptd",
    version,
    after_help = "Signals:\n  \
        SIGHUP          read the file again and apply the difference; a bad file changes nothing\n  \
        SIGTERM, SIGINT remove everything that was created, and end\n\n\
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

    /// Unblock the traffic that a killed daemon has left blocked (`fallback = "block"`), and exit: removes the rules and routes that no
    /// running mptd owns, and prints them
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

/// `mptd --unblock`: removes what killed daemons left behind, and prints it.
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
