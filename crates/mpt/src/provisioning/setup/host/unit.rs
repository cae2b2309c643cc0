//! The unit of the daemon on a host where no package has brought it: that of the package, for the program and the users that this host has.

use std::path::{Path, PathBuf};

use crate::client::Failed;
use crate::provisioning::setup::step::{self, Step};

/// The unit of the package.
const PACKAGED: &str = include_str!("../../../../../../packaging/mptd.service");
/// The file of the unit, in the directory of the administrator's own units.
const FILE: &str = "/etc/systemd/system/mptd.service";
/// Directories that the unit hides from the daemon, and so from systemd when it starts the program.
const HIDDEN: [&str; 5] = ["/home", "/root", "/run/user", "/tmp", "/var/tmp"];
/// The settings of the unit that take the user of the package.
const OF_USER: [&str; 3] = ["User=", "Group=", "ExecStartPre="];

/// Returns true if systemd knows the unit.
pub(super) fn is_there() -> bool {
    step::run("systemctl", &["cat", "mptd"]).is_ok()
}

/// Checks that the unit can start this program.
///
/// # Errors
///
/// The program is where a service does not see it.
pub(crate) fn check(program: &Path) -> Result<(), Failed> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    let hidden = HIDDEN.iter().any(|directory| program.starts_with(directory));
    if hidden || !program.to_string_lossy().chars().all(is_plain) {
        return Err(Failed::Usage(format!(
            "{} cannot be started as a service, which sees neither home nor temporary directories: install mptd and mpt elsewhere, such as in \
             /usr/local/sbin, or choose --start background",
            program.display()
        )));
    }
    Ok(())
}

/// Returns the step that makes the unit.
pub(crate) fn step(program: &Path) -> Step {
    let user = nix::unistd::User::from_name(mpt_config::USUAL_USER).ok().flatten();
    Step::File { path: PathBuf::from(FILE), text: text(program, user.is_some()) }
}

/// Returns the text of the unit. Without its user the daemon is root, and gives up all rights but those for the network by itself.
fn text(program: &Path, has_user: bool) -> String {
    let stays = |line: &&str| {
        let of_user = OF_USER.iter().any(|setting| line.starts_with(setting));
        !line.starts_with('#') && (has_user || !of_user)
    };
    let lines = PACKAGED.lines().filter(stays).map(|line| match line.starts_with("ExecStart=") {
        true => format!("ExecStart={}\n", program.display()),
        false => format!("{line}\n"),
    });
    format!(
        "# Made by mpt setup or mpt join; mpt setup undo removes it.\n{}",
        lines.collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of a setting in a unit.
    fn values<'a>(unit: &'a str, setting: &str) -> Vec<&'a str> {
        unit.lines().filter_map(|line| line.strip_prefix(setting)?.strip_prefix('=')).collect()
    }

    #[test]
    fn the_unit_is_that_of_the_package_for_this_host() {
        let program = Path::new("/usr/local/sbin/mptd");
        let [with, without] = [true, false].map(|has_user| text(program, has_user));
        for unit in [&with, &without] {
            assert_eq!(values(unit, "ExecStart"), ["/usr/local/sbin/mptd"]);
            for setting in ["CapabilityBoundingSet", "ProtectSystem", "WatchdogSec", "WantedBy"] {
                let packaged = values(PACKAGED, setting);
                assert!(!packaged.is_empty() && values(unit, setting) == packaged, "{setting}");
            }
        }
        for setting in ["User", "Group", "ExecStartPre"] {
            assert_eq!(values(&with, setting), values(PACKAGED, setting), "{setting}");
            assert_eq!(values(&without, setting), [""; 0], "{setting}");
        }
    }

    #[test]
    fn a_program_that_a_service_does_not_see_is_refused() {
        for hidden in ["/home/anna/mpt/target/release/mptd", "/tmp/mptd", "/opt/my tools/mptd"] {
            let Err(refused) = check(Path::new(hidden)) else { panic!("{hidden}") };
            let refused = refused.to_string();
            assert!(
                refused.contains(hidden) && refused.contains("--start background"),
                "{refused}"
            );
        }
        for seen in ["/usr/local/sbin/mptd", "/usr/sbin/mptd", "/opt/mpt-0.1/mptd"] {
            assert!(check(Path::new(seen)).is_ok(), "{seen}");
        }
    }
}
