//! The distribution of jitter, compared with the configured one.

use std::f64::consts::SQRT_2;
use std::time::Duration;

use anyhow::Result;
use mpt_link::{Distribution, Jitter, Params, Redraw};

use crate::emulator::accuracy::rig::Rig;
use crate::emulator::accuracy::statistics::kolmogorov_smirnov;
use crate::emulator::accuracy::{Laboratory, Row, probe};

/// Mean delay: long enough that no delay is cut off at 0, in all probability.
const DELAY: Duration = Duration::from_millis(40);
/// Half the width of the uniform, and standard deviation of the normal distribution.
const WIDTH: Duration = Duration::from_millis(8);

pub(crate) fn rows(lab: &Laboratory<'_>) -> Result<(Vec<Row>, u64)> {
    let width = WIDTH.as_secs_f64();
    let uniform = move |offset: f64| ((offset + width) / (2.0 * width)).clamp(0.0, 1.0);
    let normal = move |offset: f64| libm::erfc(-offset / width / SQRT_2) / 2.0;
    let uniform = measure(lab, "uniform", Distribution::Uniform { half_width: WIDTH }, uniform)?;
    let normal = measure(lab, "normal", Distribution::Normal { deviation: WIDTH }, normal)?;
    Ok((vec![uniform.0, normal.0], uniform.1 + normal.1))
}

fn measure(
    lab: &Laboratory<'_>,
    name: &str,
    distribution: Distribution,
    cumulative: impl Fn(f64) -> f64,
) -> Result<(Row, u64)> {
    let jitter = Some(Jitter { distribution, redraw: Redraw::EveryPacket });
    let params = Params { delay: DELAY, jitter, ..Params::default() };
    let rig = Rig::new(lab, &[[params; 2]], false)?;
    let count = lab.time(5, 3).as_millis() / probe::SPACING.as_millis();
    let delays = probe::delays(lab, &rig, 0, count as usize)?;
    let offsets: Vec<f64> = delays.iter().map(|delay| delay - DELAY.as_secs_f64()).collect();
    let p = kolmogorov_smirnov(&offsets, cumulative);
    let row = Row::new(
        format!("jitter, {name}, {} ms: Kolmogorov-Smirnov", WIDTH.as_millis()),
        "p > 0.001",
        format!("p = {p:.3} of {count}"),
        p > 0.001,
    );
    Ok((row, rig.counters()?.hidden_loss()))
}
