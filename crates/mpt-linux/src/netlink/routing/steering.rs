//! Policy rules with a table of their own: what they have in common, whatever they steer.

use crate::netlink::error::tolerate_gone;
use crate::netlink::numbers::Present;
use crate::netlink::{Error, Internet, Netlink, PathRouting, Route, Rule, Uplink, Via};

/// The steering of packets to their routes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::netlink) enum Steering {
    Path(PathRouting),
    Uplink(Uplink),
    Internet(Internet),
}

/// Rules and a table in place.
#[derive(Debug)]
pub(in crate::netlink) struct Installed {
    pub(in crate::netlink) steering: Steering,
    pub(in crate::netlink) table: u32,
    pub(in crate::netlink) rules: Vec<Rule>,
    /// True if what it steers can take packets: without, the route is left out.
    pub(in crate::netlink) carries: bool,
    /// Paths of different connections may have the same addresses.
    pub(in crate::netlink) users: usize,
}

impl Installed {
    pub(in crate::netlink) fn new(steering: Steering, mark: u32, table: u32) -> Self {
        let rules = match &steering {
            Steering::Path(path) => vec![Rule::between(path.local, path.remote, table)],
            Steering::Uplink(uplink) => uplink.rules(mark, table).to_vec(),
            Steering::Internet(internet) => internet.rules(mark, table).to_vec(),
        };
        Self { steering, table, rules, carries: true, users: 1 }
    }

    /// Makes it. Gives why its packets go nowhere as yet, if there is no route for them.
    pub(in crate::netlink) async fn install(
        &self,
        netlink: &Netlink,
    ) -> Result<Option<Error>, Error> {
        // The rules come last, so that no packet looks into a table that is not ready.
        if let Some(fallback) = self.fallback() {
            netlink.replace_route(&fallback).await?;
        }
        let missing = match self.route(netlink).await {
            Ok(_) if !self.carries => None,
            Ok(route) => netlink.replace_route(&route).await.map(|()| None)?,
            Err(error) if error.is_no_way() => Some(error),
            Err(error) => return Err(error),
        };
        for rule in &self.rules {
            netlink.add_or_adopt_rule(rule).await?;
        }
        Ok(missing)
    }

    /// Brings it up to date. Returns what somebody else had removed and is there again, as `ip` writes it.
    pub(in crate::netlink) async fn refresh(
        &self,
        netlink: &Netlink,
        present: &Present,
    ) -> Result<Vec<String>, Error> {
        let mut put_back = Vec::new();
        let in_table = || present.routes.iter().filter(|route| route.table == self.table);
        // First what keeps packets from leaving by another way.
        if let Some(fallback) = self.fallback()
            && !in_table().any(|route| fallback.is_shown_as(route))
        {
            netlink.replace_route(&fallback).await?;
            put_back.push(fallback.to_string());
        }
        for rule in self.rules.iter().filter(|rule| !present.rules.contains(rule)) {
            netlink.add_or_adopt_rule(rule).await?;
            put_back.push(rule.to_string());
        }
        let present = in_table().find(|route| route.via != Via::Unreachable);
        match self.route(netlink).await {
            Ok(wanted) if self.carries => {
                if present.is_some_and(|present| wanted.is_shown_as(present)) {
                    return Ok(put_back);
                }
                match netlink.replace_route(&wanted).await {
                    // Only the route of the tunnel was put back, since nothing but mptd makes it. The other routes follow the network.
                    Ok(()) if matches!(self.steering, Steering::Internet(_)) => {
                        put_back.push(wanted.to_string());
                    }
                    Ok(()) => {}
                    // Its interface went down meanwhile; there will be another occasion.
                    Err(error) if error.is_gone() || error.is_down() => {}
                    Err(error) => return Err(error),
                }
            }
            Err(error) if !error.is_no_way() => return Err(error),
            Ok(_) | Err(_) => {
                if let Some(present) = present {
                    tolerate_gone(netlink.remove_route(present).await)?;
                }
            }
        }
        Ok(put_back)
    }

    /// Removes it; `present` are all routes of ours.
    pub(in crate::netlink) async fn remove(
        &self,
        netlink: &Netlink,
        present: &[Route],
    ) -> Result<(), Error> {
        let mut result = Ok(());
        for rule in &self.rules {
            result = result.and(tolerate_gone(netlink.remove_rule(rule).await));
        }
        for route in present.iter().filter(|route| route.table == self.table) {
            result = result.and(tolerate_gone(netlink.remove_route(route).await));
        }
        result
    }

    async fn route(&self, netlink: &Netlink) -> Result<Route, Error> {
        match &self.steering {
            Steering::Path(path) => path.route(netlink, self.table).await,
            Steering::Uplink(uplink) => uplink.route(netlink, self.table).await,
            Steering::Internet(internet) => Ok(internet.route(self.table)),
        }
    }

    fn fallback(&self) -> Option<Route> {
        match &self.steering {
            Steering::Path(path) => Some(path.fallback(self.table)),
            Steering::Uplink(uplink) => Some(uplink.fallback(self.table)),
            Steering::Internet(internet) => internet.fallback(self.table),
        }
    }
}
