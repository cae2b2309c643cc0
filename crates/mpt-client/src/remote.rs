//! A daemon elsewhere.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::time::{Duration, Instant};

use mpt_api::{Code, Command, EVENTS_WAIT_MS, Event, EventKind, Events, Failure, Reply, Request};
use mpt_wire::control::Kind;

use crate::session::{Lost, Session};
use crate::{Error, Target, answer};

/// The longest time that a daemon may take to agree on keys: several lost packets, and a server under load.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(5);
/// A daemon that answers at once that there are no events is asked again after this.
const ASK_AGAIN: Duration = Duration::from_secs(1);
/// The time for an answer beyond the time after which the daemon itself gives up.
const PATIENCE: Duration = Duration::from_secs(5);

/// The address of a daemon: an address or a name, with or without port (4754). A name with several addresses stands for the first one.
///
/// # Errors
///
/// [`Error::Unusable`]
pub fn address(text: &str) -> Result<SocketAddr, Error> {
    const PORT: u16 = mpt_wire::gre::PORT;
    if let Ok(ip) = text.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
        return Ok(SocketAddr::new(ip, PORT));
    }
    let found =
        if text.contains(':') { text.to_socket_addrs() } else { (text, PORT).to_socket_addrs() };
    let unusable = |why: String| Error::Unusable(format!("{text}: {why}; write ADDRESS:PORT"));
    let mut found = found.map_err(|error| unusable(error.to_string()))?;
    found.next().ok_or_else(|| unusable("has no address".into()))
}

/// A conversation in a steering session. The daemon is told when this is dropped.
#[derive(Debug)]
pub struct Remote {
    target: Target,
    /// The session; `None` after something went wrong: the next call begins anew.
    session: Option<Session>,
    /// The events of the daemon; `None` before they are asked for.
    events: Option<Heard>,
}

/// The events that were received from a daemon.
#[derive(Debug)]
struct Heard {
    cursor: u64,
    /// Events that were not taken yet.
    events: VecDeque<Event>,
}

impl Remote {
    /// Opens a session.
    ///
    /// # Errors
    ///
    /// [`Error::Unreachable`], [`Error::Unusable`]
    pub fn connect(target: Target) -> Result<Self, Error> {
        let session = Some(establish(&target)?);
        Ok(Self { target, session, events: None })
    }

    /// Asks, and waits for the answer as long as the daemon may take for it.
    ///
    /// # Errors
    ///
    /// [`Error`]; after [`Error::Unreachable`] the next call opens a new session.
    pub fn call(&mut self, command: Command) -> Result<Reply, Error> {
        let patience = command.answered_within() + PATIENCE;
        self.call_within(command, patience)
    }

    /// Waits for the next event, however long: after [`Command::Monitor`]. The daemon is asked again and again.
    ///
    /// # Errors
    ///
    /// [`Error`]; after [`Error::Unreachable`] it goes on from where it was when it is called again.
    pub fn event(&mut self) -> Result<Event, Error> {
        loop {
            let heard =
                self.events.get_or_insert_with(|| Heard { cursor: 0, events: VecDeque::new() });
            if let Some(event) = heard.events.pop_front() {
                return Ok(event);
            }
            let (asked, cursor) = (Instant::now(), heard.cursor);
            let told = self.events_after(Some(cursor), EVENTS_WAIT_MS)?;
            let empty = told.events.is_empty();
            let missed =
                (told.missed > 0).then(|| Event::now(EventKind::Missed { count: told.missed }));
            let events = missed.into_iter().chain(told.events).collect();
            self.events = Some(Heard { cursor: told.cursor, events });
            // A daemon with many who wait answers at once.
            if empty {
                std::thread::sleep(ASK_AGAIN.saturating_sub(asked.elapsed()));
            }
        }
    }

    fn events_after(&mut self, after: Option<u64>, wait_ms: u32) -> Result<Events, Error> {
        match self.call(Command::Events { after, wait_ms }) {
            Ok(Reply::Events(events)) => Ok(events),
            Ok(reply) => Err(Error::unexpected(&reply)),
            // Its words say no more than that it does not know the command.
            Err(Error::Refused(failure)) if failure.code == Code::BadRequest => {
                let message = "the daemon elsewhere is too old to tell events; ask it to show, again and again";
                Err(Error::Refused(Failure::new(Code::BadRequest, message)))
            }
            Err(error) => Err(error),
        }
    }

    /// Sends a command, and waits for at most `patience` for the answer, besides the time for a session if there is none. A session itself gives up
    /// on an answer of which nothing came for 30 s.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::call`] does.
    pub fn call_within(&mut self, command: Command, patience: Duration) -> Result<Reply, Error> {
        if command == Command::Monitor {
            let Events { cursor, .. } = self.events_after(None, 0)?;
            self.events = Some(Heard { cursor, events: VecDeque::new() });
            return Ok(Reply::Monitoring);
        }
        let mut body = mpt_api::to_line(&Request::new(command)).into_bytes();
        body.pop();
        // The daemon may have ended meanwhile, and be back.
        let open = self.session.take().and_then(|mut it| it.is_open().then_some(it));
        let session = match open {
            Some(session) => session,
            None => establish(&self.target)?,
        };
        let session = self.session.insert(session);
        match session.request(body, Instant::now() + patience) {
            Ok(result) => crate::reply::reply(answer::parse(&result)?),
            Err(lost) => {
                if !matches!(lost, Lost::TooLong(_)) {
                    self.session = None;
                }
                Err(explain(&lost, &self.target))
            }
        }
    }
}

fn establish(target: &Target) -> Result<Session, Error> {
    Session::establish(target, Kind::Steering, None, Instant::now() + HANDSHAKE_WITHIN)
        .map_err(|lost| explain(&lost, target))
}

/// Returns what to look at.
fn explain(lost: &Lost, target: &Target) -> Error {
    let Target { address, peer, identity, .. } = target;
    let own = identity.public();
    Error::Unreachable(match lost {
        Lost::Socket(error) => format!("{address}: {error}"),
        Lost::TooLong(message) => return Error::Unusable(message.clone()),
        Lost::NoKeys { trouble: Some(trouble), .. } => {
            format!("{address}: {trouble}; is mptd running there, and is this its port?")
        }
        Lost::NoKeys { disagree: true, .. } => format!(
            "{address}: answers, but does not agree with us on keys; compare the pre-shared key (--psk) with psk_file of the [[controller]] there"
        ),
        Lost::NoKeys { .. } => format!(
            "{address}: no answer within {} s. Either this is not the address or port of mptd, or a firewall is in between, or its public key \
             is not {peer}, or it has no [[controller]] with our public key, {own}: it says nothing to whom it does not know",
            HANDSHAKE_WITHIN.as_secs()
        ),
        Lost::Ended => format!("{address}: the daemon ended the session"),
        Lost::Unanswered { trouble: Some(trouble) } => {
            format!("{address}: lost the daemon: {trouble}")
        }
        Lost::Unanswered { trouble: None } => format!(
            "{address}: no answer; the request may have been carried out, or still be, all the same"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_be_without_port() {
        for (text, expected) in [
            ("192.0.2.1", "192.0.2.1:4754"),
            ("192.0.2.1:5000", "192.0.2.1:5000"),
            ("2001:db8::1", "[2001:db8::1]:4754"),
            ("[2001:db8::1]", "[2001:db8::1]:4754"),
            ("[2001:db8::1]:5000", "[2001:db8::1]:5000"),
        ] {
            assert_eq!(address(text), Ok(expected.parse().unwrap()), "{text}");
        }
        for bad in ["", "192.0.2.1:", "192.0.2.1:65536", ":4754:"] {
            assert!(matches!(address(bad), Err(Error::Unusable(_))), "{bad}");
        }
    }
}
