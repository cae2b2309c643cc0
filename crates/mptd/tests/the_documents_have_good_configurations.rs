//! Every complete configuration in the documents is one that mptd takes without a warning.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use mptd::config;

/// A public key (RFC 7748, section 6.1: Alice's) for where the documents have none.
const PUBLIC_KEY: &str = "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=";
/// Another private key: Bob's.
const PRIVATE_KEY: &str = "XasIfmJKikt54X+Lg4AO5m87sSkmGLb9HC+LJ/+I4Os=";

#[test]
fn every_complete_configuration_is_good() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let directory = tempfile::tempdir().unwrap();
    let key = directory.path().join("private.key");
    fs::write(&key, PRIVATE_KEY).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let mut seen = 0;
    for (page, least) in [("README.md", 1), ("docs/security.md", 1), ("docs/operations.md", 4)] {
        let page = fs::read_to_string(root.join(page)).unwrap();
        let blocks = page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
        // The others are parts of one.
        let complete: Vec<_> = blocks.filter(|block| block.contains("[[device]]")).collect();
        assert!(complete.len() >= least, "{complete:?}");
        for block in complete {
            let text = block.split('"').map(|word| match word {
                word if word.starts_with("PUBLIC KEY OF ") => PUBLIC_KEY,
                word => word,
            });
            let text = text.collect::<Vec<_>>().join("\"");
            let key = format!("private_key_file = {:?}", key.to_str().unwrap());
            let text = match text.split_once("[daemon]\n") {
                Some((before, after)) => format!("{before}[daemon]\n{key}\n{after}"),
                None => format!("daemon.{key}\n{text}"),
            };
            let file = directory.path().join("mpt.toml");
            fs::write(&file, &text).unwrap();
            let checked = config::load(&file).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
            assert!(checked.warnings.is_empty(), "{:?}\n{text}", checked.warnings);
            seen += 1;
        }
    }
    assert!(seen >= 6, "{seen}");
}
