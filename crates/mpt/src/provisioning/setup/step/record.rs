//! The record of what was made on this host, so that it can be removed. It belongs to root alone, because everything that it names is removed
//! with root's rights.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::client::Failed;

/// The name of the file in the directory of the state.
const FILE: &str = "made.json";

/// The role for which this host was set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    /// A server.
    Server,
    /// A client of one.
    Client,
}

/// The program that decides which name servers a host asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Resolver {
    /// systemd-resolved: name servers of one link, and that link for all names.
    Resolved,
    /// resolvconf or openresolv: name servers under this name, which stands for an interface.
    Resolvconf { entry: String },
}

/// Something that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Made {
    /// A directory. It is removed if it is empty.
    Directory(PathBuf),
    /// A file, and how it begins: a file that begins otherwise was changed by hand, and stays.
    File { path: PathBuf, begins: String },
    /// A key file.
    Key(PathBuf),
    /// A setting of the kernel, with its value before.
    Sysctl { name: String, before: String },
    /// The nftables table of this name, of family inet.
    Table(String),
    /// The service of systemd, which was enabled or ran before, or not.
    Service { enabled: bool, active: bool },
    /// Name servers for the device.
    Names { by: Resolver },
    /// A process of the daemon, with its start time by the kernel.
    Process { pid: u32, started: u64 },
}

/// Everything that was made, in the order in which it was.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) role: Role,
    /// The address or name by which clients reach this host, if it is a server.
    pub(crate) address: String,
    /// The networks that clients reach through this host, if it is a server.
    pub(crate) networks: Vec<ipnet::IpNet>,
    pub(crate) made: Vec<Made>,
    #[serde(skip)]
    file: PathBuf,
}

impl Record {
    /// An empty one for this directory.
    pub(crate) fn new(state: &Path, role: Role) -> Self {
        let (address, networks) = (String::new(), Vec::new());
        Self { role, address, networks, made: Vec::new(), file: state.join(FILE) }
    }

    /// The one in this directory, if there is one.
    pub(crate) fn load(state: &Path) -> Result<Option<Self>, Failed> {
        let file = state.join(FILE);
        let failed = |why: String| Failed::File(format!("{}: {why}", file.display()));
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error.to_string())),
        };
        let record: Self = serde_json::from_str(&text).map_err(|error| {
            failed(format!(
                "{error}; it was changed: remove by hand what mpt has made, and this file"
            ))
        })?;
        Ok(Some(Self { file, ..record }))
    }

    /// Notes something that is about to be made.
    pub(crate) fn note(&mut self, made: Made) -> Result<(), Failed> {
        self.made.push(made);
        self.save()
    }

    /// Writes it down.
    pub(crate) fn save(&self) -> Result<(), Failed> {
        self.write().map_err(|error| cannot_write(&self.file, &error))
    }

    fn write(&self) -> io::Result<()> {
        if let Some(directory) = self.file.parent() {
            fs::create_dir_all(directory)?;
        }
        let beside = self.file.with_extension("new");
        fs::write(&beside, serde_json::to_vec_pretty(self)?)?;
        fs::rename(&beside, &self.file)
    }

    /// Removes it, and its directory if that is empty then.
    pub(crate) fn remove(&self) -> Result<(), Failed> {
        let removed = fs::remove_file(&self.file);
        removed.map_err(|error| Failed::File(format!("{}: {error}", self.file.display())))?;
        if let Some(directory) = self.file.parent() {
            let _ = fs::remove_dir(directory);
        }
        Ok(())
    }
}

/// Says why a record cannot be written, which is the first thing that a set-up writes.
fn cannot_write(file: &Path, error: &io::Error) -> Failed {
    let advice = match error.kind() {
        ErrorKind::PermissionDenied => "; run this as root",
        _ => "",
    };
    Failed::File(format!("{}: {error}{advice}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_not_root_is_told_to_be() {
        let file = Path::new("/var/lib/mpt-setup/made.json");
        let said = |kind: ErrorKind| cannot_write(file, &kind.into()).to_string();
        let denied = said(ErrorKind::PermissionDenied);
        assert!(denied.starts_with("/var/lib/mpt-setup/made.json: "), "{denied}");
        assert!(denied.ends_with("; run this as root"), "{denied}");
        assert!(!said(ErrorKind::StorageFull).contains("root"));
    }
}
