//! Says what is going on: a bar on a terminal, plain lines elsewhere.

use std::io::{IsTerminal, stderr};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Progress through steps whose durations are known about beforehand, on standard error.
#[derive(Debug)]
pub(crate) struct Progress {
    /// Counts milliseconds of the expected duration. Hidden where there is no terminal.
    bar: ProgressBar,
    total: Duration,
    done: Duration,
    current: Duration,
    terminal: bool,
}

impl Progress {
    /// `total`: how long all of it will take.
    pub(crate) fn new(total: Duration) -> Self {
        let terminal = stderr().is_terminal();
        let bar = ProgressBar::with_draw_target(
            Some(millis(total)),
            if terminal {
                ProgressDrawTarget::stderr_with_hz(5)
            } else {
                ProgressDrawTarget::hidden()
            },
        );
        let style = ProgressStyle::with_template("[{bar:30}] {percent:>3} %  {elapsed}  {msg}");
        // The template is a constant: were it wrong, the plain bar would do.
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        Self { bar, total, done: Duration::ZERO, current: Duration::ZERO, terminal }
    }

    /// Begins the next step, which will take about `expected`.
    pub(crate) fn step(&mut self, what: &str, expected: Duration) {
        self.done += self.current;
        self.current = expected;
        self.bar.set_position(millis(self.done));
        self.bar.set_message(what.to_owned());
        if self.terminal {
            // Redraws the elapsed time while a step runs; rarely, because the machine is being
            // measured.
            self.bar.enable_steady_tick(Duration::from_millis(500));
        } else {
            let percent = 100 * millis(self.done) / millis(self.total).max(1);
            eprintln!("{percent:>3} %  {what}");
        }
    }

    /// Ends the display.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

fn millis(duration: Duration) -> u64 {
    duration.as_millis() as u64
}
