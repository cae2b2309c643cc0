//! A central controller: the papers' "central software entity" that steers many tunnels (almasi2017, section 4.1), as small
//! as it can be.
//!
//! It has a steering session with each of several daemons, looks at their paths every second, and takes those out of service
//! whose round-trip time or loss exceeds a limit, as long as another path of the connection is up. When they are good again,
//! or after a pause, it takes them back. Paths that somebody else took down it leaves alone. It is an example: take it as the
//! beginning of your own.
#![forbid(unsafe_code)]

mod config;
mod rules;
mod site;

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

pub use config::{Config, Daemon};
use mpt_client::Error;
pub use rules::{Action, Rules};
use site::Site;

/// Watches until `stop` is set, then takes back what is out. `say` is told what is done.
///
/// # Errors
///
/// [`Error::Unusable`] when keys or addresses are of no use. A daemon that does not answer is asked again and again.
pub fn run(config: &Config, stop: &AtomicBool, say: &(dyn Fn(&str) + Sync)) -> Result<(), Error> {
    let targets = config.targets()?;
    // Changes are made one after the other: the two ends of a connection must not lose one path each at the same moment.
    let turn = Mutex::new(());
    // One thread for each, so that one that does not answer keeps nobody waiting.
    std::thread::scope(|scope| {
        for (daemon, target) in config.daemons.iter().zip(targets) {
            let mut site = Site::new(&daemon.name, target, &config.rules, &turn, say);
            scope.spawn(move || site.watch(stop));
        }
    });
    Ok(())
}
