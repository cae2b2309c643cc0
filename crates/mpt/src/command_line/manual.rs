//! Manual pages and shell completions of mpt. For whoever makes packages.

use std::path::Path;

use mpt_text::manual::{self, Section};

use crate::client::Failed;
use crate::command_line::args::command;
use crate::command_line::completions;

/// Writes them to the directory; makes what is missing.
pub(crate) fn write(directory: &Path) -> Result<(), Failed> {
    manual::pages(command(), Section::User, directory)
        .and_then(|()| completions::write(directory))
        .map_err(|error| Failed::File(format!("{}: {error}", directory.display())))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_command_has_a_page_and_every_shell_its_completions() {
        let directory = tempfile::tempdir().unwrap();
        write(directory.path()).unwrap();
        let text = |file: &str| fs::read_to_string(directory.path().join(file)).unwrap();
        for command in command().get_subcommands().filter(|it| !it.is_hide_set()) {
            let page = text(&format!("man/mpt-{}.1", command.get_name()));
            assert!(page.contains(".SH SYNOPSIS"), "{page}");
        }
        assert!(text("man/mpt.1").contains("Exit codes"));
        for (file, word) in [
            ("bash/mpt.bash", "complete -o nospace"),
            ("fish/mpt.fish", "--command mpt"),
            ("zsh/_mpt", "#compdef mpt"),
        ] {
            assert!(text(&format!("completions/{file}")).contains(word), "{file}");
        }
        let hidden = directory.path().join("man/mpt-manual.1");
        assert!(!hidden.exists(), "what is hidden has no page");
    }
}
