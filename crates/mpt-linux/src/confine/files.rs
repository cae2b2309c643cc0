//! Files that a process may use, by landlock (`Documentation/userspace-api/landlock.rst` of the kernel, Linux 5.13 and later).

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope, path_beneath_rules,
};

use super::Error;

/// The newest version of landlock whose rights are known here; what an older kernel lacks is left out.
const KNOWN: ABI = ABI::V6;

/// What may be read, and what may be written as well. Everything else that would have to be opened is refused; what is open already stays open.
#[derive(Clone, Debug, Default)]
pub struct Files {
    rules: Vec<(PathBuf, BitFlags<AccessFs>)>,
}

/// How much of it the kernel enforces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enforced {
    /// Everything that is known here.
    Fully,
    /// What a kernel of its age can: the rest is allowed.
    Partly,
    /// Nothing: the kernel has no landlock.
    Not,
}

impl Files {
    /// Whether the kernel has landlock at all.
    #[must_use]
    pub fn are_confinable() -> bool {
        let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        ruleset.handle_access(AccessFs::from_all(ABI::V1)).and_then(Ruleset::create).is_ok()
    }

    /// Lets everything beneath a path be read. What does not exist needs no permission, but see to it that it exists if it will.
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

    fn allow(mut self, path: impl AsRef<Path>, rights: BitFlags<AccessFs>) -> Self {
        self.rules.push((path.as_ref().to_owned(), rights));
        self
    }

    /// From now on, this process can use nothing else. It cannot send signals to other processes either.
    ///
    /// # Errors
    ///
    /// When the kernel has landlock and refuses the rules.
    pub fn confine(self) -> Result<Enforced, Error> {
        let handled = AccessFs::from_all(KNOWN);
        let ruleset = Ruleset::default().handle_access(handled)?.scope(Scope::Signal)?;
        let mut created = ruleset.create()?;
        for (path, rights) in self.rules {
            // Those of a file where it is one: the kernel refuses the others for it.
            created = created.add_rules(path_beneath_rules([path], rights))?;
        }
        Ok(match created.restrict_self()?.ruleset {
            RulesetStatus::FullyEnforced => Enforced::Fully,
            RulesetStatus::PartiallyEnforced => Enforced::Partly,
            RulesetStatus::NotEnforced => Enforced::Not,
        })
    }
}
