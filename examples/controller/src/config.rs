//! The configuration file.

use std::path::{Path, PathBuf};

use mpt_client::{Error, Target};
use serde::Deserialize;

use crate::rules::Rules;

/// Of sessions with our key. The next life of this program takes the place of one that was killed.
const SESSION: &str = "controller";

/// What to watch, and by which rules.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Our private key; every daemon knows the public one.
    pub private_key_file: PathBuf,
    /// When a path is good enough.
    #[serde(default)]
    pub rules: Rules,
    /// The daemons.
    #[serde(rename = "daemon")]
    pub daemons: Vec<Daemon>,
}

/// A daemon to watch.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Daemon {
    /// What it is called in our messages.
    pub name: String,
    /// Where it listens: an address or name, with or without port.
    pub address: String,
    /// Its public key, in base64.
    pub public_key: String,
    /// The pre-shared key, if its `[[controller]]` has one.
    pub psk_file: Option<PathBuf>,
}

impl Config {
    /// Reads the file.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`] with the place and the reason.
    pub fn load(file: &Path) -> Result<Self, Error> {
        let unusable = |why: String| Error::Unusable(format!("{}: {why}", file.display()));
        let text = std::fs::read_to_string(file).map_err(|error| unusable(error.to_string()))?;
        toml::from_str(&text).map_err(|error| unusable(error.to_string()))
    }

    /// Where the daemons are, and with which keys they are asked.
    pub(crate) fn targets(&self) -> Result<Vec<Target>, Error> {
        let identity = mpt_client::private_key(&self.private_key_file)?;
        let target = |daemon: &Daemon| {
            let wrong = |error| Error::Unusable(format!("daemon {}: {error}", daemon.name));
            let psk = daemon.psk_file.as_deref().map(mpt_client::preshared_key).transpose()?;
            Ok(Target {
                address: mpt_client::address(&daemon.address)?,
                peer: daemon.public_key.parse().map_err(|error| wrong(format!("{error}")))?,
                identity: identity.clone(),
                psk,
                name: SESSION.into(),
            })
        };
        self.daemons.iter().map(target).collect()
    }
}
