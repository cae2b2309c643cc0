//! `fallback = "direct"`: a default route leads into the tunnel exactly while a path of its connection works. (`"block"` needs nothing at run time:
//! [`crate::daemon::system`] makes it once.)

use std::collections::HashSet;

use mpt_config::{Connection, Fallback};
use mpt_linux::netlink::{self, Netlink};

use crate::daemon::Daemon;
use crate::data::DataPath;

impl Daemon {
    /// Lets default routes follow the paths of their connections. To be called whenever a path may have changed.
    pub(in crate::daemon) async fn follow_fallback(&mut self) {
        let direct: Vec<_> =
            self.running.connections.iter().filter(|it| is_direct(it)).cloned().collect();
        if direct.is_empty() {
            return;
        }
        let works = |data: &mut DataPath, mut direct: Vec<Connection>| {
            direct.retain(|it| data.works(it));
            direct
        };
        // It is told elsewhere when the data thread has ended.
        let Ok(working) = self.shards.split(direct, |it| &it.name, works).await else { return };
        let working: HashSet<String> = working.flatten().map(|it| it.name).collect();
        self.system.follow_fallback(&self.running, &working).await;
    }
}

fn is_direct(connection: &Connection) -> bool {
    connection.fallback == Fallback::Direct && connection.default_routes().next().is_some()
}

/// `mptd --unblock`: removes the rules and routes that killed daemons left behind, blocks of default routes included. Returns them as
/// `ip` writes them. Those of running daemons stay.
///
/// # Errors
///
/// Fails when the system refuses.
pub fn unblock() -> Result<Vec<String>, crate::daemon::Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let removed: Result<_, netlink::Error> =
        runtime.block_on(async { Netlink::connect()?.remove_leftovers().await });
    Ok(removed?)
}
