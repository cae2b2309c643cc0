//! Restriction of a process by landlock (`Documentation/userspace-api/landlock.rst` of the kernel):
//! files (Linux 5.13), TCP (6.7), signals and abstract UNIX sockets (6.12).

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope, path_beneath_rules,
};

use super::Error;

/// The newest version of landlock whose rights are known here; what an older kernel lacks is left out.
const KNOWN: ABI = ABI::V6;

/// The files and ports that a process may still reach. Opening or connecting to anything else is
/// refused. Files that are open already stay open.
#[derive(Clone, Debug, Default)]
pub struct Sandbox {
    files: Vec<(PathBuf, BitFlags<AccessFs>)>,
    ports: Vec<u16>,
    abstract_sockets: bool,
}

/// The extent to which the kernel enforces the restriction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enforced {
    /// Everything that is known here.
    Fully,
    /// The kernel enforces what its version can, and allows the rest.
    Partly,
    /// The kernel enforces nothing, since it has no landlock.
    Not,
}

impl Sandbox {
    /// True if the kernel has landlock at all.
    #[must_use]
    pub fn is_possible() -> bool {
        let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        ruleset.handle_access(AccessFs::from_all(ABI::V1)).and_then(Ruleset::create).is_ok()
    }

    /// Lets everything beneath a path be read. A path that does not exist needs no permission, but has to be made first if it will exist later.
    #[must_use]
    pub fn read(self, path: impl AsRef<Path>) -> Self {
        self.allow(path, AccessFs::ReadFile | AccessFs::ReadDir)
    }

    /// Lets a device be read, written and controlled (ioctl).
    #[must_use]
    pub fn device(self, path: impl AsRef<Path>) -> Self {
        self.allow(path, AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev)
    }

    /// Lets files of a directory be read, written, made, replaced and removed.
    #[must_use]
    pub fn write(self, directory: impl AsRef<Path>) -> Self {
        let read = AccessFs::ReadFile | AccessFs::ReadDir;
        let write = AccessFs::WriteFile | AccessFs::Truncate;
        self.allow(directory, read | write | AccessFs::MakeReg | AccessFs::RemoveFile)
    }

    /// Lets UNIX sockets in a directory be made, replaced and removed.
    #[must_use]
    pub fn sockets(self, directory: impl AsRef<Path>) -> Self {
        self.allow(directory, AccessFs::ReadDir | AccessFs::MakeSock | AccessFs::RemoveFile)
    }

    /// Lets TCP connections to this port be opened, at any address. Those to other ports are refused, and so is listening.
    #[must_use]
    pub fn connect_tcp(mut self, port: u16) -> Self {
        self.ports.push(port);
        self
    }

    /// Lets abstract UNIX sockets of other processes be reached. Those in the file system always can.
    #[must_use]
    pub fn reach_abstract_sockets(mut self) -> Self {
        self.abstract_sockets = true;
        self
    }

    fn allow(mut self, path: impl AsRef<Path>, rights: BitFlags<AccessFs>) -> Self {
        self.files.push((path.as_ref().to_owned(), rights));
        self
    }

    /// From now on, this thread and those that it starts can reach nothing else. They cannot send signals to other processes either.
    ///
    /// # Errors
    ///
    /// Fails when the kernel has landlock and refuses the rules.
    pub fn confine(self) -> Result<Enforced, Error> {
        let mut scope = BitFlags::from(Scope::Signal);
        if !self.abstract_sockets {
            scope |= Scope::AbstractUnixSocket;
        }
        let ruleset = Ruleset::default().handle_access(AccessFs::from_all(KNOWN))?;
        let ruleset = ruleset.handle_access(AccessNet::from_all(KNOWN))?.scope(scope)?;
        let mut created = ruleset.create()?;
        for (path, rights) in self.files {
            // Those of a file where it is one: the kernel refuses the others for it.
            created = created.add_rules(path_beneath_rules([path], rights))?;
        }
        for port in self.ports {
            created = created.add_rule(NetPort::new(port, AccessNet::ConnectTcp))?;
        }
        Ok(match created.restrict_self()?.ruleset {
            RulesetStatus::FullyEnforced => Enforced::Fully,
            RulesetStatus::PartiallyEnforced => Enforced::Partly,
            RulesetStatus::NotEnforced => Enforced::Not,
        })
    }
}
