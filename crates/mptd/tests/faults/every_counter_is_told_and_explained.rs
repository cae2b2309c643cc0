//! A program that reads a snapshot finds every counter there is, also those that have not counted anything yet, and
//! docs/operations.md explains each.

use std::collections::BTreeSet;

use crate::hosts::Pair;

#[test]
fn counters_are_there_before_they_count_and_the_manual_has_them() {
    let pair = Pair::with_lines(1);
    let [a, _b] = pair.start(&pair.configs());
    let snapshot = a.show();
    let [device] = &snapshot.devices[..] else { panic!("one device: {snapshot:?}") };
    let [connection] = &snapshot.connections[..] else { panic!("one connection: {snapshot:?}") };
    let [path] = &connection.paths[..] else { panic!("one path: {snapshot:?}") };
    let mut names = BTreeSet::new();
    let manual = include_str!("../../../../docs/operations.md");
    let all = [
        ("daemon", &snapshot.daemon.drops, "unknown_sender"),
        ("control protocol", &snapshot.daemon.control, "replayed"),
        ("device", &device.drops, "write_failed"),
        ("connection", &connection.drops, "no_path"),
        ("remarks", &connection.remarks, "path_down"),
        ("path", &path.drops, "send_failed"),
    ];
    for (what, counters, never_yet) in all {
        assert_eq!(counters.get(never_yet), Some(&0), "{what}: {never_yet} of {counters:?}");
        names.extend(counters.keys());
    }
    let prototype = include_str!("../../../../docs/compat.md");
    let explained = |name: &&&String| match name.strip_prefix("mptsrv_") {
        Some(name) => prototype.contains(&format!("| `{name}` |")),
        None => manual.contains(&format!("`{name}`")),
    };
    let unexplained: Vec<_> = names.iter().filter(|name| !explained(name)).collect();
    assert!(unexplained.is_empty(), "docs/operations.md does not explain {unexplained:?}");
}
