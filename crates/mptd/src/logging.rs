//! The log: one line of text or one JSON object for each thing that happens, on standard error; under systemd, entries of the
//! journal with fields of their own.
//!
//! Text and journal carry the same: a sentence and fields. A value stands in quotes where it has spaces or other characters
//! that would make the line ambiguous, so that nobody forges a line by a name.

use std::fmt;
use std::io::IsTerminal;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

use mpt_config::{Daemon, LogFormat};
use tracing::field::Field;
use tracing::level_filters::LevelFilter;
use tracing_journald::{Priority, PriorityMappings};
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::fmt::format::{Writer, debug_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt as lines, reload};

/// The fields of journal entries begin with it: `journalctl MPT_CONNECTION=office`.
const JOURNAL_PREFIX: &str = "MPT";
/// The name under which the journal has the entries.
const JOURNAL_IDENTIFIER: &str = "mptd";

/// The layer that writes the log.
type Output = Box<dyn Layer<Registry> + Send + Sync>;

/// Starts the log as `daemon` says, and returns a function that changes it with the configuration. It is called once.
pub fn start(daemon: &Daemon) -> impl Fn(&Daemon) + use<> {
    let (output, set_output) = reload::Layer::new(output(daemon.log_format));
    let (filter, set_filter) = reload::Layer::new(filter(daemon.log));
    tracing_subscriber::registry().with(output).with(filter).init();
    move |daemon| {
        // Both fail only when there is no log any more.
        let _ = set_output.reload(self::output(daemon.log_format));
        let _ = set_filter.reload(self::filter(daemon.log));
    }
}

/// Says why the daemon ends, in the form of the log.
pub fn fatal(format: LogFormat, error: &dyn fmt::Display) {
    match format {
        LogFormat::Text => eprintln!("mptd: {error}"),
        LogFormat::Json => tracing::error!("{error}"),
    }
}

/// Returns the filter of the environment (`RUST_LOG`), or else one that lets everything from `level` up pass.
fn filter(level: LevelFilter) -> EnvFilter {
    EnvFilter::builder().with_default_directive(level.into()).from_env_lossy()
}

fn output(format: LogFormat) -> Output {
    if format == LogFormat::Json {
        let json = lines::layer().json().flatten_event(true);
        let json = json.with_current_span(false).with_span_list(false);
        return json.with_writer(std::io::stderr).boxed();
    }
    if is_journal()
        && let Ok(journal) = tracing_journald::layer()
    {
        let journal = journal.with_field_prefix(Some(JOURNAL_PREFIX.into()));
        let journal = journal.with_priority_mappings(PriorityMappings {
            info: Priority::Informational,
            debug: Priority::Debug,
            ..PriorityMappings::new()
        });
        return journal.with_syslog_identifier(JOURNAL_IDENTIFIER.into()).boxed();
    }
    let fields = debug_fn(field).delimited(" ");
    let colours = std::io::stderr().is_terminal();
    lines::layer().fmt_fields(fields).with_writer(std::io::stderr).with_ansi(colours).boxed()
}

/// True if standard error leads into the journal (systemd.exec(5), `JOURNAL_STREAM`).
fn is_journal() -> bool {
    let Ok(stream) = std::env::var("JOURNAL_STREAM") else { return false };
    let Ok(stderr) = std::io::stderr().as_fd().try_clone_to_owned() else { return false };
    let Ok(stderr) = std::fs::File::from(stderr).metadata() else { return false };
    stream == format!("{}:{}", stderr.dev(), stderr.ino())
}

/// Writes one field as `name=value`, the message without its name.
fn field(writer: &mut Writer<'_>, field: &Field, value: &dyn fmt::Debug) -> fmt::Result {
    let text = format!("{value:?}");
    if field.name() == "message" {
        return write!(writer, "{}", one_line(&text));
    }
    write!(writer, "{}={}", field.name(), quoted(&text))
}

/// A text without line breaks and other control characters.
fn one_line(text: &str) -> String {
    let escaped = |c: char| match c {
        c if c.is_control() => c.escape_default().to_string(),
        c => c.to_string(),
    };
    text.chars().map(escaped).collect()
}

/// A value in quotes where it needs them. Strings come with quotes.
fn quoted(text: &str) -> String {
    let plain = |text: &str| {
        let special = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '"' | '\\');
        !text.is_empty() && !text.contains(special)
    };
    let bare = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match bare {
        Some(bare) if plain(bare) => bare.to_owned(),
        Some(_) => text.to_owned(),
        None if plain(text) => text.to_owned(),
        None => format!("\"{}\"", text.escape_debug()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_quoted_where_it_needs_to_be() {
        for (text, expected) in [
            ("\"office\"", "office"),
            ("\"a b\"", "\"a b\""),
            ("\"\"", "\"\""),
            ("17", "17"),
            ("10.0.0.1:4754", "10.0.0.1:4754"),
            ("No such device (os error 19)", "\"No such device (os error 19)\""),
            ("two\nlines", "\"two\\nlines\""),
            ("it is \"so\"", "\"it is \\\"so\\\"\""),
        ] {
            assert_eq!(quoted(text), expected);
        }
    }

    #[test]
    fn a_message_stays_on_its_line() {
        assert_eq!(one_line("a \"b\"\n\u{1b}[2Jc"), "a \"b\"\\n\\u{1b}[2Jc");
    }
}
