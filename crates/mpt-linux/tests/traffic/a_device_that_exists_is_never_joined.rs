//! A TUN device of the same name is somebody else's. (Without `IFF_TUN_EXCL` the kernel would let a second daemon share a
//! multi-queue device, and give it half of the packets.)

use mpt_linux::netns::{Namespace, run_in};
use mpt_linux::tun::{Tun, TunError};

#[test]
fn it_is_an_error_that_names_it() {
    crate::network::require_root();
    let namespace = Namespace::create(&format!("mpt-linux-tun-{}", std::process::id())).unwrap();
    run_in(&namespace, || {
        let first = Tun::create("mpt0").unwrap();
        assert_eq!(first.name(), "mpt0");
        assert!(first.offloads().tso);
        let error = Tun::create("mpt0").unwrap_err();
        assert!(matches!(&error, TunError::Exists(name) if name == "mpt0"), "{error}");
        assert_eq!(
            error.to_string(),
            "device mpt0 exists already; remove it or choose another name"
        );
        drop(first);
        Tun::create("mpt0").expect("it goes with its descriptor");
    })
    .unwrap();
}

#[test]
fn names_that_are_none_are_refused() {
    for name in ["", "sixteen-bytes-xx", "a b", "a/b", ".", "..", "a:b", "a\0b"] {
        assert!(matches!(Tun::create(name), Err(TunError::Name(_))), "{name:?}");
    }
}
