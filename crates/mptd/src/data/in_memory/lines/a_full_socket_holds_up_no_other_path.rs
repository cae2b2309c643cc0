//! A socket that takes nothing holds up its own path alone; what it takes again goes on.

use std::time::Duration;

use crate::data::in_memory::system::network::{Network, line};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn whose_flows_arrive_completely() {
    let mut network = Network::new(1, &[line(5), line(5)], "mapping = \"flow\"");
    network.establish();
    // A flow of each line, found by trying.
    let flows = [0, 1].map(|wanted| {
        (1000..)
            .find(|&port| {
                let sent = |network: &Network| {
                    let paths = network.hosts[0].data.node.tunnels().paths();
                    paths.map(|(_, path)| path.sent().packets).collect::<Vec<_>>()
                };
                let before = sent(&network);
                network.send(0, port, 1, Duration::from_millis(1));
                sent(&network)[wanted] > before[wanted]
            })
            .expect("one of them")
    });
    network.run(SECOND);
    network.hosts[1].received.clear();
    network.hosts[0].socket(0, 0).borrow_mut().room = 0;
    for _ in 0..2000 {
        network.send(0, flows[0], 1, Duration::ZERO);
        network.send(0, flows[1], 1, Duration::from_micros(20));
    }
    network.run(Duration::from_millis(100));
    let of = |network: &Network, port| {
        network.hosts[1].received.iter().filter(|it| it.port == port).count()
    };
    assert_eq!(of(&network, flows[1]), 2000, "those of the other path");
    assert_eq!(of(&network, flows[0]), 0, "its own");
    // Within the time that a datagram may wait, the socket takes some again.
    network.send(0, flows[0], 10, Duration::ZERO);
    network.hosts[0].socket(0, 0).borrow_mut().room = usize::MAX;
    network.run(SECOND);
    assert!((10..1000).contains(&of(&network, flows[0])), "{}", of(&network, flows[0]));
}
