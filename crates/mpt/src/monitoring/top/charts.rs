//! The last minutes of a path, as numbers for charts.

use crate::monitoring::status::{Tunnel, Uplink};
use crate::monitoring::watched::history::{Drawn, Measure};

/// A row of bars, one a second, the last one at the right.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Chart {
    /// Its title.
    pub(crate) label: String,
    /// One value for each column; `None` where nothing was measured.
    pub(crate) values: Vec<Option<u64>>,
    /// The value of a full bar.
    pub(crate) most: u64,
}

/// Returns the charts of the rates of a path, out and in. All paths of the connection have the same scale.
pub(crate) fn rates(
    tunnel: &Tunnel,
    path: &Uplink,
    drawn: &Drawn,
    columns: usize,
    now: u64,
) -> [Chart; 2] {
    [("out", Measure::Sent), ("in", Measure::Received)].map(|(label, measure)| {
        let all = tunnel.paths.iter().flat_map(|it| drawn.series(&it.name, measure, columns, now));
        let most = all.flatten().fold(0.0, f32::max) as u64;
        let values = whole(drawn.series(&path.name, measure, columns, now), 1.0);
        Chart { label: label.into(), values, most }
    })
}

/// Returns the charts of everything else that is known of a path, with the latest figures. A figure that was never measured has no chart.
pub(crate) fn details(
    tunnel: &Tunnel,
    path: &Uplink,
    drawn: &Drawn,
    columns: usize,
    now: u64,
) -> Vec<Chart> {
    // Milliseconds and percents are shown in thousandths.
    let measured = [("RTT", Measure::Rtt), ("queue", Measure::Queue), ("loss", Measure::Loss)];
    let charts = measured.map(|(label, measure)| {
        let values = whole(drawn.series(&path.name, measure, columns, now), 1e3);
        let most = values.iter().flatten().copied().max().unwrap_or(0);
        Chart { label: label.into(), values, most }
    });
    let mut charts: Vec<_> =
        charts.into_iter().filter(|it| it.values.iter().any(Option::is_some)).collect();
    let values = shares(tunnel, path, drawn, columns, now);
    charts.push(Chart { label: "share".into(), values, most: 100 });
    charts
}

/// Returns the part of what the connection sent that a path has sent, in percent.
fn shares(
    tunnel: &Tunnel,
    path: &Uplink,
    drawn: &Drawn,
    columns: usize,
    now: u64,
) -> Vec<Option<u64>> {
    let mut sums = vec![0.0; columns];
    for path in &tunnel.paths {
        let series = drawn.series(&path.name, Measure::Sent, columns, now);
        for (sum, value) in sums.iter_mut().zip(series) {
            *sum += value.unwrap_or(0.0);
        }
    }
    let own = drawn.series(&path.name, Measure::Sent, columns, now);
    let share = |(own, sum): (Option<f32>, f32)| {
        own.filter(|_| sum > 0.0).map(|own| (own / sum * 100.0).round() as u64)
    };
    own.into_iter().zip(sums).map(share).collect()
}

fn whole(series: Vec<Option<f32>>, scale: f32) -> Vec<Option<u64>> {
    // A value above zero is drawn as one at least, so that it can be seen.
    let whole = |value: f32| if value > 0.0 { ((value * scale) as u64).max(1) } else { 0 };
    series.into_iter().map(|value| value.map(whole)).collect()
}
