//! Manual pages and shell completions, made from the command lines themselves. For whoever makes packages.

use std::path::Path;
use std::{fs, io};

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;

/// Shells that packages have completions for.
const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Fish, Shell::Zsh];

/// The sections of manual pages that our programs are in (man-pages(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Programs of every user, section 1.
    User,
    /// Programs of the administrator, section 8.
    Administrator,
}

/// Writes a page for the program and one for each of its commands that are not hidden to `man/` in the directory, the
/// completions to `completions/SHELL/`; makes what is missing.
///
/// # Errors
///
/// Fails when a file or directory cannot be written.
pub fn write(mut program: Command, section: Section, directory: &Path) -> io::Result<()> {
    let name = program.get_name().to_owned();
    pages(program.clone(), section, directory)?;
    for shell in SHELLS {
        let to = directory.join("completions").join(shell.to_string());
        fs::create_dir_all(&to)?;
        clap_complete::generate_to(shell, &mut program, &name, &to)?;
    }
    Ok(())
}

/// Writes the pages alone, for a program that completes its command line itself.
///
/// # Errors
///
/// Fails when a file or directory cannot be written.
pub fn pages(program: Command, section: Section, directory: &Path) -> io::Result<()> {
    let man = directory.join("man");
    fs::create_dir_all(&man)?;
    let mut program = program.disable_help_subcommand(true);
    program.build();
    write_pages(&program, section, &man)
}

fn write_pages(command: &Command, section: Section, man: &Path) -> io::Result<()> {
    for part in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        write_pages(part, section, man)?;
    }
    let number = match section {
        Section::User => "1",
        Section::Administrator => "8",
    };
    Man::new(command.clone()).section(number).generate_to(man)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Arg;

    use super::*;

    #[test]
    fn every_command_has_a_page_and_every_shell_its_completions() {
        let directory = tempfile::tempdir().unwrap();
        let program = Command::new("prog")
            .subcommand(
                Command::new("path").subcommand(Command::new("add").arg(Arg::new("weight"))),
            )
            .subcommand(Command::new("manual").hide(true));
        write(program, Section::Administrator, directory.path()).unwrap();
        let text = |file: &str| fs::read_to_string(directory.path().join(file)).unwrap();
        assert!(text("man/prog.8").contains("prog\\-path(8)"), "{}", text("man/prog.8"));
        for page in ["man/prog-path.8", "man/prog-path-add.8"] {
            assert!(text(page).contains(".SH SYNOPSIS"), "{page}");
        }
        assert_eq!(
            fs::read_dir(directory.path().join("man")).unwrap().count(),
            3,
            "what is hidden has no page"
        );
        for file in ["bash/prog.bash", "fish/prog.fish", "zsh/_prog"] {
            assert!(text(&format!("completions/{file}")).contains("add"), "{file}");
        }
    }
}
