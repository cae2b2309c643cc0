//! Without the test harness, whose threads would stand in the way: the process gives up root, then
//! does as a user without privileges would.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use mpt_linux::netlink::{Netlink, VethEnd};
use mpt_linux::netns::{Namespace, Privilege, become_root, run_in, tc};
use nix::unistd::{Gid, Uid, geteuid, setgid, setgroups, setuid};

const NOBODY: u32 = 65_534;

fn main() {
    assert!(geteuid().is_root(), "this test makes network namespaces: run it as root");
    assert_eq!(become_root().unwrap(), Privilege::Root, "root stays as it is");

    setgroups(&[]).unwrap();
    setgid(Gid::from_raw(NOBODY)).unwrap();
    setuid(Uid::from_raw(NOBODY)).unwrap();
    // Changing the user made /proc/self belong to root; a process started by the user has its own.
    nix::sys::prctl::set_dumpable(true).unwrap();
    let host = fs::read_link("/proc/self/ns/net").unwrap();

    assert_eq!(become_root().unwrap(), Privilege::UserNamespace);
    assert!(geteuid().is_root());
    assert_ne!(fs::read_link("/proc/self/ns/net").unwrap(), host);

    let names = ["mpt-linux-user-a", "mpt-linux-user-b"];
    let [a, b] = names.map(|name| Namespace::create(name).unwrap());
    assert_eq!(a.is_mounted(), Path::new("/run/netns").join(a.name()).exists());
    // Visible or not, there is a path to it.
    let inside = run_in(&a, || fs::metadata("/proc/thread-self/ns/net").unwrap()).unwrap();
    let through_path = fs::metadata(a.path()).unwrap();
    assert_eq!(through_path.ino(), inside.ino());

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let netlink = Netlink::connect_in(&a).unwrap();
        let ends =
            [VethEnd { name: "left", namespace: &a }, VethEnd { name: "right", namespace: &b }];
        netlink.add_veth(ends[0], ends[1]).await.unwrap();
        let index = netlink.link("left").await.unwrap().index;
        netlink.add_address(index, "10.0.0.1/24".parse().unwrap()).await.unwrap();
        netlink.set_up(index).await.unwrap();
    });
    let shaper = "qdisc add dev left root tbf rate 100mbit burst 64kb latency 50ms";
    tc(&a, &shaper.split(' ').collect::<Vec<_>>()).unwrap();

    // If nothing may be written to /run/netns, a namespace has no name but works all the same.
    drop((a, b));
    let _ = nix::mount::umount("/run/netns");
    let unnamed = Namespace::create(names[0]).unwrap();
    assert!(!unnamed.is_mounted());
    let through_path = fs::read_link(unnamed.path()).unwrap();
    let inside = run_in(&unnamed, || fs::read_link("/proc/thread-self/ns/net").unwrap()).unwrap();
    assert_eq!(through_path, inside);
    drop(unnamed);
    for name in names {
        assert!(!Path::new("/run/netns").join(name).exists());
    }
}
