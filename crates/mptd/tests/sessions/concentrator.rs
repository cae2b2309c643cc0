//! A server that creates connections for clients, and what its clients look like.

use std::net::IpAddr;

use ipnet::IpNet;
use mpt_api::Connection;

use crate::hosts::{Config, Daemon, Identity, wait_for};

/// A server with the device `mpt0`, 10.72.0.2 inside, and the pool 10.72.0.0/24; nobody may connect yet.
pub(crate) fn server(identity: &Identity, listen: &[&str]) -> Config {
    let mut config = Config::default();
    let daemon = config.daemon().set("private_key_file", identity.file());
    daemon.set("listen", listen.to_vec());
    config.device("mpt0").set("addresses", vec!["10.72.0.2/24"]);
    config.pool("inside").set("networks", vec!["10.72.0.0/24"]);
    config
}

/// Lets a client connect.
pub(crate) fn admit(server: &mut Config, name: &str, client: &Identity) {
    let client = server.client(name).set("public_key", client.public());
    client.set("pool", "inside");
}

/// A client whose connection `office` the server is asked for; without paths yet.
pub(crate) fn client(identity: &Identity, server: &Identity) -> Config {
    let mut config = Config::default();
    config.daemon().set("private_key_file", identity.file());
    config.device("mpt0").set("addresses", "assigned");
    config.connection("office").set("networks", vec!["10.72.0.0/24"]);
    config.peer("office").set("public_key", server.public()).set("create", true);
    config
}

/// Waits until a client's device has its address.
pub(crate) fn assigned(client: &Daemon) -> IpAddr {
    wait_for("an address is assigned", || {
        let devices = client.show().devices;
        devices[0].addresses.first().map(IpNet::addr)
    })
}

/// A connection of the server as soon as it is there and every path of it is up.
pub(crate) fn created(server: &Daemon, name: &str) -> Connection {
    server.wait_until_answering();
    wait_for(&format!("{name} is created"), || {
        let connection = find(server, name)?;
        (connection.state == mpt_api::ConnectionState::Up).then_some(connection)
    })
}

/// A connection, if it is there.
pub(crate) fn find(daemon: &Daemon, name: &str) -> Option<Connection> {
    daemon.show().connections.into_iter().find(|it| it.name == name)
}
