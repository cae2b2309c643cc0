//! Manual pages and shell completions, made from the command lines themselves. For whoever makes packages.

use std::path::Path;
use std::{fs, io};

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Args;
use crate::client::Failed;

/// Shells that packages have completions for.
const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Fish, Shell::Zsh];

/// Writes the pages of mpt and mptd to `man/` in the directory, the completions to `completions/SHELL/`; makes what is missing.
pub(crate) fn write(directory: &Path) -> Result<(), Failed> {
    let failed = |error| Failed::File(format!("{}: {error}", directory.display()));
    write_all(directory).map_err(failed)
}

fn write_all(directory: &Path) -> io::Result<()> {
    let mut mpt = Args::command();
    let mut mptd = mptd::args::Args::command();
    let man = directory.join("man");
    fs::create_dir_all(&man)?;
    clap_mangen::generate_to(mpt.clone(), &man)?;
    // Programs of the administrator are in section 8.
    let mut page = Vec::new();
    clap_mangen::Man::new(mptd.clone()).section("8").render(&mut page)?;
    fs::write(man.join("mptd.8"), page)?;
    for shell in SHELLS {
        let to = directory.join("completions").join(shell.to_string());
        fs::create_dir_all(&to)?;
        clap_complete::generate_to(shell, &mut mpt, "mpt", &to)?;
        clap_complete::generate_to(shell, &mut mptd, "mptd", &to)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_and_every_shell_its_completions() {
        let directory = tempfile::tempdir().unwrap();
        write(directory.path()).unwrap();
        let text = |file: &str| fs::read_to_string(directory.path().join(file)).unwrap();
        for command in Args::command().get_subcommands().filter(|it| !it.is_hide_set()) {
            let page = text(&format!("man/mpt-{}.1", command.get_name()));
            assert!(page.contains(".SH SYNOPSIS"), "{page}");
        }
        assert!(text("man/mpt.1").contains("Exit codes"));
        assert!(text("man/mptd.8").contains("SIGHUP"));
        for (file, word) in [
            ("bash/mpt.bash", "keepalive"),
            ("fish/mpt.fish", "keepalive"),
            ("zsh/_mpt", "keepalive"),
            ("bash/mptd.bash", "--check"),
            ("fish/mptd.fish", "check"),
            ("zsh/_mptd", "--check"),
        ] {
            assert!(text(&format!("completions/{file}")).contains(word), "{file}");
        }
        let hidden = directory.path().join("man/mpt-manual.1");
        assert!(!hidden.exists(), "what is hidden has no page");
    }
}
