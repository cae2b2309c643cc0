//! A private key that anybody but its owner may read or write is not used: the configuration is refused, and says what to do.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use mpt_config as config;

/// Bob's private key of RFC 7748, section 6.1.
const PRIVATE_KEY: &str = "XasIfmJKikt54X+Lg4AO5m87sSkmGLb9HC+LJ/+I4Os=";

/// The least that a configuration has besides: a device, and on it a connection whose peer has Alice's key.
const DEVICE: &str = r#"
[[device]]
name = "mpt0"
addresses = ["10.9.0.1/30"]
[[connection]]
name = "b"
networks = ["10.9.0.2/32"]
[connection.peer]
public_key = "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo="
[[connection.path]]
name = "line"
local = "192.0.2.1"
remote = "192.0.2.2"
"#;

#[test]
fn whichever_right_others_have() {
    let directory = tempfile::tempdir().unwrap();
    let (key, file) = (directory.path().join("private.key"), directory.path().join("mpt.toml"));
    fs::write(&key, PRIVATE_KEY).unwrap();
    let text = format!("[daemon]\nprivate_key_file = {:?}\n{DEVICE}", key.to_str().unwrap());
    fs::write(&file, text).unwrap();
    let load = |mode| {
        fs::set_permissions(&key, fs::Permissions::from_mode(mode)).unwrap();
        config::load(&file).map(|_| ()).map_err(|errors| errors.to_string())
    };
    for mode in [0o600, 0o400] {
        assert_eq!(load(mode), Ok(()), "mode {mode:o}");
    }
    for right in [0o040, 0o020, 0o004, 0o002] {
        let errors = load(0o600 | right).expect_err("a file that others may read or write");
        assert!(errors.contains("daemon.private_key_file"), "{errors}");
        assert!(errors.contains("chmod 600"), "{errors}");
    }
}
