//! A real Prometheus scrapes `/metrics`, answers queries about it, and raises the alerts of the manual: when a path dies, loses packets or nears its cap.

use std::fs;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::dashboard::Dashboard;
use crate::hosts::{Line, Pair, Stream, Way, wait_within};
use crate::lossy::{lose_nothing, lose_some};
use crate::support::{authenticate, start_with_session};

/// The rules that docs/operations.md recommends.
const OPERATIONS: &str = include_str!("../../../../docs/operations.md");

/// The dashboard for Grafana.
const GRAFANA: &str = include_str!("../../../../packaging/grafana/mpt.json");

/// Longest time for Prometheus to start and to scrape a few times on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The text of the rules.
fn rules() -> &'static str {
    let rules = OPERATIONS.split("```yaml\n").nth(1).and_then(|it| it.split("```").next());
    rules.expect("the rules")
}

/// The query for the alerts of this name that fire.
fn firing(alert: &str) -> String {
    format!("ALERTS{{alertname='{alert}',alertstate='firing'}}")
}

/// Prometheus, killed when this is dropped.
struct Prometheus {
    process: Child,
    port: u16,
    _directory: tempfile::TempDir,
}

impl Prometheus {
    fn start(target: &str) -> Prometheus {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("prometheus.yml");
        let config = format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\n\
             rule_files: [rules.yml]\n\
             scrape_configs:\n- job_name: mpt\n  static_configs: [{{targets: ['{target}']}}]\n"
        );
        fs::write(&file, config).unwrap();
        // Tests do not wait a minute.
        let rules = rules().replace("for: 1m", "for: 1s");
        fs::write(directory.path().join("rules.yml"), rules).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let process = Command::new("prometheus")
            .arg(format!("--config.file={}", file.display()))
            .arg(format!("--storage.tsdb.path={}", directory.path().join("data").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .arg("--log.level=warn")
            .stdin(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("prometheus: {error}; scripts/setup seen-test"));
        Prometheus { process, port, _directory: directory }
    }

    /// Waits until a query has results. Returns their metrics and values.
    fn wait_for(&self, query: &str) -> Vec<Value> {
        wait_within(PATIENCE, query, || {
            let url = format!("http://127.0.0.1:{}/api/v1/query", self.port);
            let mut curl = Command::new("curl");
            curl.args(["--silent", "--get", &url, "--data-urlencode", &format!("query={query}")]);
            let answer: Value = serde_json::from_slice(&curl.output().unwrap().stdout).ok()?;
            let results = answer["data"]["result"].as_array()?;
            (!results.is_empty()).then(|| results.clone())
        })
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
#[ignore = "takes Prometheus: make seen-test"]
fn and_alerts_when_a_path_dies() {
    let pair = Pair::new(&[Line::bridged(); 2]);
    let [mut a, _b] = start_with_session(&pair);
    let dashboard = Dashboard::start(&a, &[]);
    let prometheus = Prometheus::start(dashboard.origin.trim_start_matches("http://"));
    let stream = Stream::start(&pair.a, &pair.b, "10.72.0.2:5001");
    prometheus.wait_for("up{job='mpt'} == 1 and on() mpt_up == 1");
    prometheus.wait_for("rate(mpt_connection_sent_bytes_total[10s]) * 8 > 1e6");
    let paths = prometheus.wait_for("mpt_path_rtt_seconds > 0 < 1");
    assert_eq!(paths.len(), 2, "{paths:?}");
    stream.end();

    pair.swallow(2, Way::Both);
    let alerts = prometheus.wait_for(&firing("MptPathDown"));
    assert_eq!(alerts[0]["metric"]["path"], "line2", "{alerts:?}");

    pair.swallow(1, Way::Both);
    let alerts = prometheus.wait_for(&firing("MptConnectionDown"));
    assert_eq!(alerts[0]["metric"]["connection"], "tunnel", "{alerts:?}");

    a.kill();
    prometheus.wait_for(&firing("MptDaemonDown"));
    // The counters are still there. The adaptive mapping decided which line carried the packets.
    prometheus.wait_for("sum(mpt_path_sent_packets_total) > 0");
    prometheus.wait_for("mpt_path_sent_packets_total{path='line2'} >= 0");
}

#[test]
#[ignore = "takes Prometheus: make seen-test"]
fn and_alerts_while_a_path_loses_packets_and_one_is_near_its_cap() {
    let pair = Pair::with_lines(2);
    let mut configs = pair.configs();
    let _identities = authenticate(&mut configs);
    let state = tempfile::tempdir().unwrap();
    configs[0].daemon().set("state_directory", state.path().to_str().unwrap());
    configs[0].path("tunnel", "line1").set("cap", "2 MB/month");
    for config in &mut configs {
        // The other line carries nothing before, and everything after.
        config.path("tunnel", "line2").set("tier", 1);
    }
    let [a, _b] = pair.start(&configs);
    let dashboard = Dashboard::start(&a, &[]);
    let prometheus = Prometheus::start(dashboard.origin.trim_start_matches("http://"));
    let stream = Stream::start(&pair.a, &pair.b, "10.72.0.2:5001");
    lose_some(&pair.b, "line2");
    for (alert, path) in [("MptPathNearCap", "line1"), ("MptPathLossy", "line2")] {
        let alerts = prometheus.wait_for(&firing(alert));
        let paths: Vec<_> = alerts.iter().map(|it| &it["metric"]["path"]).collect();
        assert_eq!(paths, [path], "{alerts:?}");
    }

    lose_nothing(&pair.b);
    prometheus.wait_for(&format!("absent({})", firing("MptPathLossy")));
    prometheus.wait_for("mpt_path_loss_ratio{path='line2'} <= 0.02");
    lose_some(&pair.b, "line2");
    prometheus.wait_for(&firing("MptPathLossy"));

    // The first line carries everything again, and what the other one lost is no alarm any more.
    configs[0].path("tunnel", "line1").set("cap", "1 GB/month");
    a.reload(&configs[0]);
    for alert in ["MptPathNearCap", "MptPathLossy"] {
        prometheus.wait_for(&format!("absent({})", firing(alert)));
    }
    // The metrics that the alerts compare are still there.
    prometheus.wait_for("mpt_path_loss_ratio{path='line1'} <= 0.02");
    prometheus.wait_for("mpt_path_cap_used_bytes{path='line1'} > 1.6e6");
    prometheus.wait_for("mpt_path_up{path='line2'} == 1");
    stream.end();
}

/// The queries of all panels, for every connection.
fn queries() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(GRAFANA).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
    let query = |target: &Value| target["expr"].as_str().unwrap().to_owned();
    // Grafana replaces these variables.
    targets
        .map(|it| query(it).replace("$connection", ".*").replace("$__rate_interval", "10s"))
        .collect()
}

/// The metric and the label of each variable of the dashboard that asks for the values of one.
fn variables() -> Vec<(String, String)> {
    let dashboard: Value = serde_json::from_str(GRAFANA).unwrap();
    let list = dashboard["templating"]["list"].as_array().unwrap().iter();
    let queries = list.filter_map(|it| it["query"]["query"].as_str());
    let parts = queries.map(|query| {
        let arguments = query.strip_prefix("label_values(").and_then(|it| it.strip_suffix(')'));
        let (metric, label) = arguments.and_then(|it| it.split_once(", ")).expect(query);
        (metric.to_owned(), label.to_owned())
    });
    parts.collect()
}

/// The metrics that the rules compare.
fn metrics_of_rules() -> Vec<&'static str> {
    let words = rules().split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("mpt_")).collect()
}

#[test]
#[ignore = "takes Prometheus: make seen-test"]
fn and_answers_every_query_of_the_dashboard_for_grafana() {
    let pair = Pair::new(&[Line::bridged(); 2]);
    let mut configs = pair.configs();
    let _identities = authenticate(&mut configs);
    for config in &mut configs {
        config.connection("tunnel").set("mapping", "adaptive");
    }
    let state = tempfile::tempdir().unwrap();
    configs[0].daemon().set("state_directory", state.path().to_str().unwrap());
    configs[0].path("tunnel", "line2").set("cap", "50 GB/month");
    let [a, _b] = pair.start(&configs);
    let dashboard = Dashboard::start(&a, &[]);
    let prometheus = Prometheus::start(dashboard.origin.trim_start_matches("http://"));
    let stream = Stream::start(&pair.a, &pair.b, "10.72.0.2:5001");
    let queries = queries();
    assert!(queries.len() > 10, "{queries:?}");
    for query in queries {
        assert!(!query.contains('$'), "{query} has a variable that is not replaced");
        // Without an answer this fails, also when a name or a label is not one of /metrics.
        prometheus.wait_for(&query);
    }
    let variables = variables();
    assert!(!variables.is_empty(), "connections can be chosen");
    for (metric, label) in variables {
        let results = prometheus.wait_for(&metric);
        assert!(results.iter().all(|it| it["metric"][&label].is_string()), "{label}: {results:?}");
    }
    // The rules compare nothing that is not there.
    let metrics = metrics_of_rules();
    assert!(metrics.len() >= 6, "{metrics:?}");
    for metric in metrics {
        prometheus.wait_for(metric);
    }
    stream.end();
}
