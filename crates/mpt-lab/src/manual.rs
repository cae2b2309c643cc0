//! Manual pages and shell completions, made from the command line itself. For whoever makes packages.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap_complete::Shell;
use clap_mangen::Man;

/// Shells that packages have completions for.
const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Fish, Shell::Zsh];
/// Programs of the administrator (man-pages(7)): packages have the laboratory beside mptd.
const SECTION: &str = "8";

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Directory to write them to
    directory: PathBuf,
}

/// Writes a page for the program and one for each of its commands to `man/` in the directory, the completions to `completions/SHELL/`; makes what
/// is missing.
pub(crate) fn write(command: clap::Command, options: &Options) -> Result<()> {
    let name = command.get_name().to_owned();
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let man = options.directory.join("man");
    fs::create_dir_all(&man).with_context(|| man.display().to_string())?;
    let shown = command.get_subcommands().filter(|it| !it.is_hide_set());
    for page in shown.chain([&command]) {
        Man::new(page.clone()).section(SECTION).generate_to(&man)?;
    }
    for shell in SHELLS {
        let to = options.directory.join("completions").join(shell.to_string());
        fs::create_dir_all(&to).with_context(|| to.display().to_string())?;
        clap_complete::generate_to(shell, &mut command, &name, &to)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
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
