//! Coupled increases: per segment acknowledged, in segments. Round-trip times not known yet count as equal.

use super::View;

/// Substitute for a round-trip time before the first sample, in seconds.
const UNKNOWN_RTT: f64 = 1.0;

pub(super) fn total(flows: &[View]) -> f64 {
    flows.iter().map(|flow| flow.window).sum()
}

fn rtt(flow: &View) -> f64 {
    if flow.rtt > 0.0 { flow.rtt } else { UNKNOWN_RTT }
}

fn rate(flow: &View) -> f64 {
    flow.window / rtt(flow)
}

fn total_rate(flows: &[View]) -> f64 {
    flows.iter().map(rate).sum()
}

/// Returns the increase of LIA (RFC 6356, section 3): min(alpha / total, 1 / window).
pub(super) fn lia(own: usize, flows: &[View]) -> f64 {
    let best = flows.iter().map(|flow| rate(flow) / rtt(flow)).fold(0.0, f64::max);
    let sum = total_rate(flows);
    // alpha = total x best / sum^2
    (best / (sum * sum)).min(1.0 / flows[own].window)
}

/// Returns the increase of OLIA (Khalili et al. 2012, section 3): (w/rtt^2) / (sum w/rtt)^2 + alpha / w.
pub(super) fn olia(own: usize, flows: &[View]) -> f64 {
    let sum = total_rate(flows);
    let flow = &flows[own];
    let quality = |flow: &View| flow.between_losses * flow.between_losses / rtt(flow);
    let best = flows.iter().map(quality).fold(0.0, f64::max);
    let largest = flows.iter().map(|flow| flow.window).fold(0.0, f64::max);
    let has_largest = |flow: &View| flow.window >= largest;
    // The best paths that have not got the largest window: they collect what the largest windows give up.
    let collects = |flow: &View| quality(flow) >= best && !has_largest(flow);
    let collecting = flows.iter().filter(|flow| collects(flow)).count();
    let alpha = if collecting == 0 {
        0.0
    } else if collects(flow) {
        1.0 / (flows.len() * collecting) as f64
    } else if has_largest(flow) {
        let largest = flows.iter().filter(|flow| has_largest(flow)).count();
        -1.0 / (flows.len() * largest) as f64
    } else {
        0.0
    };
    rate(flow) / rtt(flow) / (sum * sum) + alpha / flow.window
}

/// Returns how much faster the fastest subflow is: alpha of BALIA.
fn lag(own: usize, flows: &[View]) -> f64 {
    flows.iter().map(rate).fold(0.0, f64::max) / rate(&flows[own])
}

/// Returns the increase of BALIA (Peng et al. 2016): x/(rtt (sum x)^2) (1 + alpha)/2 (4 + alpha)/5.
pub(super) fn balia_increase(own: usize, flows: &[View]) -> f64 {
    let (sum, alpha) = (total_rate(flows), lag(own, flows));
    rate(&flows[own]) / (rtt(&flows[own]) * sum * sum)
        * ((1.0 + alpha) / 2.0)
        * ((4.0 + alpha) / 5.0)
}

/// Returns the share of the window that BALIA gives up: min(alpha, 1.5) / 2.
pub(super) fn balia_decrease(own: usize, flows: &[View]) -> f64 {
    lag(own, flows).min(1.5) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(window: f64, rtt: f64, between_losses: f64) -> View {
        View { window, rtt, between_losses }
    }

    #[test]
    fn a_single_subflow_grows_as_reno() {
        let flows = [flow(10.0, 0.1, 100.0)];
        for increase in [lia(0, &flows), olia(0, &flows), balia_increase(0, &flows)] {
            assert!((increase - 0.1).abs() < 1e-12);
        }
        assert_eq!(balia_decrease(0, &flows), 0.5);
    }

    #[test]
    fn lia_gives_equal_subflows_together_what_one_would_have_alone() {
        let flows = [flow(10.0, 0.1, 0.0), flow(10.0, 0.1, 0.0)];
        // 100 round-trip times with a window of 10 each: alpha / total = 0.5 / 20.
        assert!((lia(0, &flows) - 0.025).abs() < 1e-12);
    }

    #[test]
    fn olia_moves_windows_to_the_best_path() {
        let flows = [flow(4.0, 0.1, 400.0), flow(16.0, 0.1, 100.0)];
        let base = |window: f64| window * 100.0 / (200.0 * 200.0);
        assert!((olia(0, &flows) - (base(4.0) + 0.5 / 4.0)).abs() < 1e-12);
        assert!((olia(1, &flows) - (base(16.0) - 0.5 / 16.0)).abs() < 1e-12);
    }
}
