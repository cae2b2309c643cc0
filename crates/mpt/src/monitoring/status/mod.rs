//! `mpt status`: how the tunnel is, at one glance.

pub(crate) mod cap;
mod problems;
pub(crate) mod render;
pub(crate) mod screen;
pub(crate) mod state;
mod summary;

use std::io::{self, IsTerminal, Write};
use std::thread;
use std::time::{Duration, Instant};

use anstream::{AutoStream, ColorChoice};
use mpt_api::{Command, Reply};
use mpt_client::Client;

use crate::client::{self, Failed, candidates};
use crate::command_line::args::{Daemon, Status};
use render::WIDTH;
use screen::Line;
use state::State;
pub(crate) use summary::{Process, Summary, Tunnel, Uplink};

/// The time between two screens of `--watch`.
const INTERVAL: Duration = Duration::from_secs(1);

/// Moves to the upper left corner and wipes everything off the terminal.
const WIPE: &str = "\x1b[H\x1b[2J";
/// Moves to the upper left corner.
const HOME: &str = "\x1b[H";
/// Wipes the rest of the line.
const REST_OF_LINE: &str = "\x1b[K";
/// Wipes everything below.
const REST_OF_SCREEN: &str = "\x1b[J";

/// Prints the state once, or again and again.
///
/// # Errors
///
/// [`Failed::State`] with a state that is not "up", whose exit code tells programs.
pub(crate) fn run(
    wanted: &Status,
    daemon: &Daemon,
    json: bool,
    out: &mut impl Write,
) -> Result<(), Failed> {
    let terminal = Terminal::of_output();
    if wanted.watch {
        return watch(wanted, daemon, json, &terminal, out);
    }
    let mut client = None;
    let summary = match ask(&mut client, wanted, daemon) {
        Ok(summary) => summary,
        // A program that reads JSON gets JSON in any case.
        Err(Failed::Daemon(error)) if json && is_absence(&error) => {
            Summary::unreachable(&error.to_string())
        }
        Err(failed) => return Err(failed),
    };
    if json {
        serde_json::to_writer_pretty(&mut *out, &summary).map_err(io::Error::from)?;
        writeln!(out)?;
    } else {
        for line in render::screen(&summary, terminal.width) {
            writeln!(out, "{}", terminal.shown(&line))?;
        }
    }
    match summary.state {
        State::Up => Ok(()),
        state => Err(Failed::State(state)),
    }
}

/// Shows the state once a second, also while the daemon does not answer, until somebody ends it.
fn watch(
    wanted: &Status,
    daemon: &Daemon,
    json: bool,
    terminal: &Terminal,
    out: &mut impl Write,
) -> Result<(), Failed> {
    let mut client = None;
    let mut due = Instant::now();
    if terminal.is_terminal && !json {
        write!(out, "{WIPE}")?;
    }
    loop {
        let summary = match ask(&mut client, wanted, daemon) {
            Ok(summary) => summary,
            Err(Failed::Daemon(error)) if is_absence(&error) => {
                client = None;
                Summary::unreachable(&error.to_string())
            }
            Err(failed) => return Err(failed),
        };
        if json {
            write!(out, "{}", mpt_api::to_line(&summary))?;
        } else {
            // The window may have another size by now.
            let terminal = Terminal::of_output();
            let lines = render::screen(&summary, terminal.width);
            if terminal.is_terminal {
                let (shown, more) = terminal.cut(&lines);
                write!(out, "{HOME}")?;
                for line in shown {
                    write!(out, "{}{REST_OF_LINE}\r\n", terminal.shown(line))?;
                }
                if more > 0 {
                    let more = Line::new().with(screen::FAINT, format!("... {more} more lines"));
                    write!(out, "{}{REST_OF_LINE}", terminal.shown(&more))?;
                }
                write!(out, "{REST_OF_SCREEN}")?;
            } else {
                for line in &lines {
                    writeln!(out, "{}", terminal.shown(line))?;
                }
                writeln!(out)?;
            }
        }
        out.flush()?;
        // An interval that was missed is left out.
        due = (due + INTERVAL).max(Instant::now());
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
}

/// Asks for the state over the conversation that there is, or over a new one.
fn ask(client: &mut Option<Client>, wanted: &Status, daemon: &Daemon) -> Result<Summary, Failed> {
    let client = match client {
        Some(client) => client,
        None => client.insert(client::connect(daemon)?),
    };
    let command = match &wanted.connection {
        Some(connection) => Command::ShowConnection { connection: connection.clone() },
        None => Command::Show,
    };
    match candidates::call(client, command)? {
        Reply::Snapshot(snapshot) => Ok(Summary::of(&snapshot)),
        reply => Err(Failed::unexpected(&reply)),
    }
}

/// True if the daemon was not there, rather than of another opinion.
fn is_absence(error: &mpt_client::Error) -> bool {
    matches!(error, mpt_client::Error::Unreachable(_))
}

/// The properties of standard output.
struct Terminal {
    is_terminal: bool,
    width: usize,
    height: usize,
    coloured: bool,
}

impl Terminal {
    fn of_output() -> Terminal {
        let stdout = io::stdout();
        let is_terminal = stdout.is_terminal();
        let size = terminal_size::terminal_size_of(&stdout).filter(|_| is_terminal);
        // None is given also by a terminal that was never told its size, such as a serial console.
        let (width, height) = size.map_or((WIDTH, usize::MAX), |(width, height)| {
            (usize::from(width.0), usize::from(height.0))
        });
        // It knows NO_COLOR, CLICOLOR, CLICOLOR_FORCE and TERM=dumb.
        let coloured = AutoStream::choice(&stdout) != ColorChoice::Never;
        Terminal { is_terminal, width, height, coloured }
    }

    /// The line as it goes to standard output.
    fn shown(&self, line: &Line) -> String {
        let fitted = line.fitted(self.width);
        let shown = match self.coloured {
            true => fitted,
            false => anstream::adapter::strip_str(&fitted).to_string(),
        };
        shown.trim_end().to_owned()
    }

    /// The lines that fit, with one left for saying how many do not.
    fn cut<'a>(&self, lines: &'a [Line]) -> (&'a [Line], usize) {
        let fitting = if lines.len() < self.height { lines.len() } else { self.height - 1 };
        (&lines[..fitting], lines.len() - fitting)
    }
}

#[cfg(test)]
mod tests;
