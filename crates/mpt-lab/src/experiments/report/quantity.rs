//! Names of metrics, and the format of their figures.

pub(super) use mpt_report::number;

use crate::experiments::case::metric;

/// The name of a metric in reports, and its unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Quantity {
    pub(super) label: String,
    /// Its unit; empty for a count.
    pub(super) unit: &'static str,
}

impl Quantity {
    pub(super) fn of(name: &str) -> Self {
        let (label, unit) = match name {
            metric::GOODPUT => ("goodput", "Mbit/s"),
            metric::GOODPUT_3_TO_10 => ("goodput, mean of seconds 3 to 10", "Mbit/s"),
            metric::GOODPUT_COUNTED => ("goodput, mean of the seconds that count", "Mbit/s"),
            metric::RIVAL => ("what the rival carries", "Mbit/s"),
            metric::REACHED_DOWN => ("time to 90 % of the new rate, down", "s"),
            metric::REACHED_UP => ("time to 90 % of the new rate, up", "s"),
            metric::PING_IDLE => ("ping, unloaded, p50", "ms"),
            metric::PING_P50 => ("ping beside the traffic, p50", "ms"),
            metric::PING_P95 => ("ping beside the traffic, p95", "ms"),
            metric::PING_P50_ADDED => ("ping beside the traffic, above unloaded, p50", "ms"),
            metric::PING_P95_ADDED => ("ping beside the traffic, above unloaded, p95", "ms"),
            metric::PING_LOST => ("pings lost", "%"),
            metric::ECHO_IDLE => ("short messages over TCP, idle, p50", "ms"),
            metric::ECHO_P50 => ("short messages over TCP beside bulk, p50", "ms"),
            metric::ECHO_P95 => ("short messages over TCP beside bulk, p95", "ms"),
            metric::ECHO_P50_ADDED => ("short messages over TCP, above idle, p50", "ms"),
            metric::ECHO_P95_ADDED => ("short messages over TCP, above idle, p95", "ms"),
            metric::ECHO_LOST => ("short messages over TCP that never came back", "%"),
            metric::PAGE_IDLE => ("web page, idle", "s"),
            metric::PAGE => ("web page beside bulk", "s"),
            metric::PAGE_RATIO => ("web page, beside bulk against idle", "times"),
            metric::RETRANSMITTED => ("TCP segments sent again, of all", "%"),
            metric::LINKS => ("rate on the links", "Mbit/s"),
            metric::REPAIR_EXCESS => ("repairs beyond 1.3 times the loss", "% of what was sent"),
            metric::REPAIR_SPURIOUS => ("packets repaired in vain", "%"),
            metric::RETRANSMISSIONS => ("TCP retransmissions", ""),
            metric::TRANSIENT => ("length of the transient at the start", "s"),
            metric::RTT_MIN => ("round-trip time, smallest", "ms"),
            metric::RTT_AVG => ("round-trip time, average", "ms"),
            metric::RTT_MAX => ("round-trip time, largest", "ms"),
            metric::RTT_SD => ("round-trip time, standard deviation", "ms"),
            metric::TCP_RTT => ("round-trip time of TCP", "ms"),
            metric::JITTER => ("jitter", "ms"),
            metric::LOSS => ("packets lost", "%"),
            metric::REORDERED => ("packets out of order", "%"),
            metric::DELAY_P50 => ("one-way delay, half of the datagrams", "ms"),
            metric::DELAY_P99 => ("one-way delay, 99 % of the datagrams", "ms"),
            metric::DOWNLOAD_TIME => ("time of the download", "s"),
            metric::LONGEST_GAP => ("longest gap", "ms"),
            metric::CPU_PER_GB => ("CPU of both daemons", "s/GB"),
            metric::CPU_DAEMON_A => ("CPU of the sending daemon", "% of a core"),
            metric::CPU_DAEMON_B => ("CPU of the receiving daemon", "% of a core"),
            metric::CPU_EMULATOR => ("CPU of the emulator", "% of a core"),
            metric::CPU_MACHINE => ("CPU of the whole machine", "%"),
            other => return Self { label: other.replace('_', " "), unit: "" },
        };
        Self { label: label.to_owned(), unit }
    }

    /// Returns its name and unit for headings: `goodput, Mbit/s`.
    pub(super) fn heading(&self) -> String {
        if self.unit.is_empty() {
            self.label.clone()
        } else {
            format!("{}, {}", self.label, self.unit)
        }
    }

    /// Returns a figure as a text.
    pub(super) fn number(&self, value: f64) -> String {
        let is_count = self.unit.is_empty() && value.fract() == 0.0 && value.abs() < 1000.0;
        if is_count { format!("{value:.0}") } else { number(value) }
    }

    /// Returns a figure with its unit.
    pub(super) fn show(&self, value: f64) -> String {
        format!("{} {}", self.number(value), self.unit).trim_end().to_owned()
    }

    /// Returns a limit with its unit, without digits that its author did not write.
    pub(super) fn limit(&self, value: f64) -> String {
        format!("{} {}", published(value), self.unit).trim_end().to_owned()
    }
}

/// True if several paths add up in this metric, and scaled rates change it.
pub(super) fn adds_up(metric: &str) -> bool {
    matches!(metric, metric::GOODPUT | metric::GOODPUT_3_TO_10 | metric::GOODPUT_COUNTED)
}

/// Returns a published figure or a limit, with the digits that its author wrote.
pub(super) fn published(value: f64) -> String {
    if value.abs() >= 1000.0 { number(value) } else { value.to_string() }
}

/// Returns a ratio as a percentage.
pub(super) fn percent(ratio: f64) -> String {
    format!("{:.1} %", ratio * 100.0)
}

/// Returns a limit of a ratio, without digits that its author did not write.
pub(super) fn percent_limit(ratio: f64) -> String {
    let tenths = (ratio * 1000.0).round();
    if tenths % 10.0 == 0.0 { format!("{:.0} %", tenths / 10.0) } else { percent(ratio) }
}

/// Returns a difference, always with its sign.
pub(super) fn signed(value: f64) -> String {
    let sign = if value > 0.0 { "+" } else { "" };
    format!("{sign}{}", number(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_figures_have_the_digits_that_somebody_wrote() {
        assert_eq!([9.8, 103.5, 177_558.0].map(published), ["9.8", "103.5", "177,558"]);
        let retransmissions = Quantity::of(metric::RETRANSMISSIONS);
        assert_eq!([7.0, 1234.0].map(|it| retransmissions.show(it)), ["7", "1,234"]);
    }

    #[test]
    fn limits_have_no_digits_too_many() {
        assert_eq!([0.97, 0.955, 1.2].map(percent_limit), ["97 %", "95.5 %", "120 %"]);
        assert_eq!([0.2, -0.2, 0.0].map(signed), ["+0.200", "-0.200", "0"]);
    }

    #[test]
    fn a_metric_nobody_named_keeps_its_name() {
        let quantity = Quantity::of("mean_opinion");
        assert_eq!((quantity.heading().as_str(), quantity.unit), ("mean opinion", ""));
        assert_eq!(Quantity::of(metric::JITTER).show(0.104), "0.104 ms");
        assert_eq!(Quantity::of(metric::GOODPUT).limit(20.0), "20 Mbit/s");
        assert_eq!(Quantity::of(metric::RETRANSMISSIONS).show(12.0), "12");
    }
}
