use mpt_core::Mapping;
use mpt_link::Probability;
use mpt_sim::tunnel::{Case, Path, Profile};
use std::time::Duration;

fn p(rate: u16, delay: u64, jitter: u64, loss: f64) -> Path {
    let mut path = Path::new(rate, Duration::from_millis(delay));
    path.jitter = Duration::from_millis(jitter);
    path.loss = Probability::new(loss / 100.0).unwrap();
    path.weight = 1;
    path
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let only = args.get(1).cloned().unwrap_or_default();
    let mapping = args.get(2).cloned().unwrap_or("adaptive".into());
    let seeds: u64 = args.get(3).and_then(|s| s.parse().ok()).unwrap_or(1);
    let trace = args.get(4).is_some();
    let cells: Vec<(&str, Vec<Path>, f64)> = vec![
        ("baseline", vec![p(50, 20, 0, 0.), p(50, 20, 0, 0.)], 89.),
        ("rtt_70", vec![p(50, 20, 0, 0.), p(50, 70, 0, 0.)], 89.),
        ("rtt_120", vec![p(50, 20, 0, 0.), p(50, 120, 0, 0.)], 87.),
        ("rtt_320", vec![p(50, 20, 0, 0.), p(50, 320, 0, 0.)], 58.),
        ("jit_5", vec![p(50, 20, 5, 0.), p(50, 20, 5, 0.)], 89.),
        ("jit_20", vec![p(50, 20, 20, 0.), p(50, 20, 20, 0.)], 75.),
        ("loss_05", vec![p(50, 20, 0, 0.5), p(50, 20, 0, 0.5)], 5.1),
        ("loss_2", vec![p(50, 20, 0, 2.), p(50, 20, 0, 2.)], 1.95),
        ("bw_4to1", vec![p(50, 20, 0, 0.), p(12, 20, 0, 0.)], 55.),
        ("bw_10to1", vec![p(100, 20, 0, 0.), p(10, 20, 0, 0.)], 98.),
        ("fiber_lte", vec![p(300, 8, 0, 0.), p(30, 40, 8, 0.5)], 275.),
        ("lte_starlink", vec![p(40, 35, 8, 0.), p(100, 50, 25, 1.)], 25.),
        ("congested", vec![p(20, 50, 20, 2.), p(15, 60, 25, 2.)], 0.68),
        ("lte_alone", vec![p(40, 35, 8, 0.)], 25.),
        ("fibre_alone", vec![p(300, 8, 0, 0.)], 275.),
        ("one50", vec![p(50, 20, 0, 0.)], 46.),
        ("equal12", (0..12).map(|_| p(20, 20, 0, 0.)).collect(), 12. * 20. * 0.932 * 0.95),
        ("three", vec![p(100, 5, 0, 0.), p(50, 20, 0, 0.), p(10, 60, 0, 0.)], 160. * 0.932 * 0.95),
        ("gig", vec![p(1000, 5, 0, 0.), p(1000, 5, 0, 0.)], 2000. * 0.932 * 0.96),
        ("gig_100", vec![p(1000, 1, 0, 0.), p(100, 1, 0, 0.)], 1100. * 0.932 * 0.96),
    ];
    for (name, paths, must) in cells {
        if !only.is_empty() && only != "all" && !only.split(',').any(|o| o == name) {
            continue;
        }
        if only.is_empty() && name.starts_with("gig") {
            continue;
        }
        let mut sum = 0.0;
        let mut line = String::new();
        for seed in 1..=seeds {
            let mut case = Case::new(Profile::Ours, paths.clone(), seed);
            case.duration = Duration::from_secs(12);
            case.mapping = match mapping.as_str() {
                "packet" => Mapping::Packet,
                _ => Mapping::Adaptive,
            };
            let mut at3 = 0;
            let mut at10 = 0;
            let mut last = (0.0, 0u64);
            let out = case.run_with(|t, bytes| {
                let s = t.as_duration().as_secs_f64();
                if s < 3.0 {
                    at3 = bytes;
                }
                if s < 10.0 {
                    at10 = bytes;
                }
                if trace && s - last.0 >= 0.5 {
                    eprintln!(
                        "GOODPUT t={s:.1} {:.1}",
                        (bytes - last.1) as f64 * 8e-6 / (s - last.0)
                    );
                    last = (s, bytes);
                }
            });
            let rate = (at10 - at3) as f64 * 8.0 / 7e6;
            sum += rate;
            line = format!(
                "retr {} needless {} rec {} undone {} to {} late {} lost {} exp {} qdrop {} wait50 {} wait99 {}",
                out.retransmissions,
                out.needless,
                out.recoveries,
                out.undone,
                out.timeouts,
                out.late,
                out.lost,
                out.expired,
                out.queue_drops,
                out.wait_p50_ms,
                out.wait_p99_ms
            );
        }
        let mean = sum / seeds as f64;
        println!(
            "{name:13} {mean:7.1} must {must:6.1} {} {line}",
            if mean >= must { "ok  " } else { "MISS" }
        );
    }
}
