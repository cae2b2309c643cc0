//! A client deletes its connection and asks for another one in the same session, which goes on meanwhile.

use mpt_api::EventKind;
use mpt_api::session::{
    Create, PathSpec, SessionCode, SessionReply, SessionRequest, SessionResult,
};

use crate::bare_client::BareClient;
use crate::concentrator::{admit, find, server};
use crate::hosts::{Daemon, Identity, Pair, wait_for};

/// Asks for the connection, and again while the server is too busy: a client has one created per second in the long run.
fn create(client: &mut BareClient) {
    let path = PathSpec { id: 1, name: "line1".into(), ..PathSpec::default() };
    let create = Create { name: "office".into(), paths: vec![path], ..Create::default() };
    let reply = wait_for("the connection is created", || {
        let reply = client.ask(&SessionRequest::Create(create.clone()));
        let is_busy =
            matches!(&reply, SessionReply::Error(failure) if failure.code == SessionCode::Busy);
        if is_busy {
            std::thread::sleep(std::time::Duration::from_millis(250));
        }
        (!is_busy).then_some(reply)
    });
    assert!(matches!(reply, SessionReply::Ok(SessionResult::Created(_))), "{reply:?}");
}

#[test]
fn in_the_same_session() {
    let pair = Pair::with_lines(1);
    let identities = [Identity::new(), Identity::new()];
    let mut config = server(&identities[1], &["10.71.1.2"]);
    admit(&mut config, "anna", &identities[0]);
    let b = Daemon::start(&pair.b, &config);
    b.wait_until_answering();
    let mut events = b.monitor();
    let mut client = BareClient::new(&pair, 1, &identities[0], &identities[1], "office");
    client.establish();

    create(&mut client);
    assert!(find(&b, "anna.office").is_some());
    let reply = client.ask(&SessionRequest::Delete {});
    assert_eq!(reply, SessionReply::Ok(SessionResult::Done));
    assert!(find(&b, "anna.office").is_none());
    create(&mut client);
    assert!(find(&b, "anna.office").is_some());

    let told: Vec<EventKind> = events
        .by_ref()
        .filter(|event| {
            matches!(
                event,
                EventKind::SessionEstablished { .. }
                    | EventKind::SessionLost { .. }
                    | EventKind::ClientAdded { .. }
                    | EventKind::ClientRemoved { .. }
            )
        })
        .take(4)
        .collect();
    assert!(
        matches!(
            told[..],
            [
                EventKind::SessionEstablished { .. },
                EventKind::ClientAdded { .. },
                EventKind::ClientRemoved { .. },
                EventKind::ClientAdded { .. },
            ]
        ),
        "{told:?}"
    );
}
