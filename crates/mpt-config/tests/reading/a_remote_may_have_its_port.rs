//! `remote = "host:port"` is `remote` and `remote_port` in one.

use mpt_config::{Config, KeyFileError, check_text, diff, save};

fn text(path: &str) -> String {
    format!(
        r#"[[device]]
name = "mpt0"
addresses = ["10.9.0.1/30", "fd00:9::1/64"]
[[connection]]
name = "office"
networks = ["10.9.0.2"]
[[connection.path]]
name = "dsl"
interface = "eth0"
{path}
"#
    )
}

fn config(path: &str) -> Config {
    check_text("mpt.toml", &text(path)).unwrap_or_else(|errors| panic!("{errors}")).config
}

#[test]
fn each_form_says_the_same_as_two_keys() {
    for (one, two) in [
        ("remote = \"198.51.100.1:4800\"", "remote = \"198.51.100.1\"\nremote_port = 4800"),
        ("remote = \"vpn.example.org:4800\"", "remote = \"vpn.example.org\"\nremote_port = 4800"),
        ("remote = \"[2001:db8::2]:4800\"", "remote = \"2001:db8::2\"\nremote_port = 4800"),
        (
            "remote = \"vpn.example.org:4800\"\nremote_port = 4800",
            "remote = \"vpn.example.org:4800\"",
        ),
        ("remote = \"198.51.100.1:4754\"", "remote = \"198.51.100.1\""),
    ] {
        let [one, two] = [one, two].map(config);
        assert_eq!(diff(&one, &two).changes, [], "a reload changes nothing");
        let [one, two] = [&one, &two].map(|it| &it.connections[0].paths[0]);
        assert_eq!((&one.remote, one.remote_port), (&two.remote, two.remote_port));
    }
}

#[test]
fn it_is_saved_as_it_was_written() {
    let running = config("remote = \"vpn.example.org:4800\"\nweight = 3");
    let no_key = |_: &std::path::Path| -> Result<_, KeyFileError> { unreachable!() };
    let saved =
        save("mpt.toml", &text("remote = \"vpn.example.org:4800\""), &running, "office", &no_key);
    let saved = saved.unwrap().expect("the weight is new");
    assert!(saved.contains("remote = \"vpn.example.org:4800\"\nweight = 3\n"), "{saved}");
    assert!(!saved.contains("remote_port"), "{saved}");
}
