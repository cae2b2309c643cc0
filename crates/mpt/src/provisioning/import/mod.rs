//! `mpt import`: the files of mptsrv, the prototype of the papers, become a configuration of mptd.

mod files;
mod ini;
mod listing;
mod original;
mod write;

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ini::Ini;
use original::{Original, Warnings};
use write::Written;
use zeroize::Zeroizing;

use crate::client::Failed;
use crate::provisioning::keys;

/// Files longer than this are not the prototype's, in bytes.
const LONGEST: u64 = 1 << 20;
/// The directory in which key files are looked for unless the configuration goes elsewhere.
const KEYS: &str = "/etc/mpt";

/// Reads the files in a directory, and writes the configuration into a file, with its key files beside it, or prints it. Warnings go to the
/// standard error output.
pub(crate) fn run(
    directory: &Path,
    output: Option<&Path>,
    out: &mut impl io::Write,
) -> Result<(), Failed> {
    let mut warnings = Warnings::default();
    let original = read(directory, &mut warnings)?;
    let keys = match output {
        Some(file) => parent(file)?.display().to_string(),
        None => KEYS.to_owned(),
    };
    let written = write::write(&original, &keys, &mut warnings);
    for warning in warnings.all() {
        eprintln!("mpt: {warning}");
    }
    check(&written)?;
    match output {
        Some(file) => {
            create(file, 0o644, &written.toml)?;
            let directory = PathBuf::from(&keys);
            for (name, key) in &written.keys {
                create(&directory.join(name), 0o600, &format!("{key}\n"))?;
            }
        }
        None => {
            for (name, _) in &written.keys {
                eprintln!(
                    "mpt: write the auth_key into {keys}/{name}, which nobody else may read, or use --output"
                );
            }
            out.write_all(written.toml.as_bytes())?;
        }
    }
    Ok(())
}

/// Checks that mptd accepts the written file, and otherwise says so.
fn check(written: &Written) -> Result<(), Failed> {
    let key = |path: &Path| {
        let name = path.file_name().unwrap_or_default();
        let found = written.keys.iter().find(|(file, _)| name == file.as_str());
        Ok(Zeroizing::new(found.map_or_else(String::new, |(_, key)| key.clone())))
    };
    mpt_config::check_text_with("the result", &written.toml, &key).map(|_| ()).map_err(|errors| {
        Failed::File(format!("what the files say cannot be carried over:\n{errors}"))
    })
}

/// Finds and reads the files: `interface.conf`, and the connections beside it.
fn read(directory: &Path, warnings: &mut Warnings) -> Result<Original, Failed> {
    let conf = directory.join("conf");
    let root = if conf.join("interface.conf").exists() { conf } else { directory.to_owned() };
    let (name, text) = text(&root.join("interface.conf"))?;
    let interface = match Ini::is_one(&text) {
        true => files::interface(&name, &text, warnings),
        false => {
            warnings.add(&name, "a listing as printed in a paper, which no mptsrv reads");
            listing::interface(&name, &text, warnings)
        }
    };
    let mut connections = Vec::new();
    let directory = root.join("connections");
    let directory = if directory.is_dir() { directory } else { root };
    let shown = directory.display().to_string();
    let entries =
        fs::read_dir(&directory).map_err(|error| Failed::File(format!("{shown}: {error}")))?;
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    found.sort();
    for file in found {
        let is_conf = file.extension().is_some_and(|extension| extension == "conf");
        if !is_conf || file.file_name().is_some_and(|name| name == "interface.conf") {
            continue;
        }
        let (name, text) = self::text(&file)?;
        match Ini::is_one(&text) {
            true => connections.push(files::connection(&name, &text, warnings)),
            false => {
                warnings.add(&name, "a listing as printed in a paper, which no mptsrv reads");
                connections.extend(listing::connections(&name, &text, warnings));
            }
        }
    }
    if connections.is_empty() {
        warnings.add(shown, "there is no connection (*.conf)");
    }
    Ok(Original { interface, connections })
}

/// A file and how it is called in warnings.
fn text(file: &Path) -> Result<(String, String), Failed> {
    let name = file.display().to_string();
    let failed = |what: String| Failed::File(format!("{name}: {what}"));
    let length = fs::metadata(file).map_err(|error| failed(error.to_string()))?.len();
    if length > LONGEST {
        return Err(failed(format!("longer than {LONGEST} bytes")));
    }
    let bytes = fs::read(file).map_err(|error| failed(error.to_string()))?;
    // Comments may be in any encoding.
    Ok((name, String::from_utf8_lossy(&bytes).into_owned()))
}

/// Makes a file that must not be there.
fn create(file: &Path, mode: u32, text: &str) -> Result<(), Failed> {
    let failed = |error: io::Error| Failed::File(format!("{}: {error}", file.display()));
    let mut open = fs::OpenOptions::new();
    let mut made = open.write(true).create_new(true).mode(mode).open(file).map_err(failed)?;
    made.write_all(text.as_bytes()).and_then(|()| keys::give(&made, file)).map_err(failed)
}

/// The whole path of the directory of a file.
fn parent(file: &Path) -> Result<PathBuf, Failed> {
    let parent = match file.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    fs::canonicalize(parent).map_err(|error| Failed::File(format!("{}: {error}", parent.display())))
}
