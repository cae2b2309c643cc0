use std::time::{Duration, Instant};

use mpt_link::Params;
use mpt_linux::netlink::Netlink;
use serde_json::json;

use crate::harness::{Emulator, Hosts, introduce, receive};

/// Returns whether both ends have a carrier, as soon as they agree with `expected`, and at the latest after two seconds: the kernel tells of changes
/// once a second at most.
fn carriers(hosts: &Hosts, expected: bool) -> [bool; 2] {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let start = Instant::now();
        loop {
            let mut carriers = [false; 2];
            for (carrier, namespace) in carriers.iter_mut().zip(&hosts.namespaces) {
                let netlink = Netlink::connect_in(namespace).unwrap();
                *carrier = netlink.link("link0").await.unwrap().running;
            }
            if carriers == [expected; 2] || start.elapsed() > Duration::from_secs(2) {
                return carriers;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
}

#[test]
fn and_plugged_in_again() {
    let hosts = Hosts::new();
    let params = Params { delay: Duration::from_millis(300), ..Params::default() };
    let cables = [hosts.cable(0, &[0], &[])];
    let mut emulator = Emulator::start(&hosts, &[params], &cables, false);
    introduce(&hosts, 0);
    assert_eq!(carriers(&hosts, true), [true, true]);
    let (from, to) = (hosts.socket(0, 0), hosts.socket(0, 1));
    from.connect(to.local_addr().unwrap()).unwrap();
    from.send(b"on its way").unwrap();
    // It has been read by the emulator when that answers to what was said to it later.
    while emulator.packets(0)[0] < 2 {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(emulator.ask(&json!({"Carrier": [0, false]})), json!("Done"));
    assert_eq!(carriers(&hosts, false), [false, false]);
    assert_eq!(receive(&to).len(), 0);
    let cut = emulator.report()["cables"][0][1]["cut"].as_u64().unwrap();
    assert!(cut >= 1, "{cut}");
    assert_eq!(emulator.ask(&json!({"Carrier": [0, true]})), json!("Done"));
    assert_eq!(carriers(&hosts, true), [true, true]);
    introduce(&hosts, 0);
    let answer = emulator.ask(&json!({"Carrier": [1, true]}));
    assert_eq!(answer, json!({"Failed": "there is no cable 1"}));
}
