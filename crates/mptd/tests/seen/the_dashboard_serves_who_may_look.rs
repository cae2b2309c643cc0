//! `mpt dashboard` serves its page, the state and the metrics, to this host or to who has the token, and survives the daemon.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use mpt_api::PathChange;

use crate::command_line::{mpt, program};
use crate::dashboard::Dashboard;
use crate::hosts::{Daemon, Line, Pair, Stream, wait_for, wait_within};
use crate::many::Many;
use crate::support::{start_with_equal_shares, start_with_session};

fn tunnel() -> (Pair, [Daemon; 2]) {
    let pair = Pair::new(&[Line::default(); 2]);
    let daemons = start_with_session(&pair);
    (pair, daemons)
}

#[test]
fn the_state_and_the_metrics_follow_the_daemon() {
    let (_pair, [mut a, _b]) = tunnel();
    let dashboard = Dashboard::start(&a, &[]);
    dashboard.wait_for("/health", "\"state\":\"up\"");
    assert_eq!(dashboard.ask("/health", &[]).0, 200);
    let counter = "mpt_path_sent_packets_total{connection=\"tunnel\",path=\"line1\"}";
    let metrics = dashboard.wait_for("/metrics", counter);
    for expected in ["\nmpt_up 1.0\n", "mpt_path_up{connection=\"tunnel\",path=\"line2\"} 1.0\n"] {
        assert!(metrics.contains(expected), "{expected} is not in\n{metrics}");
    }
    assert!(metrics.ends_with("# EOF\n"), "{metrics}");

    a.kill();
    let metrics = dashboard.wait_for("/metrics", "\nmpt_up 0.0\n");
    assert!(metrics.contains(counter), "counters stay\n{metrics}");
    assert!(!metrics.contains("\nmpt_path_up"), "what is not known is not said\n{metrics}");
    let (code, health) = dashboard.ask("/health", &[]);
    assert_eq!(code, 503, "{health}");
    assert!(health.contains("\"state\":\"unreachable\""), "{health}");
    // A page that is opened now shows what was known.
    let stream = dashboard.ask("/events", &["--max-time", "2"]).1;
    for expected in ["\"selected\":{\"name\":\"tunnel\"", "the daemon does not answer"] {
        assert!(stream.contains(expected), "{expected} is not in\n{stream}");
    }
    let history = dashboard.ask("/history?connection=tunnel&span=600", &[]).1;
    assert!(
        history.starts_with("{\"step\":1,\"paths\":[{\"name\":\"line1\",\"points\":[["),
        "{history}"
    );
}

/// It is not waited for the next second: ten changes would take half a second each on average.
#[test]
fn what_an_event_has_changed_is_seen_at_once() {
    let (_pair, [a, _b]) = tunnel();
    let dashboard = Dashboard::start(&a, &[]);
    dashboard.wait_for("/health", "\"state\":\"up\"");
    let mut took = Duration::ZERO;
    for up in [false, true].into_iter().cycle().take(10) {
        // At another moment of each second.
        thread::sleep(Duration::from_millis(310));
        let changed = Instant::now();
        a.set_path("tunnel", "line2", PathChange { up: Some(up), ..PathChange::default() });
        dashboard.wait_for(
            "/health",
            match up {
                true => "\"state\":\"up\"",
                false => "\"state\":\"degraded\"",
            },
        );
        took += changed.elapsed();
    }
    assert!(took < Duration::from_secs(3), "ten changes: {took:?}");
}

/// Shares are means of ten seconds, of which two are compared.
#[test]
fn the_page_is_told_why_the_share_of_a_path_has_changed() {
    let pair = Pair::new(&[Line::default(); 2]);
    let [a, _b] = start_with_equal_shares(&pair);
    let dashboard = Dashboard::start(&a, &[]);
    let stream = Stream::start(&pair.a, &pair.b, "10.72.0.2:5001");
    thread::sleep(Duration::from_secs(15));
    a.set_path("tunnel", "line2", PathChange { up: Some(false), ..PathChange::default() });
    let told = wait_within(Duration::from_secs(60), "the reason is among the events", || {
        let events = dashboard.ask("/events", &["--max-time", "2"]).1;
        events.contains("share of what is sent").then_some(events)
    });
    stream.end();
    let reason = "line2 went down (administrative)";
    for path in ["line1", "line2"] {
        let change = told.split(&format!("tunnel {path}: share of what is sent ")).nth(1);
        let change = change.unwrap_or_else(|| panic!("{path}: {told}"));
        let sentence = change.split('"').next().unwrap();
        assert!(sentence.ends_with(reason), "{path}: {sentence}");
    }
}

#[test]
fn a_page_of_another_origin_gets_nothing() {
    let (_pair, [a, _b]) = tunnel();
    let dashboard = Dashboard::start(&a, &[]);
    for (host, code) in [
        ("localhost", 200),
        ("localhost:4780", 200),
        ("127.0.0.1", 200),
        ("[::1]:80", 200),
        ("mpt.example.org", 403),
        ("127.0.0.1.example.org:4780", 403),
        ("192.0.2.1", 403),
    ] {
        let (answered, body) = dashboard.ask("/", &["--header", &format!("Host: {host}")]);
        assert_eq!(answered, code, "{host}: {body}");
    }
    let (_, headers) = dashboard.ask("/", &["--head"]);
    assert!(headers.contains("content-security-policy: default-src 'none'"), "{headers}");
}

#[test]
fn with_a_token_nobody_else_gets_anything() {
    let (_pair, [a, _b]) = tunnel();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("token");
    let token = "0123456789abcdef0123456789abcdef";
    std::fs::write(&file, format!("{token}\n")).unwrap();
    let dashboard = Dashboard::start(&a, &["--token-file", file.to_str().unwrap()]);
    for path in
        ["/", "/metrics", "/health", "/events", "/history?connection=tunnel&span=600", "/page.js"]
    {
        assert_eq!(dashboard.ask(path, &[]).0, 401, "{path}");
        let wrong = format!("Authorization: Bearer {}", token.replace('0', "1"));
        assert_eq!(dashboard.ask(path, &["--header", &wrong]).0, 401, "{path}");
    }
    let bearer = format!("Authorization: Bearer {token}");
    assert_eq!(dashboard.ask("/metrics", &["--header", &bearer]).0, 200);
    let (code, headers) = dashboard.ask(&format!("/?token={token}"), &["--head"]);
    assert_eq!(code, 303, "{headers}");
    for expected in ["location: /\r\n", "HttpOnly; SameSite=Strict"] {
        assert!(headers.contains(expected), "{expected} is not in\n{headers}");
    }
    let cookie = format!("other=1; mpt_token={token}");
    assert_eq!(dashboard.ask("/", &["--cookie", &cookie]).0, 200);
    assert_eq!(dashboard.ask("/?token=0123", &[]).0, 401);
}

#[test]
fn an_open_address_without_a_token_is_refused() {
    let (_pair, [a, _b]) = tunnel();
    let directory = tempfile::tempdir().unwrap();
    let short = directory.path().join("short");
    std::fs::write(&short, "secret\n").unwrap();
    let short = short.to_str().unwrap();
    for (arguments, code, said) in [
        (&["--listen", "0.0.0.0:0"][..], 2, "name a file with a token by --token-file"),
        (&["--token-file", short][..], 1, "the first line is no token"),
        (&["--listen", "192.0.2.77:4780", "--token-file", short][..], 1, "no token"),
    ] {
        let output = mpt(&a, &["dashboard"]).args(arguments).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{error}");
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn the_page_takes_less_than_100_kb() {
    let (_pair, [a, _b]) = tunnel();
    let dashboard = Dashboard::start(&a, &[]);
    let parts = ["/", "/page.js", "/page.css"].map(|path| dashboard.ask(path, &[]).1);
    // Also without compression, which there is none of.
    let bytes: usize = parts.iter().map(String::len).sum();
    assert!((10_000..100_000).contains(&bytes), "{bytes}");
    let script = &parts[1];
    for foreign in ["http://", "https://", "innerHTML", "eval("] {
        assert!(!script.contains(foreign) && !parts[0].contains(foreign), "{foreign}");
    }
}

/// Connections that say nothing keep nobody out, and take no more memory than they may.
#[test]
fn a_crowd_that_says_nothing_keeps_nobody_out() {
    let (_pair, [a, _b]) = tunnel();
    let dashboard = Dashboard::start(&a, &[]);
    dashboard.wait_for("/metrics", "mpt_up 1.0");
    let address = dashboard.origin.trim_start_matches("http://");
    let before = dashboard.memory_kib();
    let mut crowd = Vec::new();
    for number in 0..1000 {
        crowd.push(TcpStream::connect(address).unwrap());
        if number % 100 == 0 {
            assert_eq!(dashboard.ask("/metrics", &[]).0, 200, "{number}");
        }
    }
    // A page that is open stays open.
    let page = dashboard.ask("/events", &["--max-time", "3"]).1;
    assert!(page.matches("data:").count() >= 2, "{page}");
    assert_eq!(dashboard.ask("/health", &[]).0, 200);
    let held = dashboard.descriptors();
    assert!(held < 300, "{held} descriptors");
    let grown = dashboard.memory_kib().saturating_sub(before);
    assert!(grown < 16 * 1024, "{grown} KiB more");
    drop(crowd);
    assert_eq!(dashboard.ask("/metrics", &[]).0, 200);
}

/// Fifty scrape again and again, a thousand connections each time, and take no more memory than one: all share one text.
#[test]
fn fifty_who_scrape_at_once_are_all_answered() {
    let (_pair, [a, _b]) = tunnel();
    let many = Many::like(&a);
    let dashboard = Dashboard::start_at(&many.socket, &[]);
    dashboard.wait_for("/metrics", "mpt_up 1.0");
    let scrape = || {
        let mut scrapers: Vec<_> = (0..50)
            .map(|_| {
                let mut curl = Command::new("curl");
                curl.args(["--silent", "--fail", "--max-time", "20"]);
                curl.args(["--output", "/dev/null", "--write-out", "%{size_download}"]);
                curl.arg(format!("{}/metrics", dashboard.origin)).stdin(Stdio::null());
                curl.stdout(Stdio::piped()).spawn().unwrap()
            })
            .collect();
        for scraper in scrapers.drain(..) {
            let output = scraper.wait_with_output().unwrap();
            assert!(output.status.success(), "{output:?}");
            let bytes: u64 = String::from_utf8(output.stdout).unwrap().parse().unwrap();
            assert!(bytes > 3_000_000, "{bytes} bytes of a thousand connections");
        }
    };
    scrape();
    let (memory, open) = (dashboard.memory_kib(), dashboard.descriptors());
    for _ in 0..3 {
        scrape();
    }
    let grown = dashboard.memory_kib().saturating_sub(memory);
    eprintln!("{memory} KiB, {grown} KiB more after three rounds");
    assert!(grown < 16 * 1024, "{grown} KiB more than {memory} KiB");
    // A connection is closed a moment after the one who had it is gone.
    wait_for("no descriptor is kept", || (dashboard.descriptors() <= open).then_some(()));
}

/// Scrapers that do not read what they have asked for cost no copy of it each.
#[test]
fn fifty_who_do_not_read_share_one_text() {
    let (_pair, [a, _b]) = tunnel();
    let many = Many::like(&a);
    let dashboard = Dashboard::start_at(&many.socket, &[]);
    dashboard.wait_for("/metrics", "mpt_up 1.0");
    let text = dashboard.ask("/metrics", &[]).1.len() as u64 / 1024;
    let memory = dashboard.memory_kib();
    let address = dashboard.origin.trim_start_matches("http://");
    let idle: Vec<_> = (0..50)
        .map(|_| {
            let mut stream = TcpStream::connect(address).unwrap();
            write!(stream, "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").unwrap();
            // It has an answer, of which it reads one byte.
            stream.read_exact(&mut [0]).unwrap();
            stream
        })
        .collect();
    let grown = dashboard.memory_kib().saturating_sub(memory);
    eprintln!("{memory} KiB, {grown} KiB more; the text has {text} KiB");
    // The daemon may have been asked again meanwhile, for a text that some have.
    assert!(grown < 10 * text, "{grown} KiB for {text} KiB of text");
    assert_eq!(dashboard.ask("/health", &[]).0, 200);
    drop(idle);
}

#[test]
fn without_an_address_it_listens_on_this_host_alone() {
    let (pair, [a, _b]) = tunnel();
    let mut command = pair.a.namespace.command(program()).unwrap();
    command.arg("--socket").arg(a.socket()).arg("dashboard").stdin(Stdio::null());
    let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut said).unwrap();
    let connects = |to: &str| pair.a.run(|| TcpStream::connect(to).is_ok());
    let reached = ["127.0.0.1:4780", "10.71.1.1:4780", "10.72.0.1:4780"].map(connects);
    process.kill().unwrap();
    process.wait().unwrap();
    assert!(said.starts_with("dashboard on http://127.0.0.1:4780/, "), "{said}");
    assert_eq!(reached, [true, false, false], "by its own addresses it is not there");
}
