//! `priority` says tier and state of a path in a word, and numbers that are written beside it hold.

use mpt_config::{Path, Priority, check_text};

fn path(keys: &str) -> Path {
    let text = format!(
        r#"[[device]]
name = "mpt0"
addresses = ["10.9.0.1/30"]
[[connection]]
name = "office"
networks = ["10.9.0.2"]
[[connection.path]]
name = "dsl"
local = "10.0.1.1"
remote = "10.0.1.2"
{keys}
"#
    );
    let checked = check_text("mpt.toml", &text).unwrap_or_else(|errors| panic!("{errors}"));
    checked.config.connections[0].paths[0].clone()
}

#[test]
fn each_word_has_its_tier() {
    for (keys, tier, up) in [
        ("", 0, true),
        ("priority = \"primary\"", 0, true),
        ("priority = \"backup\"", 1, true),
        ("priority = \"never\"", 0, false),
        ("priority = \"backup\"\ntier = 3", 3, true),
        ("tier = 3\npriority = \"primary\"", 3, true),
        ("priority = \"never\"\nup = true", 0, true),
        ("priority = \"backup\"\nup = false", 1, false),
    ] {
        let path = path(keys);
        assert_eq!((path.tier, path.up), (tier, up), "{keys}");
    }
    assert_eq!(path("priority = \"never\"").priority, Some(Priority::Never));
}
