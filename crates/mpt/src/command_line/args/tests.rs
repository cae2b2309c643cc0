//! The options stand where they are expected, and the help is short.

use super::*;

#[test]
fn the_command_line_is_consistent() {
    command().debug_assert();
}

fn parsed(words: &[&str]) -> Args {
    use clap::FromArgMatches;
    Args::from_arg_matches(&command().get_matches_from(words)).unwrap()
}

#[test]
fn options_of_all_commands_stand_anywhere() {
    let first = ["mpt", "--json", "--socket", "/x", "path", "up", "office", "lte"];
    let last = ["mpt", "path", "up", "office", "lte", "--json", "--socket", "/x"];
    for words in [first, last] {
        let args = parsed(&words);
        assert!(args.json && args.daemon.socket == std::path::Path::new("/x"), "{words:?}");
    }
    assert!(!parsed(&["mpt", "show"]).json);
}

#[test]
fn json_stands_with_every_command() {
    let mut root = command();
    root.build();
    let (mut all, mut count) = (vec![root], 0);
    while let Some(command) = all.pop() {
        let has = command.get_arguments().any(|it| it.get_long() == Some("json"));
        assert!(has || command.get_name() == "help", "{}", command.get_name());
        let parts = command.get_subcommands().filter(|_| command.get_name() != "help");
        all.extend(parts.cloned());
        count += 1;
    }
    assert!(count > 30, "{count} commands");
}

#[test]
fn a_line_to_join_with_is_good_for_an_hour() {
    use crate::provisioning::setup::args::Setup;
    for words in [
        &["mpt", "setup", "server", "--dry-run"][..],
        &["mpt", "setup", "token"],
        &["mpt", "setup", "site"],
    ] {
        let Operation::Setup { operation } = parsed(words).operation else { panic!("{words:?}") };
        let lifetime = match operation {
            Setup::Server(server) => server.client.lifetime,
            Setup::Token(token) => token.client.lifetime,
            Setup::Site(site) => site.lifetime,
            Setup::Undo(_) => panic!("{words:?}"),
        };
        assert_eq!(lifetime, Duration::from_secs(3600), "{words:?}");
    }
}

/// A page of help fits a screen of 80 columns, and does not repeat what all commands have.
#[test]
fn help_is_short() {
    let help = command().render_help().to_string();
    assert!(help.lines().count() <= 34, "{}\n{help}", help.lines().count());
    assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
    let mut all = vec![command()];
    while let Some(mut command) = all.pop() {
        let name = command.get_name().to_owned();
        command.build();
        let help = command.render_long_help().to_string();
        assert_eq!(help.contains("--remote"), name == "mpt", "{name}: {help}");
        all.extend(command.get_subcommands().cloned());
    }
}

#[test]
fn settings_add_up() {
    let settings: Vec<_> =
        ["weight=3", "tier=1", "weight=4"].map(|text| setting(text).unwrap()).into();
    let expected =
        PathChange { weight: NonZeroU16::new(4), tier: Some(1), ..PathChange::default() };
    assert_eq!(change(&settings), expected);
    let change = |text| change(&[setting(text).unwrap()]);
    let expected = PathChange { tier: Some(1), up: Some(true), ..PathChange::default() };
    assert_eq!(change("priority=backup"), expected);
    assert_eq!(change("priority=never").up, Some(false));
    assert_eq!(change("max_rate=20 Mbit/s").max_rate, Some(20_000_000));
    assert_eq!(change("min_rate=none").min_rate, Some(0));
    for bad in [
        "priority=best",
        "weight",
        "weight=",
        "weight=0",
        "weight=65536",
        "tier=256",
        "max_rate=0 Mbit/s",
        "max_rate=20",
        "min_rate=",
        "=1",
        "mtu=1500",
    ] {
        assert!(setting(bad).is_err(), "{bad}");
    }
}

#[test]
fn keys_of_a_path_become_lines_of_a_file() {
    for (text, line) in [
        ("weight=3", "weight = 3\n"),
        ("up=false", "up = false\n"),
        ("source_port=entropy", "source_port = \"entropy\"\n"),
        ("source_port=4754", "source_port = 4754\n"),
        ("interface=7", "interface = \"7\"\n"),
        ("max_rate=9 Mbit/s", "max_rate = \"9 Mbit/s\"\n"),
        ("rate=100 Mbit/s", "rate = \"100 Mbit/s\"\n"),
        ("remote=a=\"b\"\n\u{7f}", "remote = \"a=\\\"b\\\"\\n\\u007f\"\n"),
    ] {
        assert_eq!(toml_line(text).as_deref(), Ok(line), "{text}");
    }
    for bad in ["weight", "=3", "[x]=3", "a b=3", "a\nb=3"] {
        assert!(toml_line(bad).is_err(), "{bad}");
    }
}

#[test]
fn times_have_a_unit_and_bounds() {
    assert_eq!(keepalive("0"), Ok(Duration::ZERO));
    assert_eq!(keepalive("50ms"), Ok(Duration::from_millis(50)));
    assert_eq!(measurement("1s"), Ok(Duration::from_secs(1)));
    for bad in ["", "50", "9ms", "61s", "-1s", "1000000000y"] {
        assert!(keepalive(bad).is_err(), "{bad}");
        assert!(measurement(bad).is_err(), "{bad}");
    }
    assert!(measurement("0").is_err());
}
