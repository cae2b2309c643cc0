//! TCP and UDP over one link without a tunnel.

use crate::support::{Link, measure, plain, spec, tcp, udp};

#[test]
fn to_tcp() {
    let measured = measure(&spec(&[Link::new(20)], plain(), tcp(4)));
    // 1448 of 1514 bytes are payload: 95.6 %.
    let share = measured.metric("goodput_mbit") / 20.0;
    assert!((0.9..1.0).contains(&share), "{share}");
    let series = measured.series("goodput");
    assert!((38..=42).contains(&series.len()), "{} intervals in 4 s", series.len());
    let mean = series.iter().sum::<f64>() / series.len() as f64 / 20.0;
    assert!((0.88..1.0).contains(&mean), "{mean}");
    assert_eq!(measured.deviations(), [""; 0], "cubic ran");
    // With a queue of 100 ms.
    assert!(measured.series("rtt").iter().any(|&rtt| rtt > 20.0));
    assert_eq!(measured.metric("transient_s"), 0.0);
    assert!(
        measured.metric("cpu_machine_percent") > 0.0
            && measured.metric("cpu_emulator_percent") > 0.0
    );
    assert!(measured.counter("links/0 path1 forward/offered") > 4 * 1500);
}

#[test]
fn to_udp() {
    let measured = measure(&spec(&[Link::new(20)], plain(), udp(5, 3)));
    let goodput = measured.metric("goodput_mbit");
    assert!((4.75..5.25).contains(&goodput), "{goodput}");
    assert_eq!(measured.metric("loss_percent"), 0.0);
    assert_eq!(measured.metric("reordered_percent"), 0.0);

    let measured = measure(&spec(&[Link::new(5)], plain(), udp(10, 3)));
    // 1000 of 1042 bytes are payload; what is too much, the queue drops.
    let share = measured.metric("goodput_mbit") / (5.0 * 1000.0 / 1042.0);
    assert!((0.9..1.05).contains(&share), "{share}");
    assert!(measured.counter("links/0 path1 forward/queue_full") > 1000);
}

#[test]
fn to_tcp_where_the_kernel_makes_it() {
    let mut spec = spec(&[Link::new(20)], plain(), tcp(3));
    spec["backend"] = serde_json::json!("kernel");
    let measured = measure(&spec);
    let share = measured.metric("goodput_mbit") / 20.0;
    assert!((0.9..1.0).contains(&share), "{share}");
    assert!(measured.0["environment"]["emulator"].as_str().unwrap().starts_with("kernel"));
}
