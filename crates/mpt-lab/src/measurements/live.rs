//! A tunnel to look at: the hosts of the demonstration, with traffic between them until somebody interrupts it.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use crate::console::interrupt::Interrupt;
use crate::processes::daemon::{Data, Mapping, Session, Settings, Tunnel};
use crate::topology::{End, PathSpec, Topology};
use crate::traffic::iperf::{self, Load, Server};

/// The length of one transfer. They follow one another without end.
const TRANSFER: Duration = Duration::from_secs(3600);
/// The pause after a transfer that has failed, such as while no path is up.
const PAUSE: Duration = Duration::from_secs(2);

/// Keeps a sealed tunnel over a path of `rate` Mbit/s and one of half as many, and says how to look at it. Ends in order when it is interrupted.
pub(crate) fn run(rate: u32, program: &Path, interrupt: &Interrupt) -> Result<()> {
    let scratch = tempfile::Builder::new().prefix("mpt-lab-").tempdir()?;
    let path = |rate: u32| PathSpec { shaped: Some(rate.max(1)), segmentation_offload: true };
    let topology = Topology::new(&[path(rate), path(rate / 2)])?;
    let session = Session { data: Data::Aes256Gcm, mapping: Mapping::Usual };
    let settings = Settings { session: Some(session), ..Settings::default() };
    let tunnel = Tunnel::start(program, &topology, settings, scratch.path(), interrupt)?;
    let _server = Server::start(topology.host(End::B), interrupt)?;

    println!("{}", how_to_look(program, tunnel.daemon(End::A).socket()));
    std::io::stdout().flush()?;
    while interrupt.check().is_ok() {
        let load = Load::Tcp { flows: 1 };
        let (from, to) = (topology.host(End::A), Tunnel::address(End::B));
        if iperf::transfer(from, to, load, TRANSFER, interrupt).is_err() {
            // Also the interruption ends a transfer: then this returns at once.
            let _ = interrupt.sleep(PAUSE);
        }
    }
    tunnel.stop()
}

/// Returns what to type in another terminal.
fn how_to_look(program: &Path, socket: &Path) -> String {
    let mpt = program.with_file_name("mpt");
    let (mpt, socket, name) = (mpt.display(), socket.display(), Tunnel::NAME);
    format!(
        "Two hosts are joined by two paths, and one TCP flow runs through the tunnel. In another terminal:\n\n  \
         export MPT_SOCKET={socket}\n  \
         {mpt} status                      the state at one glance\n  \
         {mpt} top                         the same live\n  \
         {mpt} dashboard                   a page on http://127.0.0.1:4780/\n  \
         {mpt} path down {name} path1        takes a path out of service\n\n\
         Ctrl-C here ends it and removes everything."
    )
}
