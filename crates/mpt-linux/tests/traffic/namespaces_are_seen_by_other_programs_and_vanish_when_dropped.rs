//! Named namespaces are what `ip netns` takes for such, and are always removed.

use std::fs;
use std::panic;
use std::path::Path;
use std::process::Command;

use mpt_linux::netns::{Namespace, NamespaceError, run_in};

use crate::network::namespace;

/// Identity of the network namespace of the calling thread.
fn identity() -> String {
    fs::read_link("/proc/thread-self/ns/net").unwrap().to_str().unwrap().to_owned()
}

#[test]
fn ip_netns_exec_finds_it_by_name() {
    let namespace = namespace("seen");
    assert!(namespace.is_mounted());
    let inside = run_in(&namespace, identity).unwrap();
    let command = ["netns", "exec", namespace.name(), "readlink", "/proc/self/ns/net"];
    let output = Command::new("ip").args(command).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), inside);
    assert_ne!(inside, identity());
}

#[test]
fn it_is_gone_when_dropped() {
    let namespace = namespace("dropped");
    let path = namespace.path();
    assert!(path.exists());
    drop(namespace);
    assert!(!path.exists());
}

#[test]
fn it_is_gone_after_a_panic() {
    let result = panic::catch_unwind(|| {
        let namespace = namespace("panic");
        panic::panic_any(namespace.path());
    });
    let path = result.unwrap_err().downcast::<std::path::PathBuf>().unwrap();
    assert!(path.starts_with("/run/netns") && !path.exists());
}

#[test]
fn one_that_exists_is_never_joined() {
    let first = namespace("twice");
    let error = Namespace::create(first.name()).unwrap_err();
    assert!(matches!(&error, NamespaceError::Exists(name) if name == first.name()), "{error}");
    assert!(Path::new("/run/netns").join(first.name()).exists());
}

#[test]
fn work_in_it_leaves_the_calling_thread_where_it_was() {
    let namespace = namespace("thread");
    let before = identity();
    let inside = run_in(&namespace, identity).unwrap();
    assert_ne!(inside, before);
    assert_eq!(identity(), before);
}

#[test]
fn a_panic_of_the_work_reaches_the_caller() {
    let namespace = namespace("work");
    let result = panic::catch_unwind(|| run_in(&namespace, || panic!("of the work")));
    assert_eq!(*result.unwrap_err().downcast::<&str>().unwrap(), "of the work");
}

#[test]
fn commands_run_in_it() {
    let namespace = namespace("command");
    let output = namespace.command("readlink").unwrap().arg("/proc/self/ns/net").output().unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap().trim(),
        run_in(&namespace, identity).unwrap()
    );
}
