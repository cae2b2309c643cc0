//! The pictures of the README, made of a tunnel that runs: the dashboard and `mpt top` over two uplinks, of which one fails for a while.
//! `make screenshots` keeps them in docs/pictures; otherwise they are only made, so that the way to them stays good.

use std::fmt::Write;
use std::fs;
use std::thread;
use std::time::Duration;

use mpt_api::DownReason;

use crate::browser::Browser;
use crate::command_line::mpt;
use crate::dashboard::Dashboard;
use crate::hosts::{Line, Pair, Stream, Way};
use crate::support::{authenticate, wait_until_down};
use crate::terminal::Terminal;

/// Columns and rows of the terminal.
const TERMINAL: (u16, u16) = (100, 28);
/// The sixteen colours of a terminal.
const COLOURS: [&str; 16] = [
    "#1b1b1b", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d0d0d0",
    "#7f848e", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#ffffff",
];

#[test]
#[ignore = "takes a browser: make seen-test"]
fn and_show_a_tunnel_whose_uplink_fails() {
    let lines = [40, 15].map(|rate| Line { rate: Some(rate), ..Line::bridged() });
    let pair = Pair::new(&lines);
    let mut configs = pair.configs();
    let _identities = authenticate(&mut configs);
    configs[0].path("tunnel", "line2").set("cap", "50 GB/month").set("metered", true);
    let state = tempfile::tempdir().unwrap();
    configs[0].daemon().set("state_directory", state.path().to_str().unwrap());
    let [a, _b] = pair.start(&configs);
    let dashboard = Dashboard::start(&a, &[]);
    let terminal = Terminal::run(&mpt(&a, &["top"]), TERMINAL);
    let stream = Stream::start(&pair.a, &pair.b, "10.72.0.2:5001");
    thread::sleep(Duration::from_secs(25));
    pair.swallow(2, Way::Both);
    wait_until_down(&a, "line2", Some(DownReason::Dead));
    thread::sleep(Duration::from_secs(6));
    pair.mend(2, Way::Both);
    wait_until_down(&a, "line2", None);
    thread::sleep(Duration::from_secs(20));

    let screen = terminal.coloured();
    assert!(screen.contains("line1") && screen.contains("line2"), "{screen}");
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join("top.html");
    fs::write(&page, html(&screen)).unwrap();
    let mut browser = Browser::open(&format!("file://{}", page.display()), (860, 532), true);
    browser.picture("top.png");
    drop(browser);

    let mut browser = Browser::open(&format!("{}/", dashboard.origin), (1280, 1060), true);
    browser.wait_for("document.getElementById('state').textContent === 'up'");
    browser.wait_for("document.querySelectorAll('#events li').length >= 2");
    browser.wait_for("document.querySelectorAll('#legend span').length === 2");
    thread::sleep(Duration::from_secs(2));
    browser.picture("dashboard.png");
    stream.end();
}

/// The text of a terminal with its colours (ECMA-48, SGR) as a page.
fn html(screen: &str) -> String {
    let mut text = String::new();
    let mut pieces = screen.split("\x1b[");
    let escaped = |piece: &str| piece.replace('&', "&amp;").replace('<', "&lt;");
    text += &escaped(pieces.next().unwrap_or_default());
    let (mut colour, mut bold, mut faint, mut inverse) = (None, false, false, false);
    for piece in pieces {
        let Some((codes, rest)) = piece.split_once('m') else { continue };
        let mut codes = codes.split(';').map(|code| code.parse().unwrap_or(0u32));
        while let Some(code) = codes.next() {
            match code {
                0 => (colour, bold, faint, inverse) = (None, false, false, false),
                1 => bold = true,
                2 => faint = true,
                7 => inverse = true,
                22 => (bold, faint) = (false, false),
                27 => inverse = false,
                30..=37 => colour = Some(code - 30),
                39 => colour = None,
                90..=97 => colour = Some(code - 82),
                38 => {
                    let _kind = codes.next();
                    colour = codes.next().filter(|&code| code < 16);
                }
                _ => {}
            }
        }
        let shade = colour.map_or("#d0d0d0", |colour| COLOURS[colour as usize]);
        let (front, back) = if inverse { ("#1b1b1b", shade) } else { (shade, "transparent") };
        let weight = if bold { "bold" } else { "normal" };
        let opacity = if faint { 0.6 } else { 1.0 };
        write!(
            text,
            "</span><span style=\"color:{front};background:{back};font-weight:{weight};opacity:{opacity}\">{}",
            escaped(rest)
        )
        .unwrap();
    }
    format!(
        "<!doctype html><meta charset=\"utf-8\"><style>body{{margin:0;background:#1b1b1b}}\
         pre{{font:14px/18px 'DejaVu Sans Mono',monospace;color:#d0d0d0;padding:14px;margin:0}}</style>\
         <pre><span>{text}</span></pre>"
    )
}
