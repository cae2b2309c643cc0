//! Every configuration in the documents is one that mptd takes without a warning: a complete one as it stands, a part of one within what it is a part of.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use mpt_config as config;

/// A public key (RFC 7748, section 6.1: Alice's) for where the documents have none.
const PUBLIC_KEY: &str = "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=";
/// Another private key: Bob's.
const PRIVATE_KEY: &str = "XasIfmJKikt54X+Lg4AO5m87sSkmGLb9HC+LJ/+I4Os=";
/// Least number of configurations, and of parts of one, on each page.
const PAGES: [(&str, usize, usize); 3] =
    [("docs/security.md", 1, 0), ("docs/operations.md", 7, 3), ("docs/compat.md", 1, 0)];

/// Returns the configuration for a part: keys of a connection, its paths, or other tables.
fn completed(part: &str) -> String {
    const DEVICE: &str = "[[device]]\nname = \"mpt0\"\naddresses = [\"10.9.0.1/30\"]\n";
    const PATH: &str =
        "[[connection.path]]\nname = \"path\"\ninterface = \"eth0\"\nremote = \"192.0.2.2\"\n";
    let peer = format!("[connection.peer]\npublic_key = \"{PUBLIC_KEY}\"\n");
    let networks = "networks = [\"10.9.0.2/32\"]\n";
    let (keys, tables) = match part.find("[[") {
        Some(0) => (networks, part),
        Some(at) => panic!("keys and tables, from byte {at} on: {part}"),
        None => (part, PATH),
    };
    let path = if tables.contains("[[connection.path]]") { "" } else { PATH };
    format!("{DEVICE}[[connection]]\nname = \"b\"\n{keys}{peer}{path}{tables}")
}

#[test]
fn every_configuration_is_good() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let directory = tempfile::tempdir().unwrap();
    let key = directory.path().join("private.key");
    fs::write(&key, PRIVATE_KEY).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    for (page, least_whole, least_parts) in PAGES {
        let text = fs::read_to_string(root.join(page)).unwrap();
        let blocks = text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
        let (whole, parts): (Vec<_>, Vec<_>) =
            blocks.partition(|block| block.contains("[[device]]"));
        assert!(whole.len() >= least_whole, "{page}: {whole:#?}");
        assert!(parts.len() >= least_parts, "{page}: {parts:#?}");
        let parts = parts.into_iter().map(completed);
        for text in whole.into_iter().map(str::to_owned).chain(parts) {
            let text = text.split('"').map(|word| match word {
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
            let checked =
                config::load(&file).unwrap_or_else(|errors| panic!("{page}: {errors:?}\n{text}"));
            assert!(checked.warnings.is_empty(), "{page}: {:?}\n{text}", checked.warnings);
        }
    }
}
