//! The choice of the path that carries the next packet.
//!
//! A connection has one scheduler for what it sends. The scheduler decides in two steps: tiers
//! choose which paths take part at all, the mapping chooses among them. Paths are known by their
//! slot, a small index within the connection that never changes while the path exists.

mod flow;
mod weighted;

pub use flow::Rendezvous;
pub(crate) use flow::identity as flow_identity;
pub use weighted::Weighted;

/// The mapping of a connection's packets to paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mapping {
    /// Every packet by itself, in the order of Algorithm 1 (almasi2017, section 4.2).
    #[default]
    Packet,
    /// Every packet by itself, over the paths that the sender has measured to have room for it.
    /// Without measurements, as [`Mapping::Packet`].
    Adaptive,
    /// Every flow stays on one path; its packets carry no sequence number.
    Flow,
    /// A copy of every packet on every path, all with one sequence number.
    Duplicate,
}

/// The properties of a path that count in the choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Share of the path, at least 1.
    pub weight: u16,
    /// Paths of a higher tier (a larger number) carry data only while every path of all lower
    /// numbers is down.
    pub tier: u16,
    /// True if the path can carry data now.
    pub up: bool,
    /// Identity of the path for flow mapping: what keeps a flow's choice the same after paths come,
    /// go and change their slots.
    pub identity: u64,
}

/// The scheduler of one connection.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Scheduler {
    policy: Policy,
    /// By slot; `None` where no path is. Out of the way, as only changes need it.
    #[expect(
        clippy::box_collection,
        reason = "a word instead of three in what every packet touches"
    )]
    members: Box<Vec<Option<Member>>>,
}

#[derive(Clone, Debug)]
enum Policy {
    Packet(Weighted),
    /// The weighted mapping that is used until the peer reports.
    Adaptive(Box<Weighted>),
    Flow(Box<Rendezvous>),
    Duplicate(Vec<usize>),
}

/// The paths that get a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice<'a> {
    /// No path is up.
    None,
    /// This slot.
    One(usize),
    /// A copy to each of these slots; never empty.
    Each(&'a [usize]),
}

impl Scheduler {
    /// A scheduler without paths.
    pub fn new(mapping: Mapping) -> Self {
        Self { policy: Policy::new(mapping), members: Box::default() }
    }

    /// Replaces the mapping; paths stay. Packet mapping starts a new round.
    pub fn set_mapping(&mut self, mapping: Mapping) {
        if self.mapping() != mapping {
            self.policy = Policy::new(mapping);
            self.apply();
        }
    }

    /// The mapping in use.
    pub fn mapping(&self) -> Mapping {
        match self.policy {
            Policy::Packet(_) => Mapping::Packet,
            Policy::Adaptive(_) => Mapping::Adaptive,
            Policy::Flow(_) => Mapping::Flow,
            Policy::Duplicate(_) => Mapping::Duplicate,
        }
    }

    /// Puts a path into a slot, changes it, or (`None`) empties the slot. Holds from the next
    /// packet on: a path that comes into use takes up its place at the scheduler's present virtual
    /// time, without catching up on what it missed.
    pub fn set(&mut self, slot: usize, member: Option<Member>) {
        if slot >= self.members.len() {
            self.members.resize(slot + 1, None);
        }
        if self.members[slot] != member {
            self.members[slot] = member;
            self.apply();
        }
    }

    /// Returns what is in a slot.
    pub fn member(&self, slot: usize) -> Option<Member> {
        self.members.get(slot).copied().flatten()
    }

    /// The tier that carries data now; `None` if every path is down.
    pub fn active_tier(&self) -> Option<u16> {
        self.members.iter().flatten().filter(|member| member.up).map(|member| member.tier).min()
    }

    /// Chooses for the next packet. `flow_hash` is used by flow mapping only.
    pub fn next(&mut self, flow_hash: u64) -> Choice<'_> {
        let slot = match &mut self.policy {
            Policy::Packet(weighted) => weighted.next(),
            Policy::Adaptive(weighted) => weighted.next(),
            Policy::Flow(rendezvous) => rendezvous.choose(flow_hash),
            Policy::Duplicate(slots) if slots.is_empty() => None,
            Policy::Duplicate(slots) => return Choice::Each(slots),
        };
        slot.map_or(Choice::None, Choice::One)
    }

    /// Tells the policy which slots take part, after any change.
    fn apply(&mut self) {
        let tier = self.active_tier();
        if let Policy::Duplicate(slots) = &mut self.policy {
            slots.clear();
        }
        for (slot, member) in self.members.iter().enumerate() {
            let active = member.filter(|member| member.up && Some(member.tier) == tier);
            match &mut self.policy {
                Policy::Packet(weighted) => {
                    weighted.set(slot, active.map_or(0, |member| member.weight));
                }
                Policy::Adaptive(weighted) => {
                    weighted.set(slot, active.map_or(0, |member| member.weight));
                }
                Policy::Flow(rendezvous) => {
                    rendezvous.set(slot, active.map(|member| (member.identity, member.weight)));
                }
                Policy::Duplicate(slots) => slots.extend(active.map(|_| slot)),
            }
        }
    }
}

impl Policy {
    fn new(mapping: Mapping) -> Self {
        match mapping {
            Mapping::Packet => Self::Packet(Weighted::new()),
            Mapping::Adaptive => Self::Adaptive(Box::default()),
            Mapping::Flow => Self::Flow(Box::default()),
            Mapping::Duplicate => Self::Duplicate(Vec::new()),
        }
    }
}
