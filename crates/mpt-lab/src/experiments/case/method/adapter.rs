//! Tunnels by other programs, described by TOML files.
//!
//! A file says which programs are needed, which files to write and commands to run before, how to start each end, which device appears, and how it
//! gets its address. In every text these variables are replaced:
//!
//! | name | value |
//! |---|---|
//! | `$dir` | a directory of the measurement, of both ends |
//! | `$device` | name of the tunnel's device at this end |
//! | `$local`, `$remote` | addresses on the first link, of this end and of the other |
//! | `$inner_local`, `$inner_remote` | the same inside the tunnel; the network has 24 bits |
//! | `$end` | `a` or `b` |

use std::fs::{self, File};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use mpt_linux::netlink::Netlink;
use serde::Deserialize;

use crate::console::interrupt::Interrupt;
use crate::experiments::case::network;
use crate::experiments::case::observation::cpu::Watched;
use crate::processes::poll::POLL;
use crate::processes::{self, Process};
use crate::topology::{End, Host};

/// Second byte of the inner addresses.
const INSIDE: u8 = 73;
/// The longest time that a command may take.
const COMMAND: Duration = Duration::from_secs(20);
/// The longest time that the device may take to appear.
const DEVICE: Duration = Duration::from_secs(20);
/// Time for which a command that configures it is tried again when it fails: where there is a device, the program may not listen yet.
const CONFIGURE: Duration = Duration::from_secs(5);
/// The adapters that come with the laboratory.
const OURS: [(&str, &str); 3] = [
    ("fastd", include_str!("../../../../adapters/fastd.toml")),
    ("openvpn", include_str!("../../../../adapters/openvpn.toml")),
    ("wireguard-go", include_str!("../../../../adapters/wireguard-go.toml")),
];

/// A tunnel by another program.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Adapter {
    /// Description for reports.
    pub(in crate::experiments::case) about: String,
    /// Programs that have to be installed.
    pub(in crate::experiments::case) programs: Vec<String>,
    /// The packages of Debian that contain them.
    pub(in crate::experiments::case) packages: Vec<String>,
    /// Arguments with which the first of the programs prints its version.
    pub(in crate::experiments::case) version: Vec<String>,
    /// Commands to run once, before anything else.
    #[serde(default)]
    prepare: Vec<Vec<String>>,
    a: EndCommands,
    b: EndCommands,
}

/// The commands of one end.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct EndCommands {
    /// Name of the device; `$pid` in it keeps laboratories that run at the same time apart, `$end` the two ends.
    device: String,
    /// Files to write into `$dir`, by name.
    #[serde(default)]
    files: std::collections::BTreeMap<String, String>,
    /// The program that is the tunnel; it has to stay in the foreground.
    start: Vec<String>,
    /// Commands to run when the device is there, such as those that give it its address. One that fails is tried again.
    #[serde(default)]
    configure: Vec<Vec<String>>,
}

/// A tunnel that runs; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    name: String,
    ends: Vec<(Process, PathBuf)>,
}

/// Returns the inner address of an end.
pub(crate) fn address(end: End) -> IpAddr {
    network::inside(INSIDE, 0, end, 4)
}

impl Adapter {
    /// Reads the adapter of a name: from the user's directory, if it has one of that name, or ours.
    ///
    /// # Errors
    ///
    /// Returns an error that names the file and what is wrong with it, or the adapters that there are.
    pub(crate) fn load(name: &str, directory: Option<&Path>) -> Result<Self> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        ensure!(!name.is_empty() && name.chars().all(plain), "\"{name}\" is no name of an adapter");
        if let Some(file) =
            directory.map(|it| it.join(format!("{name}.toml"))).filter(|it| it.exists())
        {
            let text = fs::read_to_string(&file);
            let text = text.with_context(|| format!("cannot read {}", file.display()))?;
            return toml::from_str(&text).with_context(|| file.display().to_string());
        }
        let Some((_, text)) = OURS.iter().find(|(ours, _)| *ours == name) else {
            let names = OURS.map(|(name, _)| name).join(", ");
            bail!(
                "there is no adapter {name}; there are {names}, and those of --adapters DIRECTORY"
            );
        };
        toml::from_str(text).with_context(|| format!("adapter {name}"))
    }

    /// Starts both ends and waits until their devices are there.
    pub(crate) fn start<'a>(
        &self,
        host: impl Fn(End) -> &'a Host,
        directory: &Path,
        interrupt: &Interrupt,
    ) -> Result<Running> {
        let variables = |end| Variables::new(self, end, directory);
        for command in &self.prepare {
            run(host(End::A), command, &variables(End::A), interrupt)?;
        }
        let name = self.programs.first().cloned().unwrap_or_default();
        let mut running = Running { name, ends: Vec::new() };
        for end in [End::A, End::B] {
            let (commands, variables) = (self.end(end), variables(end));
            for (name, text) in &commands.files {
                fs::write(directory.join(name), variables.put_in(text))
                    .with_context(|| format!("cannot write {name}"))?;
            }
            let log = directory.join(format!("{end}.log"));
            let output =
                File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
            let mut command = variables.command(&commands.start)?;
            command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
            running.ends.push((host(end).spawn(command)?, log));
        }
        for end in [End::A, End::B] {
            let (commands, variables) = (self.end(end), variables(end));
            running.wait_for(&variables.device, host(end), interrupt)?;
            for command in &commands.configure {
                let start = Instant::now();
                while let Err(error) = run(host(end), command, &variables, interrupt) {
                    interrupt.check()?;
                    if start.elapsed() > CONFIGURE {
                        bail!("{error:#}\n{}", running.logs());
                    }
                    thread::sleep(POLL);
                }
            }
        }
        Ok(running)
    }

    /// Returns what its program says of itself.
    pub(in crate::experiments::case) fn version(&self) -> String {
        let version: Vec<&str> = self.version.iter().map(String::as_str).collect();
        let program = self.programs.first().map_or("", String::as_str);
        crate::experiments::case::environment::version_of(program, &version)
    }

    fn end(&self, end: End) -> &EndCommands {
        match end {
            End::A => &self.a,
            End::B => &self.b,
        }
    }
}

impl Running {
    fn wait_for(&mut self, device: &str, host: &Host, interrupt: &Interrupt) -> Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let start = Instant::now();
        loop {
            interrupt.check()?;
            let there = runtime.block_on(async {
                Netlink::connect_in(host.namespace())?.link_exists(device).await
            });
            if there? {
                return Ok(());
            }
            for (process, _) in &mut self.ends {
                if let Some(status) = process.ended()? {
                    bail!("{} ended at once: {status}\n{}", self.name, self.logs());
                }
            }
            if start.elapsed() > DEVICE {
                bail!("no device {device} after {} s\n{}", DEVICE.as_secs(), self.logs());
            }
            thread::sleep(POLL);
        }
    }

    pub(in crate::experiments::case) fn processes(&self) -> Vec<Watched> {
        let ends = self.ends.iter().zip([End::A, End::B]);
        ends.map(|((process, _), end)| Watched::daemon(&self.name, end, process.id())).collect()
    }

    pub(super) fn logs(&self) -> String {
        let tail = |(_, log): &(Process, PathBuf)| {
            let text = fs::read_to_string(log).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            lines[lines.len().saturating_sub(20)..].join("\n") + "\n"
        };
        self.ends.iter().map(tail).collect()
    }
}

/// The variables that are put into the texts of a file.
#[derive(Debug)]
struct Variables {
    device: String,
    /// Values by name; a name that begins with another one comes first.
    values: [(&'static str, String); 7],
}

impl Variables {
    fn new(adapter: &Adapter, end: End, directory: &Path) -> Self {
        let device = adapter.end(end).device.replace("$pid", &std::process::id().to_string());
        let device = device.replace("$end", &end.to_string());
        let link = |end| network::address(0, end, 4).to_string();
        let values = [
            ("$inner_local", address(end).to_string()),
            ("$inner_remote", address(end.other()).to_string()),
            ("$local", link(end)),
            ("$remote", link(end.other())),
            ("$device", device.clone()),
            ("$dir", directory.display().to_string()),
            ("$end", end.to_string()),
        ];
        Self { device, values }
    }

    fn put_in(&self, text: &str) -> String {
        self.values.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    }

    fn command(&self, words: &[String]) -> Result<Command> {
        let mut words = words.iter().map(|word| self.put_in(word));
        let mut command = Command::new(words.next().context("an empty command")?);
        command.args(words);
        Ok(command)
    }
}

/// Runs a command of an adapter at a host, to its end.
fn run(host: &Host, words: &[String], variables: &Variables, interrupt: &Interrupt) -> Result<()> {
    let mut command = variables.command(words)?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let what = words.first().cloned().unwrap_or_default();
    let finished = processes::finish(host.spawn_child(command)?, COMMAND, interrupt);
    let finished = finished.with_context(|| what.clone())?;
    ensure!(finished.status.success(), "{what}: {}: {}", finished.status, finished.stderr.trim());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_adapters_that_come_with_it_can_be_read() {
        for (name, _) in OURS {
            let adapter = Adapter::load(name, None).unwrap();
            for end in [End::A, End::B] {
                let device = Variables::new(&adapter, end, Path::new("/d")).device;
                assert!((1..=15).contains(&device.len()), "{device}");
                assert!(!adapter.end(end).start.is_empty());
            }
        }
    }

    #[test]
    fn a_users_adapter_comes_first_and_errors_name_the_file() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("fastd.toml"), "nonsense = 1").unwrap();
        let error = Adapter::load("fastd", Some(directory.path())).unwrap_err();
        assert!(format!("{error:#}").contains("fastd.toml"), "{error:#}");
        assert!(Adapter::load("openvpn", Some(directory.path())).is_ok());
        let error = Adapter::load("other", None).unwrap_err().to_string();
        assert!(error.contains("openvpn"), "{error}");
        assert!(Adapter::load("../etc", None).is_err());
    }

    #[test]
    fn variables_are_put_in() {
        let adapter = Adapter::load("wireguard-go", None).unwrap();
        let variables = Variables::new(&adapter, End::B, Path::new("/d"));
        assert_eq!(
            variables.put_in("$inner_local $local $remote $dir/$end"),
            "10.73.0.2 10.71.1.2 10.71.1.1 /d/b"
        );
    }
}
