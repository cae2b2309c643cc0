//! The command line.

use std::num::NonZeroU16;
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use mpt_api::PathChange;

/// Shows and steers mptd, the multipath tunnel daemon.
#[derive(Debug, Parser)]
#[command(
    name = "mpt",
    version,
    after_help = "Exit codes:\n  \
        0  done\n  \
        1  the daemon refused: no such connection or path, a bad configuration file, too busy\n  \
        2  the command line is wrong\n  \
        3  the daemon cannot be reached, or went away\n  \
        4  the daemon is not understood: it speaks another version of the control API"
)]
pub(crate) struct Args {
    /// Control socket of the daemon
    #[arg(long, global = true, env = "MPT_SOCKET", value_name = "PATH", default_value = mpt_api::DEFAULT_SOCKET)]
    pub(crate) socket: PathBuf,

    #[command(subcommand)]
    pub(crate) operation: Operation,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Operation {
    /// Show connections, paths, rates and counters
    Show {
        /// As JSON, with everything the daemon tells
        #[arg(long)]
        json: bool,
        /// Only this connection
        connection: Option<String>,
    },
    /// Change one path; takes effect with the next packet, lasts until the daemon restarts or a reload changes it
    Path {
        #[command(subcommand)]
        operation: PathOperation,
    },
    /// Read the configuration file again and apply the difference; a bad file changes nothing
    Reload,
    /// Show events as they happen
    Monitor {
        /// As JSON, one event per line
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum PathOperation {
    /// Let a path carry packets
    Up(Target),
    /// Take a path out of service, without losing a packet
    Down(Target),
    /// Change the weights or the tier of a path
    Set {
        #[command(flatten)]
        target: Target,
        /// weight=N or weight_in=N (1 to 65535), tier=N (0 to 255)
        #[arg(required = true, value_name = "KEY=VALUE", value_parser = setting)]
        settings: Vec<Setting>,
    },
}

/// A path.
#[derive(Debug, clap::Args)]
pub(crate) struct Target {
    /// Name of the connection
    pub(crate) connection: String,
    /// Name of the path
    pub(crate) path: String,
}

/// One KEY=VALUE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    Weight(NonZeroU16),
    WeightIn(NonZeroU16),
    Tier(u8),
}

/// All settings as one change; the last of a kind counts, as with options of most programs.
pub(crate) fn change(settings: &[Setting]) -> PathChange {
    let mut change = PathChange::default();
    for setting in settings {
        match *setting {
            Setting::Weight(weight) => change.weight = Some(weight),
            Setting::WeightIn(weight) => change.weight_in = Some(weight),
            Setting::Tier(tier) => change.tier = Some(tier),
        }
    }
    change
}

fn setting(text: &str) -> Result<Setting, String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE, such as weight=3")?;
    let weight = || {
        value
            .parse()
            .map_err(|_| format!("{value} is not a weight; write an integer from 1 to 65535"))
    };
    match key {
        "weight" => weight().map(Setting::Weight),
        "weight_in" => weight().map(Setting::WeightIn),
        "tier" => value
            .parse()
            .map(Setting::Tier)
            .map_err(|_| format!("{value} is not a tier; write an integer from 0 to 255")),
        _ => Err(format!("unknown key {key}; write weight, weight_in or tier")),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn settings_add_up() {
        let settings: Vec<_> =
            ["weight=3", "tier=1", "weight=4"].map(|text| setting(text).unwrap()).into();
        let expected =
            PathChange { weight: NonZeroU16::new(4), tier: Some(1), ..PathChange::default() };
        assert_eq!(change(&settings), expected);
        for bad in ["weight", "weight=", "weight=0", "weight=65536", "tier=256", "=1", "mtu=1500"] {
            assert!(setting(bad).is_err(), "{bad}");
        }
    }
}
