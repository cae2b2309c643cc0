//! A real terminal: a session of tmux, which interprets what a program writes, and presses keys.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::hosts::wait_for;

/// A server of tmux with one window, ended when this is dropped.
pub(crate) struct Terminal {
    directory: tempfile::TempDir,
}

impl Terminal {
    /// Runs a program in a terminal of so many columns and rows. The terminal stays when the program ends, and says so.
    pub(crate) fn run(program: &Command, (columns, rows): (u16, u16)) -> Terminal {
        let terminal = Terminal { directory: tempfile::tempdir().unwrap() };
        let mut tmux = terminal.tmux(&["-f", "/dev/null", "new-session", "-d"]);
        tmux.args(["-x", &columns.to_string(), "-y", &rows.to_string()]);
        // These variables of the environment would change the colours.
        for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI"] {
            tmux.env_remove(variable);
        }
        // It says how the program has ended, and whether the terminal is as it was.
        let script = "\"$@\"; echo \"ended with $?\"; stty -a | grep -wo icanon; sleep 1000";
        tmux.args(["sh", "-c", script, "sh"]).arg(program.get_program()).args(program.get_args());
        let output =
            tmux.output().unwrap_or_else(|error| panic!("tmux: {error}; scripts/setup test"));
        assert!(output.status.success(), "{output:?}");
        terminal
    }

    fn tmux(&self, arguments: &[&str]) -> Command {
        let socket: PathBuf = self.directory.path().join("tmux");
        let mut tmux = Command::new("tmux");
        tmux.arg("-u").arg("-S").arg(socket).args(arguments).stdin(Stdio::null());
        tmux
    }

    /// Presses keys, by the names that tmux has for them.
    pub(crate) fn press(&self, keys: &[&str]) {
        let status = self.tmux(&["send-keys"]).args(keys).status().unwrap();
        assert!(status.success(), "{keys:?}");
    }

    /// Gives the terminal another size.
    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let mut tmux = self.tmux(&["resize-window", "-x", &columns, "-y", &rows]);
        assert!(tmux.status().unwrap().success());
    }

    /// From now on keeps what programs write to the terminal.
    pub(crate) fn record(&self) -> Recording {
        let file = self.directory.path().join("written");
        std::fs::write(&file, "").unwrap();
        let script = format!("exec cat >>{}", file.display());
        assert!(self.tmux(&["pipe-pane", "-O", &script]).status().unwrap().success());
        Recording { file }
    }

    /// Returns what stands on the screen.
    pub(crate) fn screen(&self) -> String {
        let output = self.tmux(&["capture-pane", "-p"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// Waits until all of these stand on the screen. Returns the screen.
    pub(crate) fn wait_for(&self, expected: &[&str]) -> String {
        let mut screen = String::new();
        wait_for(&format!("{expected:?} on the screen"), || {
            screen = self.screen();
            expected.iter().all(|it| screen.contains(it)).then(|| screen.clone())
        })
    }

    /// Returns what stands on the screen, with the sequences for its colours.
    pub(crate) fn coloured(&self) -> String {
        let output = self.tmux(&["capture-pane", "-p", "-e"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// True if no program has left the terminal in another mode: the main screen is shown, the cursor is visible, and no program gets the mouse.
    pub(crate) fn is_plain(&self) -> bool {
        let modes = "#{alternate_on} #{cursor_flag} #{mouse_any_flag}";
        let output = self.tmux(&["display-message", "-p", modes]).output().unwrap();
        output.stdout == b"0 1 0\n"
    }
}

/// The output to a terminal since it is recorded.
pub(crate) struct Recording {
    file: PathBuf,
}

impl Recording {
    /// Returns the number of bytes, with the sequences for colours and places.
    pub(crate) fn bytes(&self) -> usize {
        usize::try_from(std::fs::metadata(&self.file).unwrap().len()).unwrap()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- the terminal shows:\n{}---", self.screen());
        }
        let _ = self.tmux(&["kill-server"]).status();
    }
}
