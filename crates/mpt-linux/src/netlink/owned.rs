//! A ledger of what was created, so that exactly that is removed.

use std::net::IpAddr;

use ipnet::IpNet;

use super::path::Leftover;
use super::{Error, Netlink, PathRouting, Route, Rule, Via};

/// Creates addresses, routes, rules and path routing, and remembers them.
///
/// Nothing is removed by dropping it, since that takes the kernel's answers: call
/// [`Self::remove_all`] when the daemon ends or its start-up fails.
#[derive(Debug)]
pub struct Owned {
    netlink: Netlink,
    /// In the order of creation.
    objects: Vec<Object>,
}

#[derive(Debug)]
enum Object {
    Address { interface: u32, net: IpNet },
    Route(Route),
    Rule(Rule),
    Path(InstalledPath),
}

/// Path routing in place. Paths of different connections may have the same addresses.
#[derive(Debug)]
struct InstalledPath {
    routing: PathRouting,
    rule: Rule,
    users: usize,
}

impl Owned {
    /// An empty ledger for objects created by `netlink`.
    pub const fn new(netlink: Netlink) -> Self {
        Self { netlink, objects: Vec::new() }
    }

    /// The connection, for what leaves nothing behind.
    pub const fn netlink(&self) -> &Netlink {
        &self.netlink
    }

    /// Whether nothing is left to remove.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// As [`Netlink::add_address`]. An address that is there already is an error and stays.
    pub async fn add_address(&mut self, interface: u32, net: IpNet) -> Result<(), Error> {
        self.netlink.add_address(interface, net).await?;
        self.objects.push(Object::Address { interface, net });
        Ok(())
    }

    /// Removes an address created here; nothing happens if it was not.
    pub async fn remove_address(&mut self, interface: u32, net: IpNet) -> Result<(), Error> {
        let this = |object: &Object| match object {
            Object::Address { interface: i, net: n } => (*i, *n) == (interface, net),
            _ => false,
        };
        self.remove_one(this).await
    }

    /// As [`Netlink::add_route`]. A route that is there already is an error and stays.
    pub async fn add_route(&mut self, route: Route) -> Result<(), Error> {
        self.netlink.add_route(&route).await?;
        self.objects.push(Object::Route(route));
        Ok(())
    }

    /// Removes a route created here; nothing happens if it was not.
    pub async fn remove_route(&mut self, route: &Route) -> Result<(), Error> {
        self.remove_one(|object| matches!(object, Object::Route(r) if r == route)).await
    }

    /// Gives all routes created here that leave by `interface` another MTU, in bytes.
    pub async fn set_route_mtu(&mut self, interface: u32, mtu: u32) -> Result<(), Error> {
        for object in &mut self.objects {
            let Object::Route(route) = object else { continue };
            if route.interface() != Some(interface) || route.mtu == Some(mtu) {
                continue;
            }
            let changed = Route { mtu: Some(mtu), ..route.clone() };
            self.netlink.replace_route(&changed).await?;
            *route = changed;
        }
        Ok(())
    }

    /// As [`Netlink::add_rule`]. A rule that is there already is an error and stays.
    pub async fn add_rule(&mut self, rule: Rule) -> Result<(), Error> {
        self.netlink.add_rule(&rule).await?;
        self.objects.push(Object::Rule(rule));
        Ok(())
    }

    /// Removes a rule created here; nothing happens if it was not.
    pub async fn remove_rule(&mut self, rule: &Rule) -> Result<(), Error> {
        self.remove_one(|object| matches!(object, Object::Rule(r) if r == rule)).await
    }

    /// Lets the packets of a path leave by its interface. For a pair of addresses that has it
    /// already, another user is counted; their interfaces and gateways must agree. What a killed
    /// daemon left behind for the same pair is taken over.
    pub async fn add_path(&mut self, routing: PathRouting) -> Result<(), Error> {
        if let Some(path) = self.path_between(routing.local, routing.remote) {
            if path.routing != routing {
                return Err(Error::PathConflict {
                    local: routing.local,
                    remote: routing.remote,
                    interface: path.routing.interface.clone(),
                });
            }
            path.users += 1;
            return Ok(());
        }
        if routing.local.is_ipv6() != routing.remote.is_ipv6() {
            let pair = format!("path {} - {}", routing.local, routing.remote);
            return Err(Error::MixedVersions(pair));
        }
        let (table, leftover) = routing.choose_table(&self.netlink).await?;
        let route = routing.route(&self.netlink, table).await?;
        let rule = Rule::between(routing.local, routing.remote, table);
        let path = InstalledPath { routing, rule, users: 1 };
        if let Err(error) = path.install(&self.netlink, &route, leftover).await {
            // Whatever came into being before the failure goes again; the first error is the cause.
            let _ = path.remove(&self.netlink).await;
            return Err(error);
        }
        self.objects.push(Object::Path(path));
        Ok(())
    }

    /// Removes the routing of a path with its last user; nothing happens if there is none.
    pub async fn remove_path(&mut self, routing: &PathRouting) -> Result<(), Error> {
        match self.path_between(routing.local, routing.remote) {
            Some(path) if path.routing != *routing => return Ok(()),
            Some(path) if path.users > 1 => {
                path.users -= 1;
                return Ok(());
            }
            _ => {}
        }
        self.remove_one(|object| matches!(object, Object::Path(p) if p.routing == *routing)).await
    }

    /// Brings the routes of all paths up to date, to be called after [`super::Event`]s that tell of
    /// links, addresses or routes: an interface came back, a router changed. A path whose interface
    /// or route is missing stays without until it is there again, which is no error. Every path is
    /// tried; the errors of those that failed come back.
    pub async fn refresh_paths(&mut self) -> Result<(), Vec<Error>> {
        if !self.objects.iter().any(|object| matches!(object, Object::Path(_))) {
            return Ok(());
        }
        let present = self.netlink.own_routes().await.map_err(|error| vec![error])?;
        let mut errors = Vec::new();
        for object in &self.objects {
            let Object::Path(path) = object else { continue };
            errors.extend(path.refresh(&self.netlink, &present).await.err());
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Removes everything created here, last first. What is gone already is no error, and an error
    /// does not keep the rest: all that happened come back, and the ledger is empty.
    pub async fn remove_all(&mut self) -> Result<(), Vec<Error>> {
        let mut errors = Vec::new();
        while let Some(object) = self.objects.pop() {
            errors.extend(object.remove(&self.netlink).await.err());
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    async fn remove_one(&mut self, this: impl Fn(&Object) -> bool) -> Result<(), Error> {
        let Some(position) = self.objects.iter().rposition(this) else { return Ok(()) };
        // Kept when it could not be removed, for remove_all to try again.
        self.objects[position].remove(&self.netlink).await?;
        self.objects.remove(position);
        Ok(())
    }

    fn path_between(&mut self, local: IpAddr, remote: IpAddr) -> Option<&mut InstalledPath> {
        self.objects.iter_mut().find_map(|object| match object {
            Object::Path(path) if (path.routing.local, path.routing.remote) == (local, remote) => {
                Some(path)
            }
            _ => None,
        })
    }
}

impl Object {
    async fn remove(&self, netlink: &Netlink) -> Result<(), Error> {
        match self {
            Self::Address { interface, net } => {
                tolerate_gone(netlink.remove_address(*interface, *net).await)
            }
            Self::Route(route) => tolerate_gone(netlink.remove_route(route).await),
            Self::Rule(rule) => tolerate_gone(netlink.remove_rule(rule).await),
            Self::Path(path) => path.remove(netlink).await,
        }
    }
}

impl InstalledPath {
    /// The rule comes last, so that no packet looks into a table that is not ready.
    async fn install(
        &self,
        netlink: &Netlink,
        route: &Route,
        leftover: Leftover,
    ) -> Result<(), Error> {
        netlink.replace_route(&self.routing.fallback(self.rule.table)).await?;
        netlink.replace_route(route).await?;
        match leftover {
            Leftover::Rule => Ok(()),
            Leftover::Nothing => netlink.add_rule(&self.rule).await,
        }
    }

    async fn refresh(&self, netlink: &Netlink, present: &[Route]) -> Result<(), Error> {
        let in_table = |route: &&Route| route.table == self.rule.table;
        let present = present.iter().filter(in_table).find(|route| route.via != Via::Unreachable);
        match self.routing.route(netlink, self.rule.table).await {
            Ok(wanted) if present.is_some_and(|present| same(present, &wanted)) => Ok(()),
            Ok(wanted) => netlink.replace_route(&wanted).await,
            Err(Error::NoInterface(_) | Error::NoRoute { .. }) => match present {
                Some(present) => tolerate_gone(netlink.remove_route(present).await),
                None => Ok(()),
            },
            Err(error) => Err(error),
        }
    }

    async fn remove(&self, netlink: &Netlink) -> Result<(), Error> {
        let rule = tolerate_gone(netlink.remove_rule(&self.rule).await);
        let routes = netlink.own_routes().await?;
        for route in routes.iter().filter(|route| route.table == self.rule.table) {
            tolerate_gone(netlink.remove_route(route).await)?;
        }
        rule
    }
}

/// Whether the kernel shows the wanted route; it fills in metrics.
fn same(present: &Route, wanted: &Route) -> bool {
    *present == Route { metric: present.metric, ..wanted.clone() }
}

fn tolerate_gone(result: Result<(), Error>) -> Result<(), Error> {
    match result {
        Err(error) if error.is_gone() => Ok(()),
        other => other,
    }
}
