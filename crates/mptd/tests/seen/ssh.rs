//! A real `sshd` on a host, with keys and accounts of its own, and `ssh` to it from another host.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::hosts::{Host, wait_for};
use crate::shell::Shell;

/// The directory into which `scripts/setup seen-test` unpacks the server. Installed, it would listen on every address of the machine.
const UNPACKED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/openssh-server");

const PORT: u16 = 2222;

/// Makes the accounts and directories that the server expects, all in the shell's own file systems, and a log of logins of its own. Newer versions
/// call their helpers by absolute paths.
const PREPARE: &str = "set -e\n\
    mount -t tmpfs tmpfs /var/log && touch /var/log/lastlog\n\
    mkdir -p /run/sshd\n\
    mount --bind \"$UNPACKED/usr/lib/openssh\" /usr/lib/openssh\n\
    echo 'root:x:0:0:root:/run:/bin/sh' >/etc/passwd\n\
    echo 'sshd:x:100:65534::/run/sshd:/usr/sbin/nologin' >>/etc/passwd\n\
    echo 'root:*:19000:0:99999:7:::' >/etc/shadow\n\
    for LD_LIBRARY_PATH in \"$UNPACKED\"/usr/lib/*-linux-gnu*; do export LD_LIBRARY_PATH; done\n\
    set +e\n";

/// The server, which ends with all its sessions when this is dropped.
pub(crate) struct SshServer {
    address: String,
    /// The keys, and what each end knows of the other.
    directory: TempDir,
    _shell: Shell,
}

impl SshServer {
    /// Starts it on an address of this host.
    pub(crate) fn start(host: &Host, address: &str) -> Self {
        let program = Path::new(UNPACKED).join("usr/sbin/sshd");
        assert!(program.exists(), "{} is missing: scripts/setup seen-test", program.display());
        let directory = tempfile::tempdir().unwrap();
        for key in ["host", "user"] {
            let mut keygen = Command::new("ssh-keygen");
            keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(directory.path().join(key));
            assert!(keygen.status().expect("ssh-keygen: scripts/setup seen-test").success());
        }
        let public = fs::read_to_string(directory.path().join("host.pub")).unwrap();
        let known = format!("[{address}]:{PORT} {public}");
        fs::write(directory.path().join("known"), known).unwrap();

        let mut shell = Shell::new(host);
        shell.succeeds(&format!("UNPACKED='{UNPACKED}'\n{PREPARE}"));
        let own = directory.path().display();
        let config = format!(
            "ListenAddress {address}:{PORT}\n\
             HostKey {own}/host\n\
             AuthorizedKeysFile {own}/user.pub\n\
             PermitRootLogin prohibit-password\n\
             PasswordAuthentication no\n\
             UsePAM no\n\
             StrictModes no\n\
             PidFile none"
        );
        shell.write("/run/sshd_config", &config);
        shell.start("\"$UNPACKED/usr/sbin/sshd\" -D -e -f /run/sshd_config");
        wait_for("sshd listens", || {
            let listening = host.program("ss", &format!("-tlnH sport = :{PORT}"));
            listening.contains(address).then_some(())
        });
        Self { address: address.to_owned(), directory, _shell: shell }
    }

    /// Returns the command that runs a program on the server, in a terminal, from another host.
    pub(crate) fn client(&self, from: &Host, program: &Command) -> Command {
        let file = |name: &str| self.directory.path().join(name).display().to_string();
        let mut ssh = Command::new("ip");
        ssh.args(["netns", "exec", from.namespace.name(), "ssh", "-tt", "-F", "none"]);
        ssh.args(["-i", &file("user"), "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none"]);
        ssh.args(["-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes"]);
        ssh.args(["-o", &format!("UserKnownHostsFile={}", file("known"))]);
        ssh.args(["-p", &PORT.to_string(), &format!("root@{}", self.address)]);
        ssh.arg(program.get_program()).args(program.get_args());
        ssh
    }
}
