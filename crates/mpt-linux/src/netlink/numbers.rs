//! Numbers for routing tables of our own, marks, and what a daemon that was killed left behind.
//!
//! Several daemons may run in one network namespace. Each holds a block of [`NUMBERS`] and its mark by
//! abstract UNIX sockets of their names, which the kernel frees however the daemon ends; so whatever
//! carries our protocol number and a table or mark that nobody holds was left behind.

use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use super::{Error, Netlink, Route, Rule, tolerate_gone};

/// Numbers of our tables ("mp" and a counter). Nobody numbers tables by hand up here.
pub const NUMBERS: Range<u32> = 0x6d70_0000..0x6d80_0000;

/// Numbers in a block: more tables than a host has interfaces and paths.
const BLOCK: u32 = 0x1000;

/// A block of numbers that are ours as long as this value lives. Dropping it removes nothing.
#[derive(Debug)]
pub(super) struct Numbers {
    first: u32,
    used: BTreeSet<u32>,
    _claim: UnixListener,
}

impl Numbers {
    /// The first free block. What was left behind under its numbers is removed.
    pub(super) async fn claim(netlink: &Netlink) -> Result<Self, Error> {
        for first in NUMBERS.step_by(BLOCK as usize) {
            match Self::try_claim(netlink, first) {
                Ok(numbers) => {
                    let (rules, routes) = (netlink.own_rules().await?, netlink.own_routes().await?);
                    numbers.remove_leftovers(netlink, &rules, &routes).await?;
                    return Ok(numbers);
                }
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                Err(error) => return Err(refused(error)),
            }
        }
        Err(refused(io::ErrorKind::AddrInUse.into()))
    }

    fn try_claim(netlink: &Netlink, first: u32) -> io::Result<Self> {
        let claim = claim(netlink, &format!("mpt-numbers-{first:08x}"))?;
        Ok(Self { first, used: BTreeSet::new(), _claim: claim })
    }

    /// A number that no other table has.
    pub(super) fn take(&mut self) -> Result<u32, Error> {
        let free = (self.first..self.first + BLOCK).find(|number| !self.used.contains(number));
        let free = free.ok_or_else(|| refused(io::ErrorKind::StorageFull.into()))?;
        self.used.insert(free);
        Ok(free)
    }

    /// The table with this number is gone.
    pub(super) fn give_back(&mut self, number: u32) {
        self.used.remove(&number);
    }

    async fn remove_leftovers(
        &self,
        netlink: &Netlink,
        rules: &[Rule],
        routes: &[Route],
    ) -> Result<(), Error> {
        remove_rules(netlink, rules, |rule| block(rule.table) == Some(self.first)).await?;
        for route in routes.iter().filter(|route| block(route.table) == Some(self.first)) {
            tracing::info!(%route, "left behind by a daemon that was killed: removed");
            tolerate_gone(netlink.remove_route(route).await)?;
        }
        Ok(())
    }
}

/// A mark that is ours as long as this value lives.
#[derive(Debug)]
pub(super) struct Mark {
    pub(super) value: u32,
    _claim: UnixListener,
}

impl Mark {
    /// [`Error::MarkInUse`] when another daemon has it. What was left behind with it is removed.
    pub(super) async fn claim(netlink: &Netlink, value: u32) -> Result<Self, Error> {
        match Self::try_claim(netlink, value) {
            Ok(mark) => {
                let rules = netlink.own_rules().await?;
                remove_rules(netlink, &rules, |rule| marked(rule) == Some(value)).await?;
                Ok(mark)
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(Error::MarkInUse(value)),
            Err(error) => Err(refused(error)),
        }
    }

    fn try_claim(netlink: &Netlink, value: u32) -> io::Result<Self> {
        let claim = claim(netlink, &format!("mpt-mark-{value:08x}"))?;
        Ok(Self { value, _claim: claim })
    }
}

impl Netlink {
    /// Removes the rules and the routes in tables of their own that daemons left behind that were
    /// killed; those of running ones stay. (Addresses and routes of a tunnel went with its device.)
    pub async fn remove_leftovers(&self) -> Result<(), Error> {
        let (rules, routes) = (self.own_rules().await?, self.own_routes().await?);
        let tables = rules.iter().map(|rule| rule.table).chain(routes.iter().map(|it| it.table));
        for first in tables.filter_map(block).collect::<BTreeSet<u32>>() {
            match Numbers::try_claim(self, first) {
                Ok(numbers) => numbers.remove_leftovers(self, &rules, &routes).await?,
                // Its daemon lives.
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                Err(error) => return Err(refused(error)),
            }
        }
        for value in rules.iter().filter_map(marked).collect::<BTreeSet<u32>>() {
            match Mark::claim(self, value).await {
                Ok(_) | Err(Error::MarkInUse(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Such names are those of one network namespace.
fn claim(netlink: &Netlink, name: &str) -> io::Result<UnixListener> {
    let name = SocketAddr::from_abstract_name(name)?;
    netlink.run_there(|| UnixListener::bind_addr(&name))
}

async fn remove_rules(
    netlink: &Netlink,
    rules: &[Rule],
    which: impl Fn(&Rule) -> bool,
) -> Result<(), Error> {
    for rule in rules.iter().filter(|rule| which(rule)) {
        tracing::info!(%rule, "left behind by a daemon that was killed: removed");
        tolerate_gone(netlink.remove_rule(rule).await)?;
    }
    Ok(())
}

/// The block of a number, if it is one of ours.
fn block(number: u32) -> Option<u32> {
    NUMBERS.contains(&number).then_some(number - number % BLOCK)
}

/// The mark of a rule that is not told by its table.
fn marked(rule: &Rule) -> Option<u32> {
    rule.mark.filter(|_| block(rule.table).is_none())
}

fn refused(source: io::Error) -> Error {
    Error::Refused { attempt: "claim numbers for routing tables".to_owned(), source }
}
