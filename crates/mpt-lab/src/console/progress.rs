//! Progress on standard error: a bar on a terminal, plain lines elsewhere.

use std::fmt;
use std::io::{IsTerminal, stderr};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// Interval of the bar's movements. It is long, because the machine is being measured.
const REDRAW: Duration = Duration::from_millis(250);

/// Progress through steps whose durations are known about beforehand, on standard error.
#[derive(Debug)]
pub(crate) struct Progress {
    total: Duration,
    step: Arc<Mutex<Step>>,
    /// Counts milliseconds of the expected duration; `None` where there is no terminal.
    bar: Option<ProgressBar>,
}

/// The present step.
#[derive(Debug)]
struct Step {
    /// Expected duration of the steps before it.
    before: Duration,
    expected: Duration,
    begun: Instant,
}

impl Progress {
    /// Begins progress through steps that are expected to take `total`.
    pub(crate) fn new(total: Duration) -> Self {
        let now = Instant::now();
        let step = Step { before: Duration::ZERO, expected: Duration::ZERO, begun: now };
        let step = Arc::new(Mutex::new(step));
        let bar = stderr().is_terminal().then(|| bar(total, step.clone()));
        Self { total, step, bar }
    }

    /// Begins the next step, which will take about `expected`.
    pub(crate) fn step(&mut self, what: &str, expected: Duration) {
        let before = {
            let mut step = self.step.lock().unwrap_or_else(PoisonError::into_inner);
            let before = step.before + step.expected;
            *step = Step { before, expected, begun: Instant::now() };
            before
        };
        match &self.bar {
            Some(bar) => bar.set_message(what.to_owned()),
            None => {
                let percent = 100 * millis(before) / millis(self.total).max(1);
                eprintln!("{percent:>3} %  {what}");
            }
        }
    }

    /// Ends the display.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Returns a bar that a thread of its own moves until it is finished.
fn bar(total: Duration, step: Arc<Mutex<Step>>) -> ProgressBar {
    let target = ProgressDrawTarget::stderr_with_hz(5);
    let bar = ProgressBar::with_draw_target(Some(millis(total)), target);
    let style = ProgressStyle::with_template("[{bar:30}] {percent:>3} %  {left} left  {msg}");
    // The template is a constant: if it were wrong, the usual bar would do.
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    // The bar counts expected time, so the rest of the bar is the remaining time.
    let left = |state: &ProgressState, text: &mut dyn fmt::Write| {
        let left = state.len().unwrap_or_default().saturating_sub(state.pos()) / 1000;
        // Nothing can be done about a terminal that takes no text.
        let _ = write!(text, "{}:{:02}:{:02}", left / 3600, left / 60 % 60, left % 60);
    };
    bar.set_style(style.with_key("left", left).progress_chars("=> "));
    let moved = bar.clone();
    thread::spawn(move || {
        while !moved.is_finished() {
            let position = step.lock().unwrap_or_else(PoisonError::into_inner).position();
            moved.set_position(millis(position));
            thread::sleep(REDRAW);
        }
    });
    bar
}

impl Step {
    /// Returns the position. A step that takes longer than expected waits at its end.
    fn position(&self) -> Duration {
        self.before + self.begun.elapsed().min(self.expected)
    }
}

fn millis(duration: Duration) -> u64 {
    duration.as_millis() as u64
}
