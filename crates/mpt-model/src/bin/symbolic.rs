//! Has Verifpal check every case of the symbolic model: `make model`. Usage: `symbolic VERIFPAL [CASE...]`.
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;
use std::{env, fs, io};

use mpt_model::symbolic::Case;

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let Some(verifpal) = arguments.next() else {
        eprintln!("usage: symbolic VERIFPAL [CASE...]");
        return ExitCode::FAILURE;
    };
    match run(&verifpal, &arguments.collect::<Vec<_>>()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("symbolic: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Checks the named cases, or all of them. Returns whether every verdict is the expected one.
fn run(verifpal: &str, named: &[String]) -> Result<bool, String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("symbolic");
    let mut files: Vec<PathBuf> = fs::read_dir(&directory)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>())
        .map_err(|error| format!("{}: {error}", directory.display()))?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "vp"));
    files.sort();
    let mut cases = files.iter().map(|file| Case::read(file)).collect::<Result<Vec<_>, _>>()?;
    if let Some(unknown) = named.iter().find(|name| !cases.iter().any(|it| it.name == **name)) {
        return Err(format!("there is no case {unknown}"));
    }
    cases.retain(|case| named.is_empty() || named.contains(&case.name));
    let mut all = true;
    for case in &cases {
        let start = Instant::now();
        let as_expected = check(verifpal, case)?;
        let (holding, broken): (Vec<_>, Vec<_>) =
            case.queries.iter().partition(|query| query.broken.is_none());
        let (holding, broken) = (holding.len(), broken.len());
        let took = start.elapsed().as_secs_f64();
        let verdict = if as_expected { "as expected" } else { "NOT AS EXPECTED" };
        let (name, sessions) = (&case.name, case.sessions);
        println!(
            "{name}: queries that hold: {holding}, that do not: {broken}, sessions: {sessions}; {verdict}; {took:.1} s"
        );
        all &= as_expected;
    }
    Ok(all)
}

/// Returns whether Verifpal finds what the case expects. If not, its report is shown.
fn check(verifpal: &str, case: &Case) -> Result<bool, String> {
    let directory = env::temp_dir().join(format!("mpt-symbolic-{}", std::process::id()));
    let file = directory.join(format!("{}.vp", case.name));
    fs::create_dir_all(&directory)
        .and_then(|()| fs::write(&file, &case.model))
        .map_err(|error| format!("{}: {error}", file.display()))?;
    let output = Command::new(verifpal)
        .args(["verify", "--color", "never", "--sessions", &case.sessions.to_string()])
        .arg("--result-code")
        .arg(&file)
        .output();
    let _ = fs::remove_dir_all(&directory);
    let output = output.map_err(|error| format!("{verifpal}: {error}"))?;
    let report = String::from_utf8_lossy(&output.stdout);
    let code = report.lines().last().unwrap_or_default().trim();
    if output.status.success() && code == case.expected_code() {
        return Ok(true);
    }
    print!("{report}");
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    println!("{}: expected {}, found {code}", case.name, case.expected_code());
    Ok(false)
}
