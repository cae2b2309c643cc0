//! Capabilities (capabilities(7)).

use caps::{CapSet, Capability, CapsHashSet};

use super::Error;

/// Gives up every capability but `CAP_NET_ADMIN` (devices, routes, marks, buffers beyond the limits), and that as well where the process has
/// it not; programs that it starts get none.
///
/// # Errors
///
/// Fails when the kernel refuses; some may then be gone already.
pub fn keep_network_only() -> Result<(), Error> {
    keep(&CapsHashSet::from([Capability::CAP_NET_ADMIN]))
}

/// Gives up every capability; programs that the process starts get none.
///
/// # Errors
///
/// Fails when the kernel refuses; some may then be gone already.
pub fn keep_nothing() -> Result<(), Error> {
    keep(&CapsHashSet::new())
}

fn keep(kept: &CapsHashSet) -> Result<(), Error> {
    caps::clear(None, CapSet::Ambient)?;
    caps::clear(None, CapSet::Inheritable)?;
    // After a change of the user the capabilities that are left are permitted, but not effective.
    let permitted = caps::read(None, CapSet::Permitted)?;
    caps::set(None, CapSet::Effective, &permitted)?;
    // The bounding set takes a capability to change. Without it there is none to be had by starting programs, either: see below.
    if permitted.contains(&Capability::CAP_SETPCAP) {
        for capability in caps::runtime::thread_all_supported().difference(kept) {
            caps::drop(None, CapSet::Bounding, *capability)?;
        }
    }
    let kept = permitted.intersection(kept).copied().collect();
    // A capability that is not permitted cannot be effective, so the effective ones are cut down first. In this order neither call is refused.
    caps::set(None, CapSet::Effective, &kept)?;
    caps::set(None, CapSet::Permitted, &kept)?;
    nix::sys::prctl::set_no_new_privs().map_err(Error::NewPrivileges)
}
