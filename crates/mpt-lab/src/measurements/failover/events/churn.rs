//! Many paths that come and go at random.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::measurements::failover::event::{Event, NORMAL, WARM_UP, WINDOW};
use crate::measurements::failover::figure::Figure;
use crate::measurements::failover::network::LineSpec;
use crate::measurements::failover::observation::leftovers::Holdings;
use crate::measurements::failover::observation::metronome::Beat;
use crate::measurements::failover::rig::{Lab, Rig, RigSpec};
use crate::topology::End;
use crate::traffic::Moment;

/// Numbers of paths, by turns.
const LINES: [u8; 3] = [8, 16, 32];
/// Rate of all of them together, in Mbit/s.
const RATE: u32 = 160;
const CHURN: Duration = Duration::from_secs(6);
/// Time between two changes.
const CHANGE: Duration = Duration::from_millis(40);
const WATCHED: Duration = Duration::from_secs(5);

/// The event of 8 to 32 paths that come and go.
pub(super) static EVENT: Event = Event {
    name: "churn",
    what: "8, 16 and 32 paths churning",
    session: true,
    figures: &[
        // Up to half of the paths are down, and those that are back prove themselves.
        Figure::share("TCP meanwhile, of all paths", 0.0),
        Figure::time("full aggregate (90 %) again after", 5000.0, 5000.0),
        Figure::none("things left over"),
    ],
    run,
    takes: Duration::from_secs(18),
};

fn run(lab: &Lab<'_>, repetition: u32) -> Result<Vec<f64>> {
    let lines = LINES[repetition as usize % LINES.len()];
    let line = LineSpec { rate: RATE / u32::from(lines), ..LineSpec::USUAL };
    let mut rig = Rig::up(lab, RigSpec { lines, line, ..RigSpec::USUAL })?;
    let before = Holdings::of(&rig)?;
    let recording = rig.record(true, Beat::LIGHT)?;
    lab.interrupt.sleep(WARM_UP)?;

    let start = Moment::now();
    // The same churn in every run.
    let mut random = fastrand::Rng::with_seed(u64::from(repetition));
    let mut down = vec![None; usize::from(lines)];
    let begun = Instant::now();
    while begun.elapsed() < CHURN {
        let number = random.usize(..down.len());
        match down[number] {
            Some(kind) => {
                set(&rig, number, kind, true)?;
                down[number] = None;
            }
            None if down.iter().flatten().count() < down.len() / 2 => {
                let kind = random.usize(..3);
                set(&rig, number, kind, false)?;
                down[number] = Some(kind);
            }
            None => {}
        }
        lab.interrupt.sleep(CHANGE)?;
    }
    for (number, kind) in down.iter().enumerate() {
        if let Some(kind) = *kind {
            set(&rig, number, kind, true)?;
        }
    }
    let back = Moment::now();
    lab.interrupt.sleep(WATCHED)?;
    let record = recording.stop(Duration::ZERO).with_context(|| rig.logs())?;
    rig.wait_until_up()?;
    let left = before.left_over(&rig)?;
    rig.stop()?;
    let goodput = record.goodput.context("there was no TCP")?;
    let aggregate = goodput.rate(start.before(NORMAL), start);
    Ok(vec![
        goodput.rate(start, back) / aggregate,
        goodput.reached(aggregate * 0.9, back, WINDOW),
        left,
    ])
}

/// Breaks or repairs a line: the carrier at either end, or everything.
fn set(rig: &Rig<'_>, line: usize, kind: usize, works: bool) -> Result<()> {
    match kind {
        0 => rig.network.set_carrier(line, End::A, works)?,
        1 => rig.network.set_carrier(line, End::B, works)?,
        _ => rig.network.set_flow_both(line, works)?,
    };
    Ok(())
}
