//! Completions of the command line, which a shell asks for while somebody types: also the names that the daemon knows.

use std::path::Path;
use std::{fs, io};

use clap_complete::CompleteEnv;
use clap_complete::env::{Bash, EnvCompleter, Fish, Zsh};

use crate::command_line::args;

/// A shell sets this variable to its name when it asks.
const ASKED: &str = "COMPLETE";

/// Answers a shell and ends, if one asks.
pub(crate) fn answer() {
    CompleteEnv::with_factory(args::command).var(ASKED).complete();
}

/// Writes what makes each shell ask to `completions/SHELL/` in the directory.
pub(crate) fn write(directory: &Path) -> io::Result<()> {
    // A file of zsh defines the function and is the function, the first time.
    let shells: [(&dyn EnvCompleter, &str, &str); 3] = [
        (&Bash, "mpt.bash", ""),
        (&Fish, "mpt.fish", ""),
        (&Zsh, "_mpt", "_clap_dynamic_completer_mpt \"$@\"\n"),
    ];
    for (shell, file, end) in shells {
        let to = directory.join("completions").join(shell.name());
        fs::create_dir_all(&to)?;
        let mut script = Vec::new();
        shell.write_registration(ASKED, "mpt", "mpt", "mpt", &mut script)?;
        script.extend_from_slice(end.as_bytes());
        fs::write(to.join(file), script)?;
    }
    Ok(())
}
