//! Leftovers of laboratories that were killed.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::mount::{MntFlags, umount2};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use procfs::process::{Process, all_processes};

/// Prefix of every name of a namespace or directory of a laboratory; its process id follows, then `-`.
const PREFIX: &str = "mpt-lab-";
/// Directory with the names of namespaces.
const NAMESPACES: &str = "/run/netns";

/// Removes namespaces, processes in them, and directories of laboratories that no longer run. Those of others are left alone.
/// What cannot be removed is left: it does not disturb, the names of this laboratory are its own.
pub(crate) fn remove() {
    for path in of_the_dead(Path::new(NAMESPACES)) {
        end_processes_in(&path);
        // Fails if it is no mount point any more; then only the file is left.
        let _ = umount2(&path, MntFlags::MNT_DETACH);
        let _ = fs::remove_file(&path);
    }
    for path in of_the_dead(&std::env::temp_dir()) {
        let _ = fs::remove_dir_all(&path);
    }
}

/// Returns a prefix for directories of this laboratory, by which a later one knows their owner.
pub(crate) fn prefix() -> String {
    format!("{PREFIX}{}-", std::process::id())
}

fn of_the_dead(directory: &Path) -> Vec<std::path::PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let entries = entries.filter_map(Result::ok);
    let dead =
        entries.filter(|entry| owner(&entry.file_name().to_string_lossy()).is_some_and(is_dead));
    dead.map(|entry| entry.path()).collect()
}

/// Returns the process id in a name such as `mpt-lab-4711-a`.
fn owner(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.split_once('-')?.0.parse().ok()
}

fn is_dead(pid: u32) -> bool {
    i32::try_from(pid).map_or(true, |pid| Process::new(pid).is_err())
}

/// Ends the processes in a namespace: daemons and traffic outlive a laboratory that is killed.
fn end_processes_in(namespace: &Path) {
    let identity = |path: &Path| fs::metadata(path).map(|it| (it.dev(), it.ino())).ok();
    let Some(namespace) = identity(namespace) else { return };
    let Ok(processes) = all_processes() else { return };
    for process in processes.filter_map(Result::ok) {
        let Ok(namespaces) = process.namespaces() else { continue };
        let mut its = namespaces.0.values().filter(|it| it.ns_type == "net");
        if its.any(|it| (it.device_id, it.identifier) == namespace) {
            let _ = kill(Pid::from_raw(process.pid), Signal::SIGKILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_its_owner() {
        assert_eq!(owner("mpt-lab-4711-middle"), Some(4711));
        for other in ["mpt-lab-NfG8Px", "mpt-lab-4711", "mpt-lab--a", "other-1-a", "mpt-lab-1x-a"] {
            assert_eq!(owner(other), None, "{other}");
        }
        assert!(!is_dead(std::process::id()));
    }

    #[test]
    fn only_what_the_dead_had_is_found() {
        let directory = tempfile::tempdir().unwrap();
        // Larger than any process id of Linux.
        let dead = format!("mpt-lab-{}-x", 1 << 23);
        for name in [&dead, &format!("{}x", prefix()), "mpt-lab-abcdef", "something"] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        assert_eq!(of_the_dead(directory.path()), [directory.path().join(dead)]);
    }
}
