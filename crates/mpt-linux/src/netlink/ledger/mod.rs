//! A ledger of what was created, so that exactly that is removed, and the mark by which it is known as ours.

pub(super) mod owner;

use std::collections::BTreeSet;

use ipnet::IpNet;

use super::error::tolerate_gone;
use super::numbers::{Mark, Numbers, Present};
use super::routing::steering::{Installed, Steering};
use super::{Error, Event, Internet, Netlink, PathRouting, Route, Rule, Uplink};

/// Creates addresses, routes, rules and the routing of outer packets, and remembers them.
///
/// Dropping it removes nothing, since removal takes the kernel's answers: call [`Self::remove_all`]
/// when the daemon ends or its start-up fails.
#[derive(Debug)]
pub struct Owned {
    netlink: Netlink,
    /// Claimed when the first is needed.
    numbers: Option<Numbers>,
    /// Likewise.
    mark: Option<Mark>,
    /// The objects in the order of their creation.
    objects: Vec<Object>,
}

#[derive(Debug)]
enum Object {
    Address { interface: u32, net: IpNet },
    Route(Route),
    Rule(Rule),
    Steering(Installed),
}

impl Owned {
    /// An empty ledger for objects created by `netlink`.
    pub const fn new(netlink: Netlink) -> Self {
        Self { netlink, numbers: None, mark: None, objects: Vec::new() }
    }

    /// The connection, for what leaves nothing behind.
    pub const fn netlink(&self) -> &Netlink {
        &self.netlink
    }

    /// True if nothing is left to remove.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Adds an address; see [`Netlink::add_address`]. An address that exists already is an error
    /// and stays.
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

    /// Adds a route; see [`Netlink::add_route`]. A route that exists already is an error and stays.
    pub async fn add_route(&mut self, route: Route) -> Result<(), Error> {
        self.netlink.add_route(&route).await?;
        self.objects.push(Object::Route(route));
        Ok(())
    }

    /// Removes a route created here, whatever MTU it has; nothing happens if it was not.
    pub async fn remove_route(&mut self, route: &Route) -> Result<(), Error> {
        let this =
            |object: &Object| matches!(object, Object::Route(it) if it.is_but_for_mtu(route));
        self.remove_one(this).await
    }

    /// Lets nothing that is meant for a network of a tunnel take a shorter prefix, such as the default
    /// route, while no route to it is there. A guard that a daemon left behind is taken over.
    pub async fn add_guard(&mut self, network: IpNet) -> Result<(), Error> {
        let guard = Route::guard(network, self.numbers().await?.first());
        self.netlink.replace_route(&guard).await?;
        self.objects.push(Object::Route(guard));
        Ok(())
    }

    /// Removes a guard created here; nothing happens if there is none.
    pub async fn remove_guard(&mut self, network: IpNet) -> Result<(), Error> {
        let network = network.trunc();
        let this = |route: &Route| route.is_guard() && route.destination == network;
        self.remove_one(|object| matches!(object, Object::Route(route) if this(route))).await
    }

    /// Adds a route, or gives the one created here that differs in its MTU alone that of `route`. A route
    /// of somebody else that is there already is an error and stays.
    pub async fn put_route(&mut self, route: Route) -> Result<(), Error> {
        let same =
            |object: &&mut Object| matches!(object, Object::Route(it) if it.is_but_for_mtu(&route));
        let Some(Object::Route(present)) = self.objects.iter_mut().find(same) else {
            return self.add_route(route).await;
        };
        if present.mtu == route.mtu {
            return Ok(());
        }
        present.mtu = route.mtu;
        match self.netlink.replace_route(&route).await {
            // It is added when the device is up.
            Err(error) if error.is_gone() || error.is_down() => Ok(()),
            result => result,
        }
    }

    /// Adds a rule; see [`Netlink::add_rule`]. A rule that exists already is an error and stays.
    pub async fn add_rule(&mut self, rule: Rule) -> Result<(), Error> {
        self.netlink.add_rule(&rule).await?;
        self.objects.push(Object::Rule(rule));
        Ok(())
    }

    /// Removes a rule created here; nothing happens if it was not.
    pub async fn remove_rule(&mut self, rule: &Rule) -> Result<(), Error> {
        self.remove_one(|object| matches!(object, Object::Rule(r) if r == rule)).await
    }

    /// Says which mark outer packets have, before the first [`Self::add_uplink`] or
    /// [`Self::add_internet`]. No other daemon in this network namespace may have it.
    pub async fn set_mark(&mut self, value: u32) -> Result<(), Error> {
        if self.mark.as_ref().is_none_or(|mark| mark.value != value) {
            self.mark = Some(Mark::claim(&self.netlink, value).await?);
        }
        Ok(())
    }

    /// Lets the packets of a path leave by its interface. For a pair of addresses that has it
    /// already, another user is counted; their interfaces and gateways must agree. Gives why the
    /// packets go nowhere as yet, where there is no route: [`Self::refresh`] adds it when there is.
    pub async fn add_path(&mut self, routing: PathRouting) -> Result<Option<Error>, Error> {
        let between =
            |other: &PathRouting| (other.local, other.remote) == (routing.local, routing.remote);
        let same = self.steerings().find_map(|it| match &it.steering {
            Steering::Path(other) if between(other) => Some((other.clone(), &mut it.users)),
            _ => None,
        });
        if let Some((other, users)) = same {
            if other != routing {
                return Err(Error::PathConflict {
                    local: routing.local,
                    remote: routing.remote,
                    interface: other.interface,
                });
            }
            *users += 1;
            return Ok(None);
        }
        if routing.local.is_ipv6() != routing.remote.is_ipv6() {
            let pair = format!("path {} - {}", routing.local, routing.remote);
            return Err(Error::MixedVersions(pair));
        }
        let table = self.numbers().await?.take()?;
        self.install(Steering::Path(routing), table).await
    }

    /// Removes the routing of a path with its last user; nothing happens if there is none.
    pub async fn remove_path(&mut self, routing: &PathRouting) -> Result<(), Error> {
        self.remove_steering(&Steering::Path(routing.clone())).await
    }

    /// Lets marked packets of sockets bound to an interface leave by its default route. Gives why
    /// they go nowhere as yet, where it has none: [`Self::refresh`] adds it when it has.
    pub async fn add_uplink(&mut self, uplink: Uplink) -> Result<Option<Error>, Error> {
        let table = self.numbers().await?.take()?;
        self.install(Steering::Uplink(uplink), table).await
    }

    /// Removes the routing of an interface; nothing happens if there is none.
    pub async fn remove_uplink(&mut self, uplink: &Uplink) -> Result<(), Error> {
        self.remove_steering(&Steering::Uplink(uplink.clone())).await
    }

    /// Sends everything without mark into a tunnel that would take the main table's default route.
    pub async fn add_internet(&mut self, internet: Internet) -> Result<(), Error> {
        let table = self.numbers().await?.take()?;
        self.install(Steering::Internet(internet), table).await.map(drop)
    }

    /// Takes the default route out of the tunnel; nothing happens if it is not there.
    pub async fn remove_internet(&mut self, internet: &Internet) -> Result<(), Error> {
        self.remove_steering(&Steering::Internet(internet.clone())).await
    }

    /// Lets a default route into a tunnel take packets, or not: then they go as if it were not there,
    /// unless it blocks. Nothing happens if it is not there.
    pub async fn set_carries(&mut self, internet: &Internet, carries: bool) -> Result<(), Error> {
        let what = Steering::Internet(internet.clone());
        let Some(it) = self.steerings().find(|it| it.steering == what) else { return Ok(()) };
        if std::mem::replace(&mut it.carries, carries) == carries {
            return Ok(());
        }
        let route = internet.route(it.table);
        if !carries {
            return tolerate_gone(self.netlink.remove_route(&route).await);
        }
        match self.netlink.replace_route(&route).await {
            // It is added when the device is up.
            Err(error) if error.is_gone() || error.is_down() => Ok(()),
            result => result,
        }
    }

    /// Lets nothing without our mark reach the default routes of the main table. A block that a daemon
    /// left behind is taken over.
    pub async fn add_block(&mut self, ipv6: bool) -> Result<(), Error> {
        let rule = Rule::block(self.mark(), ipv6);
        self.netlink.add_or_adopt_rule(&rule).await?;
        self.objects.push(Object::Rule(rule));
        Ok(())
    }

    /// Removes a block; nothing happens if there is none.
    pub async fn remove_block(&mut self, ipv6: bool) -> Result<(), Error> {
        self.remove_rule(&Rule::block(self.mark(), ipv6)).await
    }

    /// True if this change removed something that was created here and is still needed.
    pub fn misses(&self, event: &Event) -> bool {
        self.objects.iter().any(|object| match (object, event) {
            (Object::Rule(rule), Event::OwnRuleRemoved(removed)) => rule == removed,
            (Object::Steering(it), Event::OwnRuleRemoved(removed)) => it.rules.contains(removed),
            (Object::Route(route), Event::OwnRouteRemoved(removed)) => route.is_shown_as(removed),
            (Object::Steering(it), Event::OwnRouteRemoved(removed)) => it.table == removed.table,
            _ => false,
        })
    }

    /// Brings everything up to date, to be called after [`super::Event`]s: routes of outer packets follow when an interface came back or a router
    /// changed, and what the kernel dropped when one of our interfaces was set down, or somebody else removed, is there again. An object that misses
    /// its interface or route stays without until it is there, which is no error. Every object is tried. Returns what was put back, as `ip` writes
    /// it, and the errors of the objects that failed.
    pub async fn refresh(&mut self) -> (Vec<String>, Vec<Error>) {
        if self.objects.is_empty() {
            return (Vec::new(), Vec::new());
        }
        let listed =
            async { Ok((Present::list(&self.netlink).await?, self.netlink.addresses().await?)) };
        let (present, addresses) = match listed.await {
            Ok(listed) => listed,
            Err(error) => return (Vec::new(), vec![error]),
        };
        let (mut put_back, mut errors) = (Vec::new(), Vec::new());
        // First what keeps packets from leaving by another way, which was added last.
        for object in self.objects.iter().filter(|it| matches!(it, Object::Rule(_))) {
            let Object::Rule(rule) = object else { continue };
            if !present.rules.contains(rule) {
                match self.netlink.add_or_adopt_rule(rule).await {
                    Ok(()) => put_back.push(rule.to_string()),
                    Err(error) => errors.push(error),
                }
            }
        }
        for object in &self.objects {
            let done = match object {
                Object::Steering(it) => it.refresh(&self.netlink, &present).await,
                Object::Route(route) if !present.routes.iter().any(|it| route.is_shown_as(it)) => {
                    let add = self.netlink.add_route(route);
                    let restored = restore(&self.netlink, route.interface(), add).await;
                    restored.map(|done| done.then(|| route.to_string()).into_iter().collect())
                }
                Object::Address { interface, net }
                    if !addresses.iter().any(|it| (it.interface, it.net) == (*interface, *net)) =>
                {
                    let add = self.netlink.add_address(*interface, *net);
                    let restored = restore(&self.netlink, Some(*interface), add).await;
                    restored
                        .map(|done| done.then(|| format!("address {net}")).into_iter().collect())
                }
                _ => Ok(Vec::new()),
            };
            match done {
                Ok(done) => put_back.extend(done),
                Err(error) => errors.push(error),
            }
        }
        (put_back, errors)
    }

    /// Removes what daemons left behind that were killed, guards and blocks included, now that everything that
    /// is needed was created. Those of running daemons stay.
    pub async fn remove_leftovers(&mut self) -> Result<(), Error> {
        let mut present = Present::list(&self.netlink).await?;
        let (mut rules, mut routes, mut tables) = (Vec::new(), Vec::new(), BTreeSet::new());
        for object in &self.objects {
            match object {
                Object::Rule(rule) => rules.push(rule),
                Object::Steering(it) => {
                    rules.extend(&it.rules);
                    tables.insert(it.table);
                }
                Object::Route(route) => routes.push(route),
                Object::Address { .. } => {}
            }
        }
        present.rules.retain(|rule| !rules.contains(&rule));
        present.routes.retain(|it| !tables.contains(&it.table) && !routes.contains(&it));
        if let Some(numbers) = &mut self.numbers {
            numbers.remove_leftovers(&self.netlink, &present).await?;
            numbers.keep_only(&tables);
        }
        if let Some(mark) = &self.mark {
            mark.remove_leftovers(&self.netlink, &present).await?;
        }
        self.netlink.remove_leftovers().await.map(drop)
    }

    /// Removes everything but guards and blocks, as [`Self::remove_all`] does it: for an end that nobody asked
    /// for, after which nothing that was meant for a tunnel may leave by another way.
    pub async fn remove_all_but_blocks(&mut self) -> Result<(), Vec<Error>> {
        self.objects.retain(|object| match object {
            Object::Rule(rule) => !rule.is_block(),
            Object::Steering(it) => {
                !matches!(&it.steering, Steering::Internet(internet) if internet.blocks)
            }
            Object::Route(route) => !route.is_guard(),
            Object::Address { .. } => true,
        });
        self.remove_all().await
    }

    /// Removes everything created here, last first. An object that is gone already is no error, and
    /// an error does not keep the rest: all that happened come back, and the ledger is empty.
    pub async fn remove_all(&mut self) -> Result<(), Vec<Error>> {
        if self.objects.is_empty() {
            return Ok(());
        }
        let mut errors = Vec::new();
        let present = self.netlink.own_routes().await;
        let present = present.map_err(|error| errors.push(error)).unwrap_or_default();
        // Blocks were added last: what they are for may leave by another way only when the rest is gone.
        self.objects.sort_by_key(|object| !matches!(object, Object::Rule(_)));
        while let Some(object) = self.objects.pop() {
            errors.extend(object.remove(&self.netlink, &present).await.err());
            self.forget(&object);
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    async fn numbers(&mut self) -> Result<&mut Numbers, Error> {
        let claimed = match self.numbers.take() {
            Some(numbers) => numbers,
            None => Numbers::claim(&self.netlink).await?,
        };
        Ok(self.numbers.insert(claimed))
    }

    fn steerings(&mut self) -> impl Iterator<Item = &mut Installed> {
        self.objects.iter_mut().filter_map(|object| match object {
            Object::Steering(it) => Some(it),
            _ => None,
        })
    }

    /// Only rules by addresses do without.
    fn mark(&self) -> u32 {
        self.mark.as_ref().map_or(0, |mark| mark.value)
    }

    async fn install(&mut self, what: Steering, table: u32) -> Result<Option<Error>, Error> {
        let mark = self.mark();
        let installed = Installed::new(what, mark, table);
        let result = installed.install(&self.netlink).await;
        let object = Object::Steering(installed);
        if result.is_ok() {
            self.objects.push(object);
        } else {
            // Whatever came into being before the failure goes again; the first error is the cause.
            let present = self.netlink.own_routes().await.unwrap_or_default();
            let _ = object.remove(&self.netlink, &present).await;
            self.forget(&object);
        }
        result
    }

    async fn remove_steering(&mut self, what: &Steering) -> Result<(), Error> {
        if let Some(shared) = self.steerings().find(|it| it.steering == *what && it.users > 1) {
            shared.users -= 1;
            return Ok(());
        }
        self.remove_one(|it| matches!(it, Object::Steering(it) if it.steering == *what)).await
    }

    async fn remove_one(&mut self, this: impl Fn(&Object) -> bool) -> Result<(), Error> {
        let Some(position) = self.objects.iter().rposition(this) else { return Ok(()) };
        let present = match &self.objects[position] {
            Object::Steering(_) => self.netlink.own_routes().await?,
            _ => Vec::new(),
        };
        // Kept when it could not be removed, for remove_all to try again.
        self.objects[position].remove(&self.netlink, &present).await?;
        let object = self.objects.remove(position);
        self.forget(&object);
        Ok(())
    }

    /// It is gone: its number may be another's.
    fn forget(&mut self, object: &Object) {
        if let (Object::Steering(it), Some(numbers)) = (object, &mut self.numbers) {
            numbers.give_back(it.table);
        }
    }
}

impl Object {
    /// `present`: all routes of ours.
    async fn remove(&self, netlink: &Netlink, present: &[Route]) -> Result<(), Error> {
        match self {
            Self::Address { interface, net } => {
                tolerate_gone(netlink.remove_address(*interface, *net).await)
            }
            Self::Route(route) => tolerate_gone(netlink.remove_route(route).await),
            Self::Rule(rule) => tolerate_gone(netlink.remove_rule(rule).await),
            Self::Steering(it) => it.remove(netlink, present).await,
        }
    }
}

/// Adds something once more that needs an interface, if that is up. Returns whether it was added.
async fn restore(
    netlink: &Netlink,
    interface: Option<u32>,
    add: impl Future<Output = Result<(), Error>>,
) -> Result<bool, Error> {
    let Some(interface) = interface else { return add.await.map(|()| true) };
    match netlink.link_by_index(interface).await {
        Ok(link) if link.up => add.await.map(|()| true),
        Ok(_) | Err(Error::NoInterface(_)) => Ok(false),
        Err(error) => Err(error),
    }
}
