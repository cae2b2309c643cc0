//! Each change of a path's state is one event at each end, though the command, the session and the silence of the peer notice it.

use std::time::Duration;

use mpt_api::{EventKind, PathChange};

use crate::data::Notice;
use crate::data::in_memory::system::network::{Host, Network, line};

const NAMES: (&str, &str) = ("tunnel", "line2");

#[test]
fn at_both_ends() {
    let mut network = Network::new(8, &[line(5), line(20)], "");
    network.establish();
    // Until nothing of the beginning is left to be told.
    network.told();
    for (up, expected) in [
        (false, [["down (administrative)"].as_slice(), &["down (peer)"]]),
        // The peer probes it for a round trip in between, which no notice says.
        (true, [["probing (unproven)", "up"].as_slice(), &["up"]]),
    ] {
        let change = PathChange { up: Some(up), ..PathChange::default() };
        network.hosts[0].data.change_path(NAMES.0, NAMES.1, &change).unwrap();
        network.hosts[0].data.settle();
        // The daemon tells what a command has changed as soon as it is done.
        let by_command = network.hosts[0].data.take_path_event(NAMES.0, NAMES.1);
        let mut told = network.told();
        told[0].insert(0, state(by_command.expect("a change")));
        assert_eq!(told, expected, "up: {up}");
    }
}

impl Network {
    /// Lets time pass, and returns the states that monitors of each host are told of the path meanwhile.
    fn told(&mut self) -> [Vec<String>; 2] {
        let mut told = [Vec::new(), Vec::new()];
        // Longer than the peer may be silent on a path that works.
        for _ in 0..1000 {
            self.run(Duration::from_millis(5));
            for (host, told) in self.hosts.iter_mut().zip(&mut told) {
                told.extend(host.path_events().into_iter().map(state));
            }
        }
        told
    }
}

impl Host {
    /// Returns the events that the notices of its data path lead to.
    fn path_events(&mut self) -> Vec<EventKind> {
        let notices = self.data.take_notices(1000);
        let event = |notice| match notice {
            Notice::PathChanged { connection, path } if path == NAMES.1 => {
                self.data.take_path_event(&connection, &path)
            }
            _ => None,
        };
        notices.into_iter().filter_map(event).collect()
    }
}

/// Returns the state that an event tells, with the reason where the path is not up.
fn state(event: EventKind) -> String {
    let EventKind::PathChanged { state, down, .. } = event else { panic!("{event:?}") };
    down.map_or(state.to_string(), |reason| format!("{state} ({reason})"))
}
