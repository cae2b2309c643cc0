//! The errors of the daemon.

use mpt_config::ConfigErrors;
use mpt_linux::netlink;
use mpt_linux::tun::TunError;
use thiserror::Error;

use crate::control::BindError;
use crate::data::{ChangeError, Ended};

/// The reason why the daemon could not start, or could not apply a change.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("{0}")]
    Config(#[from] ConfigErrors),
    #[error("{0}")]
    Control(#[from] BindError),
    #[error("{0}")]
    Tun(#[from] TunError),
    #[error("{0}")]
    Change(#[from] ChangeError),
    #[error("{0}")]
    Netlink(#[from] netlink::Error),
    #[error("{0}")]
    Ended(#[from] Ended),
    #[error("device {0} was removed by another program")]
    DeviceGone(String),
    #[error("{0}")]
    Io(#[from] std::io::Error),
}
