//! Manual pages and shell completions of the laboratory, for makers of packages.

use std::path::PathBuf;

use anyhow::{Context, Result};
use mpt_text::manual::{self, Section};

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Directory to write them to
    directory: PathBuf,
}

/// Writes those of the program to the directory; makes what is missing. Packages have the laboratory beside mptd: it is a program of the
/// administrator.
pub(crate) fn write(command: clap::Command, options: &Options) -> Result<()> {
    manual::write(command.disable_help_subcommand(true), Section::Administrator, &options.directory)
        .with_context(|| options.directory.display().to_string())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_command_has_a_page_and_every_shell_its_completions() {
        let directory = tempfile::tempdir().unwrap();
        let options = Options { directory: directory.path().to_owned() };
        write(crate::Arguments::command(), &options).unwrap();
        let text = |file: &str| fs::read_to_string(directory.path().join(file)).unwrap();
        for command in crate::Arguments::command().get_subcommands() {
            let file = format!("man/mpt-lab-{}.8", command.get_name());
            if command.is_hide_set() {
                assert!(!directory.path().join(&file).exists(), "what is hidden has no page");
            } else {
                assert!(text(&file).contains(".SH SYNOPSIS"), "{file}");
            }
        }
        let program = text("man/mpt-lab.8");
        for expected in [".TH mpt-lab 8", "mpt\\-lab\\-demo(8)"] {
            assert!(program.contains(expected), "{program}");
        }
        for file in ["bash/mpt-lab.bash", "fish/mpt-lab.fish", "zsh/_mpt-lab"] {
            let completions = text(&format!("completions/{file}"));
            assert!(completions.contains("failover"), "{file}");
        }
    }
}
