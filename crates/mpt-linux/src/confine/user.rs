//! Users of the system.

use std::ffi::CString;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::path::Path;

use caps::securebits;
use nix::unistd;

use super::Error;

/// Somebody that a process can become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    name: String,
    uid: u32,
    gid: u32,
}

/// True if this process runs as root, of the machine or of a user namespace.
#[must_use]
pub fn is_root() -> bool {
    unistd::geteuid().is_root()
}

impl User {
    /// The user of this name, `None` where there is none.
    ///
    /// # Errors
    ///
    /// Fails when the list of users cannot be read.
    pub fn find(name: &str) -> Result<Option<Self>, Error> {
        let found = unistd::User::from_name(name);
        let found = found.map_err(|source| Error::LookUp { user: name.to_owned(), source })?;
        Ok(found.map(|it| Self { name: it.name, uid: it.uid.as_raw(), gid: it.gid.as_raw() }))
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// True if a file or directory belongs to it; not, when it is not there.
    #[must_use]
    pub fn owns(&self, path: &Path) -> bool {
        std::fs::metadata(path).is_ok_and(|metadata| metadata.uid() == self.uid)
    }

    /// True if it may read and write an existing file, by owner, group and mode; directories on the way are not looked at.
    #[must_use]
    pub fn can_change(&self, file: &Path) -> bool {
        let Ok(metadata) = std::fs::metadata(file) else { return false };
        let name = CString::new(self.name.as_str()).unwrap_or_default();
        let groups = unistd::getgrouplist(&name, unistd::Gid::from_raw(self.gid));
        let in_group =
            groups.unwrap_or_default().iter().any(|group| group.as_raw() == metadata.gid());
        // The first class that applies decides, even if a later one would allow more.
        let class = if metadata.uid() == self.uid {
            6
        } else if in_group {
            3
        } else {
            0
        };
        self.uid == 0 || metadata.mode() >> class & 0o6 == 0o6
    }

    /// Makes a directory for it, if it is missing, that everybody may read. `always`: one that exists is given to it.
    ///
    /// # Errors
    ///
    /// Fails when the system refuses.
    pub fn make_directory(&self, path: &Path, always: bool) -> Result<(), Error> {
        let failed = |source| Error::Directory { path: path.to_owned(), source };
        match std::fs::DirBuilder::new().mode(0o755).create(path) {
            Ok(()) => {
                // Whatever the umask.
                let mode = std::fs::Permissions::from_mode(0o755);
                std::fs::set_permissions(path, mode).map_err(failed)?;
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if !always {
                    return Ok(());
                }
            }
            Err(error) => return Err(failed(error)),
        }
        chown(path, Some(self.uid), Some(self.gid)).map_err(failed)
    }

    /// The process becomes this user, with its groups, and keeps the capabilities it is permitted; none of them is effective afterwards.
    ///
    /// # Errors
    ///
    /// Fails when the kernel refuses; the groups may then be changed already.
    pub fn become_it(&self) -> Result<(), Error> {
        let failed = |source| Error::Switch { user: self.name.clone(), source };
        let name = CString::new(self.name.as_str()).map_err(|_| failed(nix::Error::EINVAL))?;
        let (uid, gid) = (unistd::Uid::from_raw(self.uid), unistd::Gid::from_raw(self.gid));
        securebits::set_keepcaps(true)?;
        unistd::initgroups(&name, gid).map_err(failed)?;
        unistd::setresgid(gid, gid, gid).map_err(failed)?;
        unistd::setresuid(uid, uid, uid).map_err(failed)?;
        securebits::set_keepcaps(false)?;
        Ok(())
    }
}
