//! Numbers for routing tables of our own, marks, and what a daemon that was killed left behind.
//!
//! Several daemons may run in one network namespace. Each holds a block of [`NUMBERS`] and its mark by
//! abstract UNIX sockets of their names, which the kernel frees however the daemon ends; so whatever
//! carries our protocol number and a table or mark that nobody holds was left behind.
//!
//! A block ([`super::Internet::blocks`]) or guard ([`super::Owned::add_guard`]) that was left behind
//! does its work: it stays while a daemon starts, until [`super::Owned::remove_leftovers`].

pub(super) mod blocks;

use std::collections::BTreeSet;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use super::error::tolerate_gone;
use super::{Error, Netlink, Route, Rule};
use blocks::{BLOCK, NUMBERS, block};

/// A block of numbers that are ours as long as this value lives. Dropping it removes nothing.
#[derive(Debug)]
pub(super) struct Numbers {
    first: u32,
    used: BTreeSet<u32>,
    _claim: UnixListener,
}

impl Numbers {
    /// The first free block. Leftovers under its numbers are removed, except blocks, whose numbers
    /// are not given out.
    pub(super) async fn claim(netlink: &Netlink) -> Result<Self, Error> {
        for first in NUMBERS.step_by(BLOCK as usize) {
            match Self::try_claim(netlink, first) {
                Ok(mut numbers) => {
                    let present = Present::list(netlink).await?;
                    numbers.used =
                        present.tables_of_blocks().filter(|it| numbers.has(*it)).collect();
                    numbers.remove_leftovers(netlink, &present.without_blocks()).await?;
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

    /// The number that stands for all of them: the metric of guards.
    pub(super) const fn first(&self) -> u32 {
        self.first
    }

    /// A number that no other table has.
    pub(super) fn take(&mut self) -> Result<u32, Error> {
        let free = (self.first..self.first + BLOCK).find(|number| !self.used.contains(number));
        let free = free.ok_or_else(|| refused(io::ErrorKind::StorageFull.into()))?;
        self.used.insert(free);
        Ok(free)
    }

    /// Only these tables of the block exist.
    pub(super) fn keep_only(&mut self, tables: &BTreeSet<u32>) {
        self.used = tables.iter().copied().filter(|it| self.has(*it)).collect();
    }

    /// The table with this number is gone.
    pub(super) fn give_back(&mut self, number: u32) {
        self.used.remove(&number);
    }

    /// True if a number is one of this block.
    pub(super) fn has(&self, number: u32) -> bool {
        block(number) == Some(self.first)
    }

    /// Removes what uses numbers of this block. Returns it as `ip` writes it.
    pub(super) async fn remove_leftovers(
        &self,
        netlink: &Netlink,
        present: &Present,
    ) -> Result<Vec<String>, Error> {
        let of_block = |rule: &Rule| rule.table().is_some_and(|table| self.has(table));
        let mut removed = remove_rules(netlink, &present.rules, of_block).await?;
        let of_block = |route: &&Route| route.number().is_some_and(|number| self.has(number));
        for route in present.routes.iter().filter(of_block) {
            tracing::info!(%route, "left behind by a daemon that was killed: removed");
            tolerate_gone(netlink.remove_route(route).await)?;
            removed.push(route.to_string());
        }
        Ok(removed)
    }
}

/// All rules and routes of this program, of whatever daemon.
#[derive(Debug)]
pub(super) struct Present {
    pub(super) rules: Vec<Rule>,
    pub(super) routes: Vec<Route>,
}

impl Present {
    pub(super) async fn list(netlink: &Netlink) -> Result<Self, Error> {
        Ok(Self { rules: netlink.own_rules().await?, routes: netlink.own_routes().await? })
    }

    /// Returns all rules and routes except guards and blocks, and the rules and routes that belong to them.
    pub(super) fn without_blocks(&self) -> Self {
        let tables: BTreeSet<u32> = self.tables_of_blocks().collect();
        let rules = self.rules.iter().filter(|rule| !self.is_of_block(rule)).cloned().collect();
        let stays = |route: &&Route| !tables.contains(&route.table) && !route.is_guard();
        let routes = self.routes.iter().filter(stays);
        Self { rules, routes: routes.cloned().collect() }
    }

    fn tables_of_blocks(&self) -> impl Iterator<Item = u32> {
        let rules = self.rules.iter().filter(|rule| self.is_of_block(rule));
        rules.filter_map(Rule::table).filter(|table| NUMBERS.contains(table))
    }

    /// True if a rule is for the packets that a block is for.
    fn is_of_block(&self, rule: &Rule) -> bool {
        let same = |it: &&Rule| (it.mark, it.ipv6) == (rule.mark, rule.ipv6);
        rule.inverted && self.rules.iter().filter(|it| it.is_block()).any(|it| same(&it))
    }
}

/// A mark that is ours as long as this value lives.
#[derive(Debug)]
pub(super) struct Mark {
    pub(super) value: u32,
    _claim: UnixListener,
}

impl Mark {
    /// [`Error::MarkInUse`] when another daemon has it. Leftovers with it are removed, except
    /// blocks.
    pub(super) async fn claim(netlink: &Netlink, value: u32) -> Result<Self, Error> {
        match Self::try_claim(netlink, value) {
            Ok(mark) => {
                let present = Present::list(netlink).await?;
                mark.remove_leftovers(netlink, &present.without_blocks()).await?;
                Ok(mark)
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(Error::MarkInUse(value)),
            Err(error) => Err(refused(error)),
        }
    }

    /// Removes the rules with this mark that are not told by their table.
    pub(super) async fn remove_leftovers(
        &self,
        netlink: &Netlink,
        present: &Present,
    ) -> Result<Vec<String>, Error> {
        remove_rules(netlink, &present.rules, |rule| marked(rule) == Some(self.value)).await
    }

    fn try_claim(netlink: &Netlink, value: u32) -> io::Result<Self> {
        let claim = claim(netlink, &format!("mpt-mark-{value:08x}"))?;
        Ok(Self { value, _claim: claim })
    }
}

impl Netlink {
    /// Removes the rules and the routes in tables of their own that daemons left behind that were
    /// killed; those of running ones stay. Returns them as `ip` writes them. (Addresses and routes of
    /// a tunnel went with its device.)
    pub async fn remove_leftovers(&self) -> Result<Vec<String>, Error> {
        self.remove_unclaimed(&Present::list(self).await?).await
    }

    /// Removes them like [`Self::remove_leftovers`], but guards and blocks stay, with the rules and routes that belong to them.
    pub async fn remove_leftovers_but_blocks(&self) -> Result<Vec<String>, Error> {
        self.remove_unclaimed(&Present::list(self).await?.without_blocks()).await
    }

    async fn remove_unclaimed(&self, present: &Present) -> Result<Vec<String>, Error> {
        let mut removed = Vec::new();
        let rules = present.rules.iter().filter_map(Rule::table);
        let numbers = rules.chain(present.routes.iter().filter_map(Route::number));
        for first in numbers.filter_map(block).collect::<BTreeSet<u32>>() {
            match Numbers::try_claim(self, first) {
                Ok(numbers) => removed.extend(numbers.remove_leftovers(self, present).await?),
                // Its daemon lives.
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                Err(error) => return Err(refused(error)),
            }
        }
        for value in present.rules.iter().filter_map(marked).collect::<BTreeSet<u32>>() {
            match Mark::try_claim(self, value) {
                Ok(mark) => removed.extend(mark.remove_leftovers(self, present).await?),
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                Err(error) => return Err(refused(error)),
            }
        }
        Ok(removed)
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
) -> Result<Vec<String>, Error> {
    let mut removed = Vec::new();
    for rule in rules.iter().filter(|rule| which(rule)) {
        tracing::info!(%rule, "left behind by a daemon that was killed: removed");
        tolerate_gone(netlink.remove_rule(rule).await)?;
        removed.push(rule.to_string());
    }
    Ok(removed)
}

/// The mark of a rule that is not told by its table.
fn marked(rule: &Rule) -> Option<u32> {
    rule.mark.filter(|_| rule.table().and_then(block).is_none())
}

fn refused(source: io::Error) -> Error {
    Error::Refused { attempt: "claim numbers for routing tables".to_owned(), source }
}
