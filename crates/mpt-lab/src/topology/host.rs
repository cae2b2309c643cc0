//! One host.

use std::fmt;
use std::process::{Child, Command, Output};

use anyhow::{Context, Result, bail};
use mpt_linux::netns::{self, Namespace};

use crate::processes::Process;

/// A host; gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Host {
    namespace: Namespace,
}

impl Host {
    /// Returns a host without any interface but the loopback, which is down.
    pub(crate) fn new(name: impl fmt::Display) -> Result<Self> {
        // The process id keeps laboratories that run at the same time apart.
        let namespace = Namespace::create(&format!("mpt-lab-{}-{name}", std::process::id()))?;
        Ok(Self { namespace })
    }

    /// Returns its namespace.
    pub(crate) fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Runs `work` on a thread of this host, to its end. Sockets opened there stay there.
    pub(crate) fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> Result<R> {
        Ok(netns::run_in(&self.namespace, work)?)
    }

    /// Starts a program on this host; it is killed when the returned process is dropped.
    pub(crate) fn spawn(&self, command: Command) -> Result<Process> {
        self.spawn_child(command).map(Process)
    }

    /// Starts a program on this host; whoever calls has to wait for it.
    pub(crate) fn spawn_child(&self, mut command: Command) -> Result<Child> {
        let program = command.get_program().to_owned();
        let started = self.namespace.enter(&mut command)?.spawn();
        started.with_context(|| format!("cannot run {}", program.display()))
    }

    /// Runs `ip` and returns its output.
    pub(crate) fn ip(&self, arguments: &[&str]) -> Result<String> {
        self.call("ip", arguments)
    }

    /// Switches offloads of an interface off, by the names that `ethtool` has for them.
    pub(crate) fn do_without(&self, interface: &str, offloads: &[&str]) -> Result<()> {
        let off = offloads.iter().flat_map(|offload| [*offload, "off"]);
        let arguments: Vec<&str> = ["-K", interface].into_iter().chain(off).collect();
        self.call("ethtool", &arguments).map(drop)
    }

    fn call(&self, program: &str, arguments: &[&str]) -> Result<String> {
        let output = self.namespace.command(program)?.args(arguments).output();
        let Output { status, stdout, stderr } =
            output.with_context(|| format!("cannot run {program}"))?;
        if !status.success() {
            let why = String::from_utf8_lossy(&stderr);
            bail!("{program} {}: {}", arguments.join(" "), why.trim());
        }
        Ok(String::from_utf8_lossy(&stdout).into_owned())
    }
}
