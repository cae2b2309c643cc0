//! The command line.

use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::time::Duration;

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::engine::ArgValueCompleter;
use mpt_api::{KEEPALIVE_US, MEASURE_MS, PathChange};
use mpt_config::Priority;
use mpt_core::session::PublicKey;
use mpt_text::quantity::parse as quantity;

use crate::advise::given::{Given, given};
use crate::command_line::completed_names;

/// Shows and steers mptd, the multipath tunnel daemon
#[derive(Debug, Parser)]
#[command(
    name = "mpt",
    version,
    disable_help_subcommand = true,
    after_help = "mpt help COMMAND explains a command, mpt --help all options and exit codes.",
    after_long_help = "Exit codes:\n  \
        0  done\n  \
        1  refused: a connection or path does not exist, a configuration or key file is bad, a permission is missing, or the daemon is too busy\n  \
        2  the command line is wrong\n  \
        3  the daemon cannot be reached, or has ended\n  \
        4  the daemon speaks another version of the control API\n  \
        5  mpt status: degraded, some paths or connections carry nothing\n  \
        6  mpt status: down, no connection carries anything"
)]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) daemon: Daemon,

    #[command(subcommand)]
    pub(crate) operation: Operation,
}

/// The daemon that a command talks to.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Daemon {
    /// Control socket of the daemon
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        env = "MPT_SOCKET",
        value_name = "PATH",
        default_value = mpt_api::DEFAULT_SOCKET
    )]
    pub(crate) socket: PathBuf,
    /// Address of a daemon on another host, which has our public key in a `[[controller]]`; needs --key and --peer
    #[arg(long, global = true, hide_short_help = true, value_name = "ADDRESS[:PORT]")]
    pub(crate) remote: Option<String>,
    /// File with our private key, for --remote
    #[arg(long, global = true, hide_short_help = true, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// Public key of the daemon, for --remote
    #[arg(long, global = true, hide_short_help = true, value_name = "KEY")]
    pub(crate) peer: Option<PublicKey>,
    /// File with the pre-shared key, for --remote, if the `[[controller]]` has one
    #[arg(long, global = true, hide_short_help = true, value_name = "FILE")]
    pub(crate) psk: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Operation {
    /// Make this host a server, or undo the work of setup and join
    Setup {
        #[command(subcommand)]
        operation: crate::provisioning::setup::args::Setup,
    },
    /// Join a server with the line that it has printed
    ///
    /// Finds the uplinks, registers the key of this host at the server, writes the configuration, starts mptd and checks every uplink. Nothing that
    /// exists is overwritten; mpt setup undo removes everything again.
    Join(crate::provisioning::setup::args::Join),
    /// Show the state of the tunnel and its problems on one screen
    ///
    /// The exit code is the state: 0 up, 5 degraded, 6 down, 3 when the daemon does not answer. With --json and --watch there is one line per second.
    Status(Status),
    /// Show the tunnel live, and switch paths on and off by keys
    Top(Top),
    /// Serve a live page of the tunnel, and metrics for Prometheus
    ///
    /// The dashboard is a process of its own that needs no privileges but the right to open the control socket.
    ///
    /// The page is at /, and OpenMetrics are at /metrics. The output of mpt status --json is at /health, with the HTTP status 200 while the
    /// tunnel carries packets and 503 otherwise.
    Dashboard(Dashboard),
    /// Show connections, paths, rates and counters
    Show(Show),
    /// Change, add and remove paths
    ///
    /// A change lasts until the daemon restarts or a reload changes the same setting; mpt connection save makes it permanent.
    Path {
        #[command(subcommand)]
        operation: PathOperation,
    },
    /// Take all paths on an interface up or down
    Interface {
        #[command(subcommand)]
        operation: InterfaceOperation,
    },
    /// Create, remove and save connections
    Connection {
        #[command(subcommand)]
        operation: ConnectionOperation,
    },
    /// List and disconnect the clients of this server
    Client {
        #[command(subcommand)]
        operation: ClientOperation,
    },
    /// Change how often paths are probed while packets flow
    Keepalive {
        /// Name of the connection
        #[arg(add = ArgValueCompleter::new(completed_names::connections))]
        connection: String,
        /// Only this path
        #[arg(long, value_name = "PATH", add = ArgValueCompleter::new(completed_names::paths))]
        path: Option<String>,
        /// Probe interval, from 10ms to 60s, such as 50ms; 0 switches probes off, so that only the carrier and the administrator decide
        #[arg(value_name = "TIME", value_parser = keepalive)]
        keepalive: Duration,
    },
    /// Measure the speed of each path, and propose weights
    Measure {
        /// Name of the connection
        #[arg(add = ArgValueCompleter::new(completed_names::connections))]
        connection: String,
        /// Set the proposed weights
        #[arg(long)]
        set: bool,
        /// Length of the test of one path in one direction, from 100ms to 10s
        #[arg(long, value_name = "TIME", default_value = "1s", value_parser = measurement)]
        duration: Duration,
    },
    /// Propose weights, window and delay for paths of given rates
    Advise(Advise),
    /// Read the configuration again and apply the difference
    ///
    /// A bad file changes nothing.
    Reload,
    /// Show events as they happen, or run a program for each
    Monitor(Monitor),
    /// Generate a private key
    Genkey(Generate),
    /// Print the public key of a private key
    Pubkey {
        /// File with the private key; standard input by default
        file: Option<PathBuf>,
    },
    /// Generate a pre-shared key
    ///
    /// Both peers use it besides their key pairs.
    Genpsk(Generate),
    /// Make a configuration from the files of the papers' prototype
    Import {
        /// Directory of the prototype, or its conf
        directory: PathBuf,
        /// File to write the configuration to instead of standard output, with the keys beside it; it must not exist
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Find problems that keep the tunnel from working, and remedies
    Doctor {
        /// Configuration file
        #[arg(long, value_name = "FILE", default_value = mpt_config::DEFAULT_FILE)]
        config: PathBuf,
    },
    /// Explain a command
    Help {
        /// The command, such as path set; all commands are listed without one
        #[arg(value_name = "COMMAND")]
        command: Vec<String>,
    },
    /// Write manual pages and shell completions, for packages
    #[command(hide = true)]
    Manual {
        /// Directory to write them to
        directory: PathBuf,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// Only this connection
    #[arg(add = ArgValueCompleter::new(completed_names::connections))]
    pub(crate) connection: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Status {
    /// Repeat every second until interrupted
    #[arg(long)]
    pub(crate) watch: bool,
    /// Only this connection
    #[arg(add = ArgValueCompleter::new(completed_names::connections))]
    pub(crate) connection: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Top {
    /// Connection to show first
    #[arg(add = ArgValueCompleter::new(completed_names::connections))]
    pub(crate) connection: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Dashboard {
    /// Address and port to listen on; an address other than a loopback one needs --token-file
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:4780")]
    pub(crate) listen: SocketAddr,
    /// File whose first line is a token, without which nothing is shown
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Monitor {
    /// Program to run for each event instead of printing it, one event at a time, with the event as JSON on standard input
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) exec: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Advise {
    /// Connection of a running daemon; measures the speed of its paths, which fills them for a second each way, and
    /// takes delays from its session
    #[arg(
        required_unless_present = "paths",
        conflicts_with = "paths",
        add = ArgValueCompleter::new(completed_names::connections)
    )]
    pub(crate) connection: Option<String>,
    /// Path as rate=100Mbit,delay=50ms,jitter=5ms (delay one way, jitter its standard deviation), without a daemon;
    /// repeat for each path
    #[arg(long = "path", id = "paths", value_name = "KEY=VALUE,...", value_parser = given)]
    pub(crate) paths: Vec<Given>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Generate {
    /// File to write to instead of standard output; it must not exist, and only its owner can read it
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PathOperation {
    /// Let a path carry packets
    Up(Target),
    /// Take a path out of service, without losing a packet
    Down(Target),
    /// Change weights, tier, priority or rate bounds of a path
    Set {
        #[command(flatten)]
        target: Target,
        /// weight=N or weight_in=N (1 to 65535), tier=N (0 to 255), priority=primary|backup|never, max_rate=RATE or min_rate=RATE (such as
        /// "20 Mbit/s", or none; with adaptive mapping only)
        #[arg(required = true, value_name = "KEY=VALUE", value_parser = setting)]
        settings: Vec<Setting>,
    },
    /// Add a path to a connection
    Add {
        #[command(flatten)]
        target: Target,
        /// The keys of a [[connection.path]], such as interface=eth1 remote=198.51.100.1 weight=2
        #[arg(required = true, value_name = "KEY=VALUE", value_parser = toml_line)]
        keys: Vec<String>,
    },
    /// Remove a path from its connection
    #[command(visible_alias = "delete")]
    Del(Target),
}

#[derive(Debug, Subcommand)]
pub(crate) enum InterfaceOperation {
    /// Let the paths on an interface carry packets
    Up {
        /// Name of the interface
        #[arg(add = ArgValueCompleter::new(completed_names::interfaces))]
        interface: String,
    },
    /// Take the paths on an interface out of service, without losing a packet
    Down {
        /// Name of the interface
        #[arg(add = ArgValueCompleter::new(completed_names::interfaces))]
        interface: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConnectionOperation {
    /// Create a connection
    ///
    /// It lasts until the daemon restarts, unless it is saved.
    Create {
        /// File with one `[[connection]]` as in the configuration file; - for standard input
        file: PathBuf,
    },
    /// Remove a connection with its paths
    ///
    /// The removal lasts until the daemon restarts, unless it is saved. A client whose connection is removed may ask for it again.
    Delete {
        /// Name of the connection
        #[arg(add = ArgValueCompleter::new(completed_names::connections))]
        connection: String,
    },
    /// Write a connection, as it is now, into the configuration file
    ///
    /// A connection that was removed is taken out of the file.
    Save {
        /// Name of the connection
        #[arg(add = ArgValueCompleter::new(completed_names::connections))]
        connection: String,
    },
    /// Show one connection, or all
    Show(Show),
}

#[derive(Debug, Subcommand)]
pub(crate) enum ClientOperation {
    /// List the clients, each with its present connections
    List,
    /// End the sessions of a client and remove its connections
    ///
    /// The client may come back: mpt tries again 5 s later. To keep it out, remove its table from the configuration file and run
    /// mpt reload, which ends its sessions in the same way.
    Disconnect {
        /// Name of the client, as mpt client list shows it
        #[arg(add = ArgValueCompleter::new(completed_names::clients))]
        client: String,
    },
}

/// A path.
#[derive(Debug, clap::Args)]
pub(crate) struct Target {
    /// Name of the connection
    #[arg(add = ArgValueCompleter::new(completed_names::connections))]
    pub(crate) connection: String,
    /// Name of the path
    #[arg(add = ArgValueCompleter::new(completed_names::paths))]
    pub(crate) path: String,
}

/// One KEY=VALUE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    Weight(NonZeroU16),
    WeightIn(NonZeroU16),
    Tier(u8),
    /// A bound in bit/s; 0 takes it away.
    MaxRate(u64),
    MinRate(u64),
    Priority(Priority),
}

/// Returns the command line. Options that name a daemon are explained once, by `mpt --help`, and not again with each command.
pub(crate) fn command() -> clap::Command {
    let mut command = Args::command();
    let of_daemon = ["socket", "remote", "key", "peer", "psk"];
    let options = command.get_arguments().filter(|it| of_daemon.iter().any(|id| it.get_id() == id));
    let hidden: Vec<clap::Arg> = options.map(|it| it.clone().hide(true)).collect();
    command.get_subcommands_mut().for_each(|part| hide_in(part, &hidden));
    command
}

/// Gives a command these options, so that it does not take those of the same names from the program.
fn hide_in(command: &mut clap::Command, hidden: &[clap::Arg]) {
    *command = std::mem::take(command).args(hidden);
    command.get_subcommands_mut().for_each(|part| hide_in(part, hidden));
}

/// Returns all settings as one change; the last of a kind counts, as with options of most programs.
pub(crate) fn change(settings: &[Setting]) -> PathChange {
    let mut change = PathChange::default();
    for setting in settings {
        match *setting {
            Setting::Weight(weight) => change.weight = Some(weight),
            Setting::WeightIn(weight) => change.weight_in = Some(weight),
            Setting::Tier(tier) => change.tier = Some(tier),
            Setting::MaxRate(rate) => change.max_rate = Some(rate),
            Setting::MinRate(rate) => change.min_rate = Some(rate),
            Setting::Priority(priority) => {
                change.tier = Some(priority.tier());
                change.up = Some(priority != Priority::Never);
            }
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
        "max_rate" => bound(value).map(Setting::MaxRate),
        "min_rate" => bound(value).map(Setting::MinRate),
        "tier" => value
            .parse()
            .map(Setting::Tier)
            .map_err(|_| format!("{value} is not a tier; write an integer from 0 to 255")),
        "priority" => match value {
            "primary" => Ok(Setting::Priority(Priority::Primary)),
            "backup" => Ok(Setting::Priority(Priority::Backup)),
            "never" => Ok(Setting::Priority(Priority::Never)),
            _ => Err(format!("{value} is not a priority; write primary, backup or never")),
        },
        _ => Err(format!(
            "unknown key {key}; write weight, weight_in, tier, priority, max_rate or min_rate"
        )),
    }
}

/// A bound of a rate in bit/s; 0 for none.
fn bound(value: &str) -> Result<u64, String> {
    let rate = if value == "none" { Some(0) } else { quantity::rate(value).filter(|&it| it > 0) };
    rate.ok_or_else(|| format!("{value} is not a rate; write one such as \"20 Mbit/s\", or none"))
}

/// KEY=VALUE as a line of a configuration file: what looks like a number or a boolean is one, unless the key is one of
/// words.
fn toml_line(text: &str) -> Result<String, String> {
    const WORDS: [&str; 7] =
        ["name", "local", "interface", "remote", "rate", "max_rate", "min_rate"];
    let (key, value) =
        text.split_once('=').ok_or("write KEY=VALUE, such as remote=198.51.100.1")?;
    let is_key = !key.is_empty() && key.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    if !is_key {
        return Err(format!("{} is not a key", key.escape_debug()));
    }
    let is_plain = matches!(value, "true" | "false") || value.parse::<i64>().is_ok();
    if is_plain && !WORDS.contains(&key) {
        Ok(format!("{key} = {value}\n"))
    } else {
        Ok(format!("{key} = {}\n", quoted(value)))
    }
}

/// A string as it stands in a configuration file: what JSON escapes, TOML does likewise.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

fn keepalive(text: &str) -> Result<Duration, String> {
    let time = time(text)?;
    let valid = u64::try_from(time.as_micros()).is_ok_and(|us| KEEPALIVE_US.contains(&us));
    if time.is_zero() || valid {
        Ok(time)
    } else {
        Err("write a time from 10ms to 60s, or 0".into())
    }
}

fn measurement(text: &str) -> Result<Duration, String> {
    let time = time(text)?;
    let valid = u32::try_from(time.as_millis()).is_ok_and(|ms| MEASURE_MS.contains(&ms));
    if valid { Ok(time) } else { Err("write a time from 100ms to 10s".into()) }
}

fn time(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .map_err(|error| format!("not a time: {error}; write such as 50ms"))
}

#[cfg(test)]
mod tests;
