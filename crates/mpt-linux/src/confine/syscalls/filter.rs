//! The filters, made of the lists.

mod lists;

use std::collections::BTreeMap;
use std::io;

use libc::c_long;
use seccompiler::SeccompCmpArgLen::{Dword, Qword};
use seccompiler::SeccompCmpOp::{Eq, MaskedEq, Ne};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter_all_threads,
};

use super::Work;
use crate::confine::Error;
use lists::{
    DAEMON, DAEMON_HERE, HOSTILE, INTERNET_FAMILIES, LOCAL_FAMILIES, OPENING, PRCTL, PROTOCOLS,
    TYPING,
};

/// Rules by system call: one of them has to apply; without any the call always matches.
type Rules = BTreeMap<c_long, Vec<SeccompRule>>;

pub(super) fn restrict(work: Work) -> Result<bool, Error> {
    install(work).map_err(|error| Error::SystemCalls(error.into()))
}

fn install(work: Work) -> Result<bool, seccompiler::Error> {
    let missing = u32::try_from(libc::ENOSYS).expect("error numbers are positive");
    let needed = match work {
        Work::Daemon => daemon()?,
        Work::Opening => calls(OPENING),
    };
    let hostile = (calls(HOSTILE), SeccompAction::Allow, SeccompAction::KillProcess);
    let needed = (needed, SeccompAction::Errno(missing), SeccompAction::Allow);
    // In this order: the second takes away the call that installs filters.
    for (rules, otherwise, matching) in [hostile, needed] {
        match apply_filter_all_threads(&program(rules, otherwise, matching)?) {
            Ok(()) => {}
            Err(seccompiler::Error::Prctl(error) | seccompiler::Error::Seccomp(error))
                if is_missing(&error) =>
            {
                return Ok(false);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Kernels without seccomp know neither the call nor its arguments. Filters of service managers and containers refuse it.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EINVAL | libc::EPERM))
}

fn program(
    rules: Rules,
    otherwise: SeccompAction,
    matching: SeccompAction,
) -> Result<BpfProgram, BackendError> {
    let here = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, otherwise, matching, here)?.try_into()
}

fn calls(list: &[c_long]) -> Rules {
    list.iter().map(|call| (*call, Vec::new())).collect()
}

fn daemon() -> Result<Rules, BackendError> {
    let mut rules = calls(DAEMON);
    rules.extend(calls(DAEMON_HERE));
    let argument = |index, value: u64| SeccompCondition::new(index, Dword, Eq, value);
    let number = |value: i32| u64::from(value.cast_unsigned());

    // A thread, no process. glibc takes `clone3` first, whose arguments no filter can see; it is missing here.
    let thread = u64::from(libc::CLONE_THREAD.cast_unsigned());
    let thread = SeccompCondition::new(0, Qword, MaskedEq(thread), thread)?;
    rules.insert(libc::SYS_clone, vec![SeccompRule::new(vec![thread])?]);

    let mut sockets = Vec::new();
    for family in LOCAL_FAMILIES {
        sockets.push(SeccompRule::new(vec![argument(0, number(family))?])?);
    }
    for family in INTERNET_FAMILIES {
        for protocol in PROTOCOLS {
            let both = vec![argument(0, number(family))?, argument(2, number(protocol))?];
            sockets.push(SeccompRule::new(both)?);
        }
    }
    rules.insert(libc::SYS_socket, sockets);

    // The kernel takes 32 bits of a request.
    let not = |request| SeccompCondition::new(1, Dword, Ne, request);
    let requests = TYPING.into_iter().map(not).collect::<Result<_, _>>()?;
    rules.insert(libc::SYS_ioctl, vec![SeccompRule::new(requests)?]);

    let names = PRCTL.into_iter().map(|name| SeccompRule::new(vec![argument(0, number(name))?]));
    rules.insert(libc::SYS_prctl, names.collect::<Result<_, _>>()?);
    Ok(rules)
}
