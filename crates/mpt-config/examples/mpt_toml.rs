//! Prints the commented example of a configuration (`make example`).

fn main() -> std::io::Result<()> {
    use std::io::Write;
    std::io::stdout().lock().write_all(mpt_config::example().as_bytes())
}
