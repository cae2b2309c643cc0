//! `mpt top`: what `mpt status` says, live, with the last minute of each path, and keys to take paths in and out of service.

mod body;
mod charts;
mod draw;
mod view;

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use mpt_api::{Command, Reply};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use signal_hook::consts::SIGTERM;

use crate::client::{self, Failed, candidates};
use crate::command_line::args::{Daemon, Top};
use crate::monitoring::watched::Watched;
use crate::output::steer;
use view::{Next, Order, View};

/// The time for which keys are waited for, before it is looked whether anything else has changed. It bounds how often the screen is drawn.
const KEYS: Duration = Duration::from_millis(100);

/// Seconds of history that are drawn, which is the most that the widest terminal shows.
const SPAN: u64 = 600;

/// Shows the tunnel until the user quits.
///
/// # Errors
///
/// [`Failed::Usage`] where standard input or output is no terminal.
pub(crate) fn run(wanted: &Top, daemon: &Daemon) -> Result<(), Failed> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        let advice = "mpt top takes a terminal; mpt status --watch prints to files and pipes";
        return Err(Failed::Usage(advice.into()));
    }
    client::check(daemon)?;
    // The terminal is left as it was. SIGHUP ends the process at once: it comes when the terminal is gone, and then
    // waiting for keys does not return, since crossterm reads the end of the file over and over.
    let ended = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGTERM, ended.clone())?;
    let watched = Watched::start(daemon);
    let mut terminal = ratatui::try_init()?;
    let shown = show(&mut terminal, View::new(wanted.connection.clone()), &watched, daemon, &ended);
    ratatui::try_restore()?;
    Ok(shown?)
}

fn show(
    terminal: &mut DefaultTerminal,
    mut view: View,
    watched: &Watched,
    daemon: &Daemon,
    ended: &AtomicBool,
) -> io::Result<()> {
    let mut changes = watched.changes();
    let (answer, answers) = mpsc::channel();
    while !ended.load(Ordering::Relaxed) {
        changes.mark_unchanged();
        let seen = watched.seen(view.connection(), SPAN);
        view.follow(&seen);
        terminal.draw(|frame| draw::frame(frame, &view, &seen))?;
        while !ended.load(Ordering::Relaxed) {
            if event::poll(KEYS)? {
                match event::read()? {
                    Event::Key(key) if key.kind != KeyEventKind::Release => {
                        match view.press(key, &seen) {
                            Next::Look => {}
                            Next::Quit => return Ok(()),
                            Next::Order(order) => give(daemon.clone(), order, answer.clone()),
                        }
                        break;
                    }
                    Event::Resize(..) => break,
                    _ => {}
                }
            }
            if let Some(message) = last(&answers) {
                view.say(message);
                break;
            }
            // It is an error when the watching threads have ended, which they never do.
            if changes.has_changed().unwrap_or(false) {
                break;
            }
        }
    }
    Ok(())
}

/// Sends an order to the daemon on a thread of its own, since a daemon elsewhere may take seconds to answer. The outcome is sent back.
fn give(daemon: Daemon, order: Order, answer: Sender<String>) {
    thread::spawn(move || {
        let Order { connection, path, change } = order;
        let said = steer::said(&connection, &path, &change);
        let carry_out = || -> Result<(), Failed> {
            let command = Command::SetPath { connection, path, change };
            match candidates::call(&mut client::connect(&daemon)?, command)? {
                Reply::Done => Ok(()),
                reply => Err(Failed::unexpected(&reply)),
            }
        };
        let message = match carry_out() {
            Ok(()) => said,
            Err(failed) => failed.to_string(),
        };
        // The screen may be closed by now.
        let _ = answer.send(message);
    });
}

fn last(answers: &Receiver<String>) -> Option<String> {
    answers.try_iter().last()
}

#[cfg(test)]
mod tests;
