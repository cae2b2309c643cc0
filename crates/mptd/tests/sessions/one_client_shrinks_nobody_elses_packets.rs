//! A client's statements on the MTU of its paths concern its own connection alone.

use std::time::Duration;

use crate::concentrator::{admit, assigned, client, created, server};
use crate::hosts::traffic::tcp_both_ways;
use crate::hosts::{Daemon, Host, Identity, Pair, wait_for};

/// The largest inner packet over an Ethernet path over IPv4, sealed.
const FULL: usize = 1500 - 20 - 8 - 28;

fn device_mtu(host: &Host) -> String {
    let text = host.ip("-o link show dev mpt0");
    let mut words = text.split_whitespace().skip_while(|word| *word != "mtu");
    words.nth(1).unwrap().to_owned()
}

#[test]
fn the_others_keep_full_size_and_throughput() {
    let pair = Pair::with_lines(1);
    let narrow = Host::new("narrow");
    narrow.cable("line1", &["10.71.9.1/24"], (&pair.b, "line9", &["10.71.9.2/24"]));
    let identities = [Identity::new(), Identity::new(), Identity::new()];
    let mut config = server(&identities[1], &["10.71.1.2", "10.71.9.2"]);
    admit(&mut config, "anna", &identities[0]);
    admit(&mut config, "mallory", &identities[2]);
    let b = Daemon::start(&pair.b, &config);
    b.wait_until_answering();
    // Before any client: as for clients on Ethernet.
    let full = FULL.to_string();
    wait_for("the device is there", || (!b.show().devices.is_empty()).then_some(()));
    wait_for("the device has its MTU", || (device_mtu(&pair.b) == full).then_some(()));

    let mut config = client(&identities[0], &identities[1]);
    config.lay_path("office", 1, 1);
    let a = Daemon::start(&pair.a, &config);
    let mut config = client(&identities[2], &identities[1]);
    let path = config.path("office", "line9").set("local", "10.71.9.1");
    path.set("remote", "10.71.9.2").set("mtu", 640);
    let m = Daemon::start(&narrow, &config);
    created(&b, "anna.office");
    let small = created(&b, "mallory.office");
    assert_eq!(usize::from(small.mtu), 640 - 56, "its own packets are small");
    let [anna, mallory] = [&a, &m].map(assigned);
    // Whatever sets the MTU of the device anew.
    b.request(mpt_api::Command::Reload).unwrap();

    assert_eq!(device_mtu(&pair.b), full);
    assert_eq!(usize::from(b.connection("anna.office").mtu), FULL);
    // Each datagram of the largest size travels in one packet.
    let to = pair.a.udp(&format!("{anna}:5000"));
    let from = pair.b.udp("10.72.0.2:0");
    let sent = |daemon: &Daemon| daemon.packets_sent("anna.office").iter().sum::<u64>();
    let before = sent(&b);
    for _ in 0..100 {
        from.send_to(&[7; FULL - 28], to.local_addr().unwrap()).unwrap();
        assert_eq!(to.recv_from(&mut [0; 2000]).unwrap().0, FULL - 28);
    }
    assert_eq!(sent(&b) - before, 100, "packets for 100 datagrams");
    tcp_both_ways(&pair.a, &pair.b, "10.72.0.2:5001", 5_000_000);
    // The narrow client gets what fits, in fragments that the kernel makes: the route to it has its MTU.
    let to = narrow.udp(&format!("{mallory}:5000"));
    to.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    wait_for("it arrives in pieces", || {
        from.send_to(&[7; FULL - 28], to.local_addr().unwrap()).unwrap();
        to.recv_from(&mut [0; 2000]).ok()
    });
    assert_eq!(b.drops("mallory.office", "too_big"), 0);
    assert_eq!(b.drops("anna.office", "too_big"), 0);
    assert_eq!(device_mtu(&pair.b), full);
}
