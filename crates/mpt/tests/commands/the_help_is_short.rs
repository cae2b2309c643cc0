//! `mpt help` fits a screen, and options that name a daemon are explained once and not on the page of each command.

use crate::fake::mpt;

/// Rows of a usual terminal are 24; the list of commands may need some more.
const ROWS: usize = 40;
const COLUMNS: usize = 80;

fn printed(arguments: &[&str]) -> String {
    let output = mpt().args(arguments).env_remove("MPT_SOCKET").output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The lines of the list of commands on a page, of which there may be none.
fn list(page: &str) -> Vec<&str> {
    let list = page.split("Commands:\n").nth(1).and_then(|rest| rest.split("\n\n").next());
    list.map_or_else(Vec::new, |list| list.lines().collect())
}

/// The names of all commands.
fn commands() -> Vec<String> {
    let page = printed(&["help"]);
    let names = list(&page).into_iter().filter_map(|line| line.split_whitespace().next());
    let commands: Vec<_> = names.map(str::to_owned).collect();
    assert!(commands.len() > 15, "{commands:?}");
    commands
}

/// Lists of commands fit a terminal, also those of commands that have commands of their own.
#[test]
fn no_list_of_commands_is_wider_than_a_terminal() {
    let pages: Vec<_> = commands().iter().map(|command| printed(&["help", command])).collect();
    let lists: Vec<_> = pages.iter().map(|page| list(page)).filter(|it| !it.is_empty()).collect();
    assert!(lists.len() >= 5, "{lists:?}");
    for line in lists.into_iter().flatten() {
        assert!(line.chars().count() <= COLUMNS, "{line}");
    }
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
    for command in commands() {
        let page = printed(&["help", &command]);
        for option in options {
            assert!(!page.contains(option), "{option} is in mpt help {command}: {page}");
        }
    }
}
