//! A peer whose name cannot be resolved: the log, `mpt status` and `mpt doctor` name it, once each, with the remedy.

use std::process::{Command, Stdio};

use mpt_api::DownReason;

use crate::hosts::{Daemon, Pair, wait_for};
use crate::support::{authenticate, wait_until_down};

#[test]
fn with_the_remedy_in_the_log_the_status_and_by_the_doctor() {
    let pair = Pair::with_lines(2);
    let mut configs = pair.configs();
    let _identities = authenticate(&mut configs);
    configs[0].path("tunnel", "line1").set("remote", "mispelt.invalid:4754");
    let names = tempfile::NamedTempFile::new().unwrap();
    let a = Daemon::start_with_names(&pair.a, &configs[0], names.path());
    a.wait_until_answering();
    wait_until_down(&a, "line1", Some(DownReason::Unresolved));
    wait_for("it is in the log", || {
        (!a.lines(&["WARN", "mispelt.invalid"]).is_empty()).then_some(())
    });
    let said = a.lines(&["WARN", "mispelt.invalid"]);
    assert_eq!(said.len(), 1, "said once: {said:?}");
    for part in ["the name of the peer cannot be resolved", "check the spelling in remote"] {
        assert!(said[0].contains(part), "{said:?}");
    }

    let program = std::path::Path::new(env!("CARGO_BIN_EXE_mptd")).with_file_name("mpt");
    let run = |arguments: &[&str]| {
        let mut mpt: Command = pair.a.namespace.command(&program).unwrap();
        mpt.arg("--socket").arg(a.socket()).args(arguments).stdin(Stdio::null());
        String::from_utf8(mpt.output().unwrap().stdout).unwrap()
    };
    let status = run(&["status"]);
    assert!(status.contains("the name mispelt.invalid cannot be resolved"), "{status}");
    let found = run(&["doctor", "--config", a.config_file().to_str().unwrap()]);
    for part in ["line1: the name mispelt.invalid cannot be resolved: ", "-> check the spelling"] {
        assert!(found.contains(part), "{part} is not in {found}");
    }
}
