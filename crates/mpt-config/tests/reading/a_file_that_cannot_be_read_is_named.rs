//! A file that is missing, or is no text, is named with what to do about it.

use mpt_config::load;

#[test]
fn a_missing_file_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mpt.toml");
    assert_eq!(
        load(&file).unwrap_err().to_string(),
        format!(
            "{}: No such file or directory (os error 2); write the file (examples/mpt.toml shows all keys) or name another \
             with --config",
            file.display()
        )
    );
}

#[test]
fn a_file_in_another_encoding_is_told_so() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mpt.toml");
    std::fs::write(&file, b"[daemon]\n# caf\xe9\n").unwrap();
    assert_eq!(
        load(&file).unwrap_err().to_string(),
        format!("{}:2: not UTF-8; save the file in UTF-8", file.display())
    );
}
