//! The demonstration: two hosts, two paths, one tunnel, and its throughput compared with that of
//! the paths alone.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use mpt_text::table::Table;

use crate::console::interrupt::Interrupt;
use crate::console::progress::Progress;
use crate::measurements::live;
use crate::processes::daemon::{self, Settings, Tunnel};
use crate::topology::{End, PathSpec, Topology};
use crate::traffic::iperf::{self, Load, Server, Transfer};

/// The share of the paths' sum that the tunnel has to carry.
const REQUIRED: f64 = 0.95;
/// The rounds in all, where the first one carries less than [`REQUIRED`]. Their median counts, since a machine whose host stands
/// still for a fifth of a second takes 4 % from the transfer that it hits.
const ROUNDS: usize = 3;
/// Time to make namespaces and start daemons, for the progress bar.
const PREPARATION: Duration = Duration::from_secs(1);
/// Suggestions for the next steps.
const LIVE: &str = "\
See it live: make demo LAB=--live keeps such a tunnel, with traffic, and says how to look at it with mpt top and in a browser.
Make one of your own: sudo mpt setup server, and mpt join on another host (README.md).";

/// Options of `mpt-lab demo`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Seconds that each of the three transfers takes
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// Rate of each path, in Mbit/s
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,
    /// Measure nothing, and keep a tunnel with traffic to look at until Ctrl-C
    #[arg(long)]
    live: bool,
    /// The daemon to run [default: mptd beside this program]
    #[arg(long, value_name = "FILE")]
    mptd: Option<PathBuf>,
}

/// One transfer over each path alone, and one through the tunnel.
#[derive(Debug)]
struct Round {
    alone: Vec<Transfer>,
    together: Transfer,
    /// The packets that the tunnel has sent over each path since it began.
    shares: Vec<u64>,
}

/// Runs the demonstration, prints its table and how to go on, and fails below 95 % efficiency.
/// `laboratory`: the path of this executable.
pub(crate) fn run(options: &Options, laboratory: &Path, interrupt: &Interrupt) -> Result<()> {
    let program = daemon::program(options.mptd.clone(), laboratory)?;
    if options.live {
        return live::run(options.rate, &program, interrupt);
    }
    let each = Duration::from_secs(options.seconds);
    let mut progress = Progress::new(PREPARATION + 3 * each);
    progress.step("two hosts, two paths, two daemons", PREPARATION);

    // A short name: the path of a UNIX socket has at most 107 bytes.
    let scratch = tempfile::Builder::new().prefix("mpt-lab-").tempdir()?;
    let path = PathSpec { shaped: Some(options.rate), segmentation_offload: true };
    let topology = Topology::new(&[path; 2])?;
    let tunnel =
        Tunnel::start(&program, &topology, Settings::default(), scratch.path(), interrupt)?;
    let _server = Server::start(topology.host(End::B), interrupt)?;

    let mut rounds = vec![Round::measure(&topology, &tunnel, each, &mut progress, interrupt)?];
    progress.finish();
    if rounds[0].efficiency() < REQUIRED {
        eprintln!("{}", again(&rounds[0]));
        progress = Progress::new(3 * each * (ROUNDS - 1) as u32);
        while rounds.len() < ROUNDS {
            rounds.push(Round::measure(&topology, &tunnel, each, &mut progress, interrupt)?);
        }
        progress.finish();
    }
    tunnel.stop().context("the transfers went well, but the end did not")?;

    let round = median(rounds);
    println!("{}", round.table());
    if round.efficiency() < REQUIRED {
        bail!(
            "the tunnel carries {:.1} % of what its paths carry alone, less than {:.0} %",
            round.efficiency() * 100.0,
            REQUIRED * 100.0
        );
    }
    println!("{LIVE}");
    Ok(())
}

/// Returns the round whose efficiency is the median. `rounds` are not empty.
fn median(mut rounds: Vec<Round>) -> Round {
    rounds.sort_by(|a, b| a.efficiency().total_cmp(&b.efficiency()));
    rounds.swap_remove(rounds.len() / 2)
}

/// Returns why there are further rounds.
fn again(first: &Round) -> String {
    format!(
        "The tunnel has carried {:.1} % of what its paths carry alone, and TCP has sent {} segments again. All is measured \
         {} times more, and the median counts.",
        first.efficiency() * 100.0,
        first.together.retransmits,
        ROUNDS - 1
    )
}

impl Round {
    fn measure(
        topology: &Topology,
        tunnel: &Tunnel,
        each: Duration,
        progress: &mut Progress,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let transfer = |to| {
            let load = Load::Tcp { flows: 1 };
            iperf::transfer(topology.host(End::A), to, load, each, interrupt)
        };
        let mut alone = Vec::new();
        for path in topology.paths() {
            progress.step(&format!("TCP over {} alone", path.name), each);
            alone.push(transfer(path.address(End::B))?);
        }
        progress.step("TCP through the tunnel, over both paths", each);
        let together = transfer(Tunnel::address(End::B))?;
        Ok(Self { alone, together, shares: tunnel.daemon(End::A).packets_sent()? })
    }

    /// Returns what the tunnel has carried, as a share of what the paths have carried alone.
    fn efficiency(&self) -> f64 {
        self.together.bit_rate() / self.alone.iter().map(Transfer::bit_rate).sum::<f64>()
    }

    fn table(&self) -> Table {
        let rate = |transfer: &Transfer| format!("{:.1} Mbit/s", transfer.bit_rate() / 1e6);
        let all: u64 = self.shares.iter().sum();
        let mut table = Table::ruled(["one TCP flow (cubic)", "goodput", "tunnel packets"]);
        for (number, (transfer, &share)) in self.alone.iter().zip(&self.shares).enumerate() {
            let percent = 100.0 * share as f64 / all.max(1) as f64;
            let name = format!("path {} alone", number + 1);
            table.row([name, rate(transfer), format!("{percent:.1} %")]);
        }
        table.row(["tunnel over both".into(), rate(&self.together), "100 %".into()]);
        table.row([
            "efficiency, tunnel / (path 1 + path 2)".into(),
            format!("{:.1} %", self.efficiency() * 100.0),
        ]);
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transfer(mbit: f64) -> Transfer {
        let bytes = mbit * 1e6 / 8.0;
        Transfer { bytes, seconds: 1.0, retransmits: 0, packets: 0, lost: 0 }
    }

    /// A round over paths of these rates, in Mbit/s.
    fn round(alone: [f64; 2], together: f64) -> Round {
        let alone = alone.map(transfer).into();
        Round { alone, together: transfer(together), shares: vec![501, 499] }
    }

    #[test]
    fn the_table_shows_paths_tunnel_and_efficiency() {
        let table = round([95.6, 95.4], 186.2).table();
        insta::assert_snapshot!(table.to_string(), @"
        one TCP flow (cubic)                         goodput  tunnel packets
        --------------------------------------------------------------------
        path 1 alone                             95.6 Mbit/s          50.1 %
        path 2 alone                             95.4 Mbit/s          49.9 %
        tunnel over both                        186.2 Mbit/s           100 %
        efficiency, tunnel / (path 1 + path 2)        97.5 %
        ");
    }

    #[test]
    fn of_several_rounds_the_median_counts() {
        let rounds = |rates: &[f64]| rates.iter().map(|&rate| round([100.0; 2], rate)).collect();
        let median = |rates: &[f64]| median(rounds(rates)).together.bit_rate().round() / 1e6;
        assert_eq!(median(&[190.0]), 190.0);
        assert_eq!(median(&[179.0, 195.0, 194.0]), 194.0);
        assert_eq!(median(&[179.0, 195.0, 178.0]), 179.0);
    }

    #[test]
    fn further_rounds_have_a_reason() {
        insta::assert_snapshot!(again(&round([95.6, 95.5], 179.1)), @"The tunnel has carried 93.7 % of what its paths carry alone, and TCP has sent 0 segments again. All is measured 2 times more, and the median counts.");
    }
}
