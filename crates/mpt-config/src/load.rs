//! Reads and checks the text of a file: the result is a configuration, or everything that is wrong
//! with it.

use std::path::Path as FilePath;

use mpt_client::read_key_file;
use toml::de::DeTable;

use super::check::{self, advice};
use super::parse;
use super::syntax::diagnostic::{ConfigErrors, Diagnostic};
use super::syntax::reader::{Context, KeyReader, Table};
use super::types::Config;

/// The file that the daemon reads by default.
pub const DEFAULT_FILE: &str = "/etc/mpt/mpt.toml";

/// A file without errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The configuration.
    pub config: Config,
    /// Warnings of probable mistakes, in the order of the lines.
    pub warnings: Vec<Diagnostic>,
}

/// Reads and checks a file.
///
/// # Errors
///
/// Everything that is wrong with it, not just the first thing; nothing else when it is not TOML.
pub fn load(path: &FilePath) -> Result<Checked, ConfigErrors> {
    load_with(path, &read_key_file)
}

/// Reads and checks a file like [`load`], with the key files read by `keys`.
///
/// # Errors
///
/// Fails as [`load`] does.
pub fn load_with(path: &FilePath, keys: KeyReader<'_>) -> Result<Checked, ConfigErrors> {
    let file = path.display().to_string();
    let unreadable = |message: String| {
        ConfigErrors(vec![Diagnostic {
            file: file.clone(),
            line: None,
            key: String::new(),
            message,
        }])
    };
    let bytes = std::fs::read(path).map_err(|error| {
        unreadable(format!("{error}; write the file (examples/mpt.toml shows all keys) or name another with --config"))
    })?;
    let text = std::str::from_utf8(&bytes).map_err(|error| {
        let line = 1 + bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count();
        let message = "not UTF-8; save the file in UTF-8".to_owned();
        ConfigErrors(vec![Diagnostic {
            line: Some(line),
            message,
            ..unreadable(String::new()).0.remove(0)
        }])
    })?;
    check_text_with(&file, text, keys)
}

/// Checks the text of a file, which is called `file` in messages.
///
/// # Errors
///
/// Fails as [`load`] does.
pub fn check_text(file: &str, text: &str) -> Result<Checked, ConfigErrors> {
    check_text_with(file, text, &read_key_file)
}

/// Checks the text of a file like [`check_text`], with the key files read by `keys`.
///
/// # Errors
///
/// Fails as [`load`] does.
pub fn check_text_with(
    file: &str,
    text: &str,
    keys: KeyReader<'_>,
) -> Result<Checked, ConfigErrors> {
    let context = Context::new(file, text, keys);
    let (table, faults) = DeTable::parse_recoverable(text);
    if !faults.is_empty() {
        for fault in faults {
            let line = context.line(fault.span().map_or(0, |span| span.start));
            context.error(line, "", fault.message().to_owned());
        }
        return Err(ConfigErrors(context.finish().0));
    }
    let mut draft = parse::file(&context, Table::root(&context, table.get_ref()));
    check::check(&context, &mut draft);
    if !context.has_errors() {
        advice::warn(&context, &draft);
    }
    let (errors, warnings) = context.finish();
    if errors.is_empty() {
        Ok(Checked { config: check::assemble(draft), warnings })
    } else {
        Err(ConfigErrors(errors))
    }
}
