//! A real browser draws the dashboard, follows what happens within two seconds, and asks nobody else for anything.

use std::time::{Duration, Instant};

use mpt_api::DownReason;

use crate::browser::Browser;
use crate::dashboard::Dashboard;
use crate::hosts::{Line, Pair, Stream, Way};
use crate::many::Many;
use crate::support::{authenticate, wait_until_down};

/// A large screen, and a phone.
const SCREEN: (u32, u32) = (1280, 900);
const PHONE: (u32, u32) = (360, 740);

/// Returns a script that tells whether a chart has pixels in the colours of the uplinks.
fn drawn(chart: usize) -> String {
    format!(
        "(() => {{ const it = document.getElementById('chart{chart}'); \
         const data = it.getContext('2d').getImageData(0, 0, it.width, it.height).data; let coloured = 0; \
         for (let i = 0; i < data.length; i += 4) \
         if (data[i + 3] > 100 && Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > 60) coloured++; \
         return coloured > 50; }})()"
    )
}

/// Returns a script that tells whether a chart has marks of events on its time axis, in the colour for what is bad.
fn marked(chart: usize) -> String {
    format!(
        "(() => {{ const it = document.getElementById('chart{chart}'); \
         const data = it.getContext('2d').getImageData(0, it.height - 26, it.width, 10).data; let marks = 0; \
         for (let i = 0; i < data.length; i += 4) \
         if (Math.abs(data[i] - 179) + Math.abs(data[i + 1] - 32) + Math.abs(data[i + 2] - 42) < 30) marks++; \
         return marks > 8; }})()"
    )
}

/// Returns a script that tells whether the second path stands on the first one in a chart: in some columns, the lowest pixel in its colour is
/// directly above the highest one in that of the first.
fn stacked(chart: usize) -> String {
    format!(
        "(() => {{ const it = document.getElementById('chart{chart}'); \
         const data = it.getContext('2d').getImageData(0, 0, it.width, it.height).data; let columns = 0; \
         for (let x = 60; x < it.width - 10; x++) {{ let lowest = -1, highest = it.height, second = 0, first = 0; \
         for (let y = 0; y < it.height - 28; y++) {{ const at = 4 * (y * it.width + x); \
         if (data[at + 2] > data[at] + 60) {{ first++; highest = Math.min(highest, y); }} \
         if (data[at] > data[at + 2] + 60) {{ second++; lowest = Math.max(lowest, y); }} }} \
         if (first > 3 && second > 3 && lowest < highest && highest - lowest < 4) columns++; }} \
         return columns > 3; }})()"
    )
}

/// The state of an uplink as the table shows it.
fn uplink(name: &str) -> String {
    format!(
        "[...document.querySelectorAll('#paths tr')].find(row => row.cells[0].textContent === '{name}')?.cells[1].textContent"
    )
}

#[test]
#[ignore = "takes a browser: make seen-test"]
fn it_follows_a_path_that_dies_and_survives_a_restart_of_the_daemon() {
    // Neither line carries the stream alone.
    let pair = Pair::new(&[Line { rate: Some(20), ..Line::bridged() }; 2]);
    let mut configs = pair.configs();
    let _identities = authenticate(&mut configs);
    for config in &mut configs {
        config.connection("tunnel").set("mapping", "adaptive");
    }
    let [mut a, _b] = pair.start(&configs);
    let dashboard = Dashboard::start(&a, &[]);
    let stream = Stream::start(&pair.a, &pair.b, "10.72.0.2:5001");
    let mut browser = Browser::open(&format!("{}/", dashboard.origin), SCREEN, false);
    browser.wait_for("document.getElementById('state').textContent === 'up'");
    browser.wait_for("document.querySelectorAll('#paths tr').length === 2");
    // Rates out and in, round-trip times, loss and queues.
    for chart in 0..5 {
        browser.wait_for(&drawn(chart));
    }
    browser.wait_for(&stacked(0));
    // Two hours, by means of ten seconds each.
    browser.press("2");
    browser.wait_for("past.step === 10");
    browser.wait_for(&stacked(0));
    browser.press("1");
    browser.wait_for("past.step === 1");
    let back = "getComputedStyle(document.body).backgroundColor";
    assert_eq!(browser.evaluate(back), "rgb(255, 255, 255)", "light");

    // Nothing has happened for a while, and then a path dies under traffic.
    let start = Instant::now();
    pair.swallow(2, Way::Both);
    browser.wait_for(&format!("{} === 'down (dead)'", uplink("line2")));
    let took = start.elapsed();
    eprintln!("from the death of a path to the page: {took:?}");
    assert!(took < Duration::from_secs(2), "{took:?}");
    wait_until_down(&a, "line2", Some(DownReason::Dead));
    stream.end();
    browser
        .wait_for("document.getElementById('problems').textContent.includes('path line2 is dead')");
    browser.wait_for(
        "document.getElementById('events').textContent.includes('tunnel line2: down (dead)')",
    );
    for chart in 0..5 {
        browser.wait_for(&marked(chart));
    }

    a.kill();
    browser.wait_for("document.getElementById('state').textContent === 'unreachable'");
    browser.wait_for(
        "document.getElementById('away').textContent.includes('Everything below is as of')",
    );
    assert_eq!(browser.evaluate("document.querySelectorAll('#paths tr').length"), 2);
    pair.mend(2, Way::Both);
    a.start_again(&pair.a);
    browser.wait_for("document.getElementById('state').textContent === 'up'");
    browser.wait_for("document.getElementById('away').hidden");

    let own = browser.asked.iter().filter(|it| !it.starts_with("data:"));
    let foreign: Vec<_> = own.filter(|it| !it.starts_with(&dashboard.origin)).collect();
    assert_eq!(foreign, [""; 0]);
    assert_eq!(browser.errors, [""; 0]);
}

#[test]
#[ignore = "takes a browser: make seen-test"]
fn a_thousand_clients_are_searched_by_keyboard_on_a_phone_in_the_dark() {
    let pair = Pair::new(&[Line::default(); 2]);
    let mut configs = pair.configs();
    let _identities = authenticate(&mut configs);
    let [a, _b] = pair.start(&configs);
    let many = Many::like(&a);
    let dashboard = Dashboard::start_at(&many.socket, &[]);
    let mut browser = Browser::open(&format!("{}/", dashboard.origin), PHONE, true);
    browser
        .wait_for("document.getElementById('summary').textContent.startsWith('1000 connections')");
    // From one connection to the next one and back, and from one span to another.
    for (key, name) in [("j", "client1.office"), ("k", "client0.office")] {
        browser.press(key);
        browser.wait_for(&format!("document.getElementById('name').textContent === '{name}'"));
    }
    for (key, span) in [("2", 7200), ("3", 86_400), ("1", 600)] {
        browser.press(key);
        let pressed = "document.querySelector('#spans [aria-pressed=true]').dataset.span";
        browser.wait_for(&format!("{pressed} === '{span}'"));
    }
    browser.press("/");
    for key in "client777".chars() {
        browser.press(&key.to_string());
    }
    browser.wait_for("document.getElementById('more').textContent === '1 shown'");
    browser.press("Enter");
    browser.wait_for("document.getElementById('name').textContent === 'client777.office'");
    browser.wait_for("document.querySelectorAll('#paths tr').length === 2");
    // A row outlasts the next states: one that is replaced under a finger is not tapped.
    browser.evaluate("row = document.querySelector('#connections li')");
    // With so many connections, the next one may come as late as a minute from now.
    browser.evaluate("stream.onmessage({ data: JSON.stringify({ ...told, events: [] }) })");
    assert_eq!(browser.evaluate("row.isConnected"), true);
    // A finger, which has no keys.
    browser.evaluate("document.getElementById('search').value = 'client99'; list()");
    browser.tap("#connections li:nth-child(2)");
    browser.wait_for("document.getElementById('name').textContent === 'client990.office'");
    browser.tap("#spans button:nth-child(3)");
    browser
        .wait_for("document.querySelector('#spans [aria-pressed=true]').dataset.span === '86400'");
    // The page says that there is no history of this connection, instead of showing charts that stay empty.
    browser.wait_for(
        "document.getElementById('legend').textContent.startsWith('There is no history')",
    );
    // The page is no wider than the phone; the table scrolls by itself.
    browser.wait_for("document.documentElement.scrollWidth <= 360");
    let back = "getComputedStyle(document.body).backgroundColor";
    assert_eq!(browser.evaluate(back), "rgb(20, 24, 29)", "dark");
    assert_eq!(browser.errors, [""; 0]);
}
