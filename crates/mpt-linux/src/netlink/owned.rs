//! A ledger of what was created, so that exactly that is removed.

use ipnet::IpNet;

use super::numbers::{Mark, Numbers};
use super::steering::{Installed, Steering};
use super::{Error, Internet, Netlink, PathRouting, Route, Rule, Uplink, tolerate_gone};

/// Creates addresses, routes, rules and the routing of outer packets, and remembers them.
///
/// Nothing is removed by dropping it, since that takes the kernel's answers: call
/// [`Self::remove_all`] when the daemon ends or its start-up fails.
#[derive(Debug)]
pub struct Owned {
    netlink: Netlink,
    /// Claimed when the first is needed.
    numbers: Option<Numbers>,
    /// Likewise.
    mark: Option<Mark>,
    /// In the order of creation.
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

    /// Brings everything up to date, to be called after [`super::Event`]s: routes of outer packets
    /// follow when an interface came back or a router changed, and what the kernel dropped when one
    /// of our interfaces was set down is there again when it is up. What misses its interface or
    /// route stays without until it is there, which is no error. Every object is tried; the errors
    /// of those that failed come back.
    pub async fn refresh(&mut self) -> Result<(), Vec<Error>> {
        if self.objects.is_empty() {
            return Ok(());
        }
        let present = self.netlink.own_routes().await.map_err(|error| vec![error])?;
        let addresses = self.netlink.addresses().await.map_err(|error| vec![error])?;
        let mut errors = Vec::new();
        for object in &self.objects {
            let done = match object {
                Object::Steering(it) => it.refresh(&self.netlink, &present).await,
                Object::Route(route) if !present.iter().any(|it| route.is_shown_as(it)) => {
                    let add = self.netlink.add_route(route);
                    restore(&self.netlink, route.interface(), add).await
                }
                Object::Address { interface, net }
                    if !addresses.iter().any(|it| (it.interface, it.net) == (*interface, *net)) =>
                {
                    let add = self.netlink.add_address(*interface, *net);
                    restore(&self.netlink, Some(*interface), add).await
                }
                _ => Ok(()),
            };
            errors.extend(done.err());
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Removes everything created here, last first. What is gone already is no error, and an error
    /// does not keep the rest: all that happened come back, and the ledger is empty.
    pub async fn remove_all(&mut self) -> Result<(), Vec<Error>> {
        if self.objects.is_empty() {
            return Ok(());
        }
        let mut errors = Vec::new();
        let present = self.netlink.own_routes().await;
        let present = present.map_err(|error| errors.push(error)).unwrap_or_default();
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

    async fn install(&mut self, what: Steering, table: u32) -> Result<Option<Error>, Error> {
        // Only rules by addresses do without.
        let mark = self.mark.as_ref().map_or(0, |mark| mark.value);
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

/// Adds something once more that needs an interface, if that is up.
async fn restore(
    netlink: &Netlink,
    interface: Option<u32>,
    add: impl Future<Output = Result<(), Error>>,
) -> Result<(), Error> {
    let Some(interface) = interface else { return add.await };
    match netlink.link_by_index(interface).await {
        Ok(link) if link.up => add.await,
        Ok(_) | Err(Error::NoInterface(_)) => Ok(()),
        Err(error) => Err(error),
    }
}
