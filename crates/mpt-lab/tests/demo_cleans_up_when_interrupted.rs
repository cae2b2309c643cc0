//! Ctrl-C and SIGTERM, in the middle of a transfer, leave no namespace, no process and no file.

mod common;

use nix::sys::signal::Signal;

#[test]
fn by_control_c_while_a_path_is_measured() {
    // Two daemons, iperf3 at either end.
    common::interrupted::leaves_nothing(common::demo(), Signal::SIGINT, "path1", 3);
}

#[test]
fn by_sigterm_while_the_tunnel_is_measured() {
    common::interrupted::leaves_nothing(common::demo(), Signal::SIGTERM, "through the tunnel", 3);
}
