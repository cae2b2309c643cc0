//! The bridges between the hosts, and changes to them.

use std::io;

use anyhow::{Context, Result};
use mpt_linux::netns::{self, Namespace};
use rtnetlink::{
    Handle, LinkBridge, LinkBridgePort, LinkUnspec, packet_route::link::BridgeStpState,
};
use tokio::runtime;

/// Network configuration of the namespace that holds the bridges. Every bridge has two ports and learns nothing, so that it
/// floods: a frame goes out of the other port exactly if that port takes flooded frames, which one netlink message changes.
#[derive(Debug)]
pub(crate) struct Switches {
    handle: Handle,
}

impl Switches {
    /// Connects to the configuration of `namespace`.
    pub(crate) async fn new(namespace: &Namespace) -> Result<Self> {
        let runtime = runtime::Handle::current();
        let connect = || -> io::Result<Handle> {
            let _guard = runtime.enter();
            let (connection, handle, _unsolicited) = rtnetlink::new_connection()?;
            runtime.spawn(connection);
            Ok(handle)
        };
        let handle = netns::run_in(namespace, connect)?.context("cannot connect to netlink")?;
        Ok(Self { handle })
    }

    /// Makes a bridge without ports and sets it up.
    pub(super) async fn add_bridge(&self, name: &str) -> Result<()> {
        let bridge = LinkBridge::new(name)
            .stp_state(BridgeStpState::Disabled)
            .mcast_snooping(false)
            .up()
            .build();
        let added = self.handle.link().add(bridge).execute().await;
        added.with_context(|| format!("cannot add bridge {name}"))
    }

    /// Makes interface `port` a port of the bridge with index `bridge` and sets it up.
    pub(super) async fn add_port(&self, port: u32, bridge: u32) -> Result<()> {
        let enslave = LinkUnspec::new_with_index(port).controller(bridge).up().build();
        let learning = LinkBridgePort::new(port).learning(false).build();
        let context = "cannot add a port to a bridge";
        self.handle.link().set(enslave).execute().await.context(context)?;
        self.handle.link().set_port(learning).execute().await.context(context)
    }

    /// Sets whether the port takes frames from the other port of its bridge. If it does not, they are lost without a trace.
    pub(crate) async fn set_flow(&self, port: u32, flows: bool) -> Result<()> {
        let message =
            LinkBridgePort::new(port).flood(flows).mcast_flood(flows).bcast_flood(flows).build();
        let set = self.handle.link().set_port(message).execute().await;
        set.context("cannot change a port of a bridge")
    }

    /// Sets an interface up or down; the interface at the other end of its cable gains or loses its carrier.
    pub(super) async fn set_up(&self, port: u32, up: bool) -> Result<()> {
        let message = LinkUnspec::new_with_index(port);
        let message = if up { message.up() } else { message.down() }.build();
        let set = self.handle.link().set(message).execute().await;
        set.context("cannot set an interface up or down")
    }
}
