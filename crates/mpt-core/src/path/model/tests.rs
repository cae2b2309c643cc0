use super::*;

/// Size of a packet, in bytes.
const SIZE: u64 = 1_500;
/// What the link carries: 100 Mbit/s, in bytes per microsecond.
const LINK: f64 = 12.5;
/// One-way delay without a queue, in microseconds.
const DELAY: i64 = 20_000;
/// Time between two reports, in microseconds.
const INTERVAL: i64 = 20_000;
/// When the burst begins, in microseconds.
const BURST: i64 = 500_000;

/// A flow in slow start sends a burst faster than the link after a pause, in which one packet left each 10 ms. The
/// rate after the first cut is what the link carries, not the mean of the burst and the pause before it.
#[test]
fn the_first_cut_does_not_count_the_pause_before_a_burst() {
    let mut model = Model::new();
    model.set_rtt(2.0 * DELAY as f64);
    let (mut now, mut free) = (0_i64, 0.0_f64);
    let (mut sent, mut arrived) = (Vec::new(), 0);
    let mut next_report = INTERVAL;
    while now < BURST + 200_000 {
        // 120 Mbit/s in the burst.
        let begins = free.max(now as f64);
        free = begins + SIZE as f64 / LINK;
        sent.push((now, free as i64 + DELAY));
        now += if now < BURST { 10_000 } else { 100 };
        while next_report <= now {
            let before = arrived;
            while sent.get(arrived).is_some_and(|&(_, at)| at <= next_report) {
                let (left, at) = sent[arrived];
                model.record_delay(Sequence(arrived as u32), left, at - left);
                arrived += 1;
            }
            if arrived > before {
                let report = Report {
                    at: next_report,
                    bytes: arrived as u64 * SIZE,
                    sent_at: sent[arrived - 1].0,
                    sent_bytes: arrived as u64 * SIZE,
                    settled: None,
                };
                let present = Present {
                    now: next_report,
                    sent_bytes: sent.len() as u64 * SIZE,
                    sent_packets: sent.len() as u32,
                    backlogged: false,
                };
                if model.handle_report(&report, &present).is_some() {
                    let rate = model.rate();
                    assert!((0.9 * LINK..=LINK).contains(&rate), "{rate} bytes per microsecond");
                    return;
                }
            }
            next_report += INTERVAL;
        }
    }
    panic!("the queue of the burst was not noticed");
}
