//! A reload loses no packet, changes no order, and keeps sockets, whatever of the connection it changes.

use std::time::Duration;

use crate::data::in_memory::system::network::{Network, line};

const MILLISECOND: Duration = Duration::from_millis(1);

#[test]
fn whatever_it_changes() {
    let mut network = Network::new(7, &[line(5), line(20), line(50)], "");
    network.establish();
    for round in 0..30_u16 {
        network.send(0, 1000, 50, MILLISECOND);
        for side in 0..2 {
            let connection = &mut network.hosts[side].config.connections[0];
            match round % 3 {
                0 => {}
                1 => connection.paths[usize::from(round % 2)].weight = 1 + round,
                _ => {
                    connection.reorder.max_delay =
                        Some(Duration::from_millis(200 + u64::from(round)));
                }
            }
            network.hosts[side].reload();
        }
    }
    network.run(Duration::from_secs(1));
    let expected: Vec<u64> = (0..network.hosts[0].sent()).collect();
    assert_eq!(network.hosts[1].numbers(), expected);
}

/// The first line goes, and comes back. Gives the numbers of what came, and how many were sent.
fn take_a_path_away(mapping: &str) -> (Vec<u64>, u64) {
    let mut network = Network::new(8, &[line(5), line(20)], &format!("mapping = \"{mapping}\""));
    network.establish();
    network.send(0, 1000, 200, MILLISECOND);
    let path = network.hosts[0].config.connections[0].paths.remove(0);
    network.hosts[0].reload();
    network.send(0, 1000, 200, MILLISECOND);
    assert_eq!(network.hosts[0].system.sockets().len(), 1, "the other one is closed");
    network.hosts[0].config.connections[0].paths.insert(0, path);
    network.hosts[0].reload();
    network.send(0, 1000, 2000, MILLISECOND);
    network.run(Duration::from_secs(1));
    assert!(network.hosts[0].is_up(), "both are in use");
    (network.hosts[1].numbers(), network.hosts[0].sent())
}

#[test]
fn which_takes_a_path_away() {
    let (numbers, sent) = take_a_path_away("packet");
    assert_eq!(numbers, (0..sent).collect::<Vec<_>>());
}

/// Packets that wait for nothing take the shorter line again as soon as it is there, and overtake those on the longer one.
#[test]
fn which_takes_a_path_away_that_was_chosen_by_what_it_carries() {
    let (mut numbers, sent) = take_a_path_away("adaptive");
    numbers.sort_unstable();
    assert_eq!(numbers, (0..sent).collect::<Vec<_>>());
}
