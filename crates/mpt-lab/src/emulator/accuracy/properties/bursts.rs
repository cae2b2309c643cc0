//! The losses of TCP over a link, compared with those over a token bucket filter behind the first hop. The filter sends packet by packet; packets
//! that arrive in bursts are lost in bursts.

use std::time::Duration;

use anyhow::Result;
use mpt_link::{Bitrate, ByteCount, Params, QueueLimit};

use crate::emulator::Kernel;
use crate::emulator::accuracy::rig::{self, Rig, address};
use crate::emulator::accuracy::{Laboratory, Row};
use crate::topology::{End, Host};
use crate::traffic::iperf::{self, Load, Server, Transfer};

/// Rates, in Mbit/s.
const RATES: [u64; 2] = [10, 100];
/// Waiting time of a packet in a full queue.
const QUEUE: Duration = Duration::from_millis(50);
/// Largest ratio of the retransmissions to those through the filter, without [`CHANCE`].
const RATIO: u64 = 2;
/// Retransmissions that may be added to [`RATIO`]: how often cubic fills the queue in the time is a matter of chance.
const CHANCE: u64 = 10;
/// Number of flows through the filter, of which the median counts: now and then one leaves slow start before the queue is ever full, and loses
/// nothing.
const FLOWS: usize = 3;

pub(crate) fn rows(lab: &Laboratory<'_>) -> Result<(Vec<Row>, u64)> {
    let mut rows = Vec::new();
    let mut hidden_loss = 0;
    for megabits in RATES {
        let bytes = (megabits as f64 * 1e6 / 8.0 * QUEUE.as_secs_f64()) as u64;
        let params = Params {
            rate: Bitrate::from_megabits(megabits),
            queue: QueueLimit::Bytes(ByteCount(bytes)),
            ..Params::default()
        };
        let rig = Rig::new(lab, &[[params; 2]], false)?;
        let emulator = transfer(lab, rig.host(End::A), rig.host(End::B))?;
        hidden_loss += rig.counters()?.hidden_loss();
        drop(rig);

        let hosts = rig::hosts()?;
        let kernel = Kernel::start(&rig::plan(&hosts, &[[params; 2]], false))?;
        rig::number(&hosts, 1)?;
        let (a, b) = (hosts.host(End::A), hosts.host(End::B));
        let flows = (0..FLOWS).map(|_| transfer(lab, a, b));
        let mut flows = flows.collect::<Result<Vec<_>>>()?;
        flows.sort_by_key(|flow| flow.retransmits);
        let filter = flows.swap_remove(FLOWS / 2);
        drop(kernel);
        let most = filter.retransmits * RATIO + CHANCE;
        rows.push(Row::new(
            format!("retransmissions of a TCP flow, {megabits} Mbit/s, against tbf on the way"),
            format!("<= {most}: {RATIO} x {} + {CHANCE}", filter.retransmits),
            format!(
                "{}, at {:.1} against {:.1} Mbit/s",
                emulator.retransmits,
                emulator.bit_rate() / 1e6,
                filter.bit_rate() / 1e6
            ),
            emulator.retransmits <= most,
        ));
    }
    Ok((rows, hidden_loss))
}

fn transfer(lab: &Laboratory<'_>, a: &Host, b: &Host) -> Result<Transfer> {
    let _server = Server::start(b, lab.interrupt)?;
    let (to, load) = (address(0, End::B), Load::Tcp { flows: 1 });
    iperf::transfer(a, to, load, lab.time(10, 4), lab.interrupt)
}
