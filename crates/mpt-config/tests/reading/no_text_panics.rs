//! Reading a file gives a configuration or errors, whatever it holds.

use mpt_config::check_text;
use proptest::prelude::*;

/// Text that looks like a configuration, so that more than the TOML parser is reached.
fn nearly_a_configuration() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        any::<bool>().prop_map(|boolean| boolean.to_string()),
        ".{0,40}".prop_map(|text| format!("{text:?}")),
        "[0-9a-f:./ -]{0,40}".prop_map(|text| format!("[{text:?}, 3]")),
        "[0-9.]{1,30} ?(ms|MiB|Mbit/s|s)?".prop_map(|text| format!("{text:?}")),
        Just("\"10.0.0.1\"".to_owned()),
        Just("\"fe80::1\"".to_owned()),
        Just("[\"0.0.0.0/0\", \"::/0\"]".to_owned()),
        Just("[{ name = 1 }, {}]".to_owned()),
    ];
    let example = include_str!("../../../../examples/mpt.toml");
    let keys: Vec<String> = (example.lines())
        .filter_map(|line| line.split_once(" = "))
        .map(|(key, _)| key.trim_start_matches(['#', ' ', 'e', '.', 'g']).to_owned())
        .filter(|key| key.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
        .collect();
    let header = proptest::sample::select(vec![
        "[daemon]",
        "[[device]]",
        "[[connection]]",
        "[[connection.select]]",
        "[[connection.path]]",
        "[connection.peer]",
        "[[client]]",
        "[[pool]]",
        "[[controller]]",
    ]);
    let line = prop_oneof![
        1 => header.prop_map(str::to_owned),
        4 => (proptest::sample::select(keys), value).prop_map(|(key, value)| format!("{key} = {value}")),
    ];
    proptest::collection::vec(line, 0..30).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = check_text("mpt.toml", &String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn no_near_configuration_panics(text in nearly_a_configuration()) {
        let _ = check_text("mpt.toml", &text);
    }
}
