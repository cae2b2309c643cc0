//! `mpt help` fits a screen, and options that name a daemon are explained once and not on the page of each command.

mod fake;

use fake::mpt;

/// Rows of a usual terminal are 24; the list of commands may need some more.
const ROWS: usize = 40;
const COLUMNS: usize = 80;

fn printed(arguments: &[&str]) -> String {
    let output = mpt().args(arguments).env_remove("MPT_SOCKET").output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_list_of_commands_fits_a_screen() {
    for arguments in [&["help"][..], &["-h"]] {
        let help = printed(arguments);
        assert!(help.lines().count() <= ROWS, "{help}");
        for line in help.lines() {
            assert!(line.chars().count() <= COLUMNS, "{line}");
        }
        assert!(!help.contains("--remote"), "{help}");
    }
}

#[test]
fn the_page_of_no_command_repeats_the_options_that_name_a_daemon() {
    let all = printed(&["--help"]);
    let options = ["--socket", "--remote", "--key", "--peer", "--psk"];
    for option in options {
        assert!(all.contains(option), "{option} is in mpt --help: {all}");
    }
    let list = printed(&["help"]);
    let list = list.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let commands: Vec<_> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(commands.len() > 15, "{commands:?}");
    for command in commands {
        let page = printed(&["help", command]);
        for option in options {
            assert!(!page.contains(option), "{option} is in mpt help {command}: {page}");
        }
    }
}
