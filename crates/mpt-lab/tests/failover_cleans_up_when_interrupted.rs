//! Ctrl-C while a path is broken leaves no namespace, no process and no file.

mod common;

use nix::sys::signal::Signal;

#[test]
fn by_control_c_while_a_path_is_broken() {
    let command = common::failover(&["--static", "--only", "carrier"]);
    // Two daemons.
    common::interrupted::leaves_nothing(command, Signal::SIGINT, "carrier", 2);
}
