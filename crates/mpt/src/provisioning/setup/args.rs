//! The command line of `mpt setup` and `mpt join`.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Subcommand, ValueEnum};
use ipnet::IpNet;
use mpt_api::TOKEN_S;

/// The directories that setup and join use.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Place {
    /// Directory of the configuration and the key
    #[arg(long, env = "MPT_DIRECTORY", value_name = "DIR", default_value = "/etc/mpt")]
    pub(crate) directory: PathBuf,
    /// Directory for the record that mpt setup undo needs
    #[arg(long, env = "MPT_STATE", value_name = "DIR", default_value = "/var/lib/mpt-setup")]
    pub(crate) state: PathBuf,
}

/// The way of starting the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Start {
    /// By systemd where it runs and the configuration is in /etc/mpt, otherwise in the background
    Auto,
    /// By systemd, now and at every boot
    Systemd,
    /// In the background, until the next boot
    Background,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Setup {
    /// Make this host a server, and print the line for the first client
    ///
    /// Makes a key, the configuration with an address pool, forwarding, address translation and the service. Nothing that exists is overwritten; mpt
    /// setup undo removes everything again.
    Server(Server),
    /// Join the networks behind two routers
    ///
    /// Run it on the first router with --here and --there, and on the second one with the line that the first prints.
    Site(Site),
    /// Print a line with which another host can join this server
    Token(Token),
    /// Remove everything that mpt setup or mpt join has made on this host
    Undo(Undo),
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Server {
    #[command(flatten)]
    pub(crate) place: Place,
    /// Address or name by which clients reach this host; by default the address of the interface with the default route
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) address: Option<String>,
    /// Address of this host to listen on, repeated for each; by default that of the interface with the default route
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Vec<IpAddr>,
    /// UDP port to listen on
    #[arg(long, value_name = "PORT", default_value_t = mpt_config::DEFAULT_PORT)]
    pub(crate) port: u16,
    /// Network of the addresses inside the tunnel; by default one of 10.77.0.0/24 to 10.99.0.0/24 that this host does not use
    #[arg(long, value_name = "NETWORK")]
    pub(crate) pool: Option<IpNet>,
    /// Network that clients reach through this host, repeated for each; by default everything (0.0.0.0/0)
    #[arg(long = "network", value_name = "NETWORK")]
    pub(crate) networks: Vec<IpNet>,
    #[command(flatten)]
    pub(crate) client: Client,
    /// Way of starting the daemon
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) start: Start,
    /// Show the steps without doing them
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Site {
    /// On the second router: the line that the first one has printed
    pub(crate) line: Option<String>,
    #[command(flatten)]
    pub(crate) place: Place,
    /// Network behind this router, repeated for each
    #[arg(long, value_name = "NETWORK")]
    pub(crate) here: Vec<IpNet>,
    /// Network behind the other router, repeated for each
    #[arg(long, value_name = "NETWORK")]
    pub(crate) there: Vec<IpNet>,
    /// Name of the other site
    #[arg(long, value_name = "NAME", default_value = "site")]
    pub(crate) name: String,
    /// Address or name by which the other router reaches this one; by default the address of the interface with the default route
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) address: Option<String>,
    /// Address of this router to listen on, repeated for each; by default that of the interface with the default route
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Vec<IpAddr>,
    /// UDP port to listen on
    #[arg(long, value_name = "PORT", default_value_t = mpt_config::DEFAULT_PORT)]
    pub(crate) port: u16,
    /// Network of the addresses of both routers inside the tunnel; by default one of 10.77.0.0/24 to 10.99.0.0/24 that this router does not use
    #[arg(long, value_name = "NETWORK")]
    pub(crate) pool: Option<IpNet>,
    /// Lifetime of the line, from 1min to 1day
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = lifetime)]
    pub(crate) lifetime: Duration,
    /// Way of starting the daemon
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) start: Start,
    /// Show the steps without doing them
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// The client that a line is for.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Client {
    /// Name of the client; by default the name of the host that joins
    #[arg(long, value_name = "NAME")]
    pub(crate) client: Option<String>,
    /// Lifetime of the line, from 1min to 1day
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = lifetime)]
    pub(crate) lifetime: Duration,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Token {
    #[command(flatten)]
    pub(crate) place: Place,
    #[command(flatten)]
    pub(crate) client: Client,
    /// List the valid lines and those that were used recently
    #[arg(long, conflicts_with = "revoke")]
    pub(crate) list: bool,
    /// Revoke the line with this token
    #[arg(long, value_name = "TOKEN")]
    pub(crate) revoke: Option<String>,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Undo {
    #[command(flatten)]
    pub(crate) place: Place,
    /// Show what would be removed without removing it
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Treatment of traffic for the tunnel while no uplink works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Fallback {
    /// Traffic leaves by the uplinks, outside of the tunnel
    Direct,
    /// Traffic is dropped
    Block,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Join {
    /// The line that mpt setup server or mpt setup token has printed
    pub(crate) line: String,
    #[command(flatten)]
    pub(crate) place: Place,
    /// Interface to use, repeated for each; by default every interface with a default route
    #[arg(long = "uplink", value_name = "INTERFACE")]
    pub(crate) uplinks: Vec<String>,
    /// Network to reach through the tunnel, repeated for each; by default those that the server offers
    #[arg(long = "network", value_name = "NETWORK")]
    pub(crate) networks: Vec<IpNet>,
    /// Treatment of traffic for the tunnel while no uplink works; asked for at a terminal, otherwise direct
    #[arg(long, value_enum)]
    pub(crate) fallback: Option<Fallback>,
    /// Name server to ask through the tunnel, repeated for each; asked for at a terminal, otherwise none
    #[arg(long, value_name = "ADDRESS", conflicts_with = "no_dns")]
    pub(crate) dns: Vec<IpAddr>,
    /// Resolve names as before, without a question
    #[arg(long)]
    pub(crate) no_dns: bool,
    /// Way of starting the daemon
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) start: Start,
    /// Show the steps without doing them
    #[arg(long)]
    pub(crate) dry_run: bool,
}

fn lifetime(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text)
        .map_err(|error| format!("not a time: {error}; write such as 1h"))?;
    let valid = u32::try_from(time.as_secs()).is_ok_and(|seconds| TOKEN_S.contains(&seconds));
    if valid { Ok(time) } else { Err("write a time from 1min to 1day".into()) }
}
