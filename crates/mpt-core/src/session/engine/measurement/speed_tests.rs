//! Speed tests of paths: one at a time in all sessions, since they would compete for this machine's
//! time and perhaps for the same line.

use std::time::{Duration, Instant};

use mpt_wire::control::frame::{MAX_FRAME_LEN, MAX_PAYLOAD_LEN, SEALED_HEADER_LEN, TAG_LEN};
use mpt_wire::control::{Message, Writer};
use mpt_wire::{gre, ip};

use super::test::Test;
use crate::path::mtu;
use crate::session::engine::keys::epochs::Place;
use crate::session::engine::lifecycle::session::Session;
use crate::session::engine::paths::path::SessionPath;
use crate::session::engine::shared::Shared;
use crate::session::engine::{SessionId, SessionPathId, Sessions};
use crate::session::speed::{SpeedTest, Throughput};
use crate::{PathId, Tunnels};

/// The order of a speed test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestConfig {
    /// Tells it from other tests of the session.
    pub number: u64,
    /// The path.
    pub path: PathId,
    /// The time of the measurement, at most [`MAX_DURATION`](crate::session::speed::MAX_DURATION).
    /// Up to 5 s to find the rate, and up to 5 s until everything has arrived, come on top of it.
    pub duration: Duration,
    /// The most to be sent, in bits per second; at most
    /// [`MAX_RATE`](crate::session::speed::MAX_RATE) anyway.
    pub limit: Option<u64>,
}

/// The state of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestView {
    /// True if it has ended.
    pub finished: bool,
    /// The data that has arrived so far; `None` if that is not known, as when the path broke.
    pub throughput: Option<Throughput>,
}

/// The reason for which a path is not tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TestRefused {
    /// There is no such session.
    #[error("there is no such session")]
    NoSession,
    /// The session has no such path.
    #[error("the session has no such path")]
    NoPath,
    /// It does not work.
    #[error("the path is down")]
    Down,
    /// Another test has not ended.
    #[error("another path is being measured")]
    Busy,
}

impl Sessions {
    /// Begins to measure how fast a path is for what we send. The end is to be asked for with
    /// [`Self::test`]; the result remains until the next test of the session.
    ///
    /// # Errors
    ///
    /// [`TestRefused`]
    pub(crate) fn start_test(
        &mut self,
        now: Instant,
        id: SessionId,
        config: TestConfig,
    ) -> Result<(), TestRefused> {
        let slot = self.slot(id).ok_or(TestRefused::NoSession)?;
        let busy = self.is_testing();
        let session = self.at(slot).ok_or(TestRefused::NoSession)?;
        let path = session.paths.of(config.path).ok_or(TestRefused::NoPath)?;
        let remote = path
            .remote()
            .filter(|_| path.is_up() && !path.is_suspended() && !session.keys.is_empty());
        let remote = remote.ok_or(TestRefused::Down)?;
        if busy {
            return Err(TestRefused::Busy);
        }
        let gre = gre::Repr::control(session.identity.key).header_len();
        let outer = ip::Version::of(remote.ip().to_canonical());
        let overhead = usize::from(mtu::overhead(outer, 0)) + gre;
        let speed = SpeedTest::new(now, config.duration, config.limit, MAX_FRAME_LEN + overhead);
        let TestConfig { number, path, .. } = config;
        session.test = Some(Box::new(Test { number, path, overhead, speed }));
        self.timers.set_no_later(slot, now);
        Ok(())
    }

    /// Returns true if a test runs, in any session.
    #[must_use]
    pub fn is_testing(&self) -> bool {
        let running =
            |session: &Session| session.test.as_ref().is_some_and(|it| !it.speed.is_over());
        self.sessions.iter().flatten().any(|session| running(session))
    }

    /// Returns the last test of a session; `None` if it had another number, or there was none.
    #[must_use]
    pub fn test(&self, id: SessionId, number: u64) -> Option<TestView> {
        let session = self.sessions.get(self.slot(id)? as usize)?.as_deref()?;
        let test = session.test.as_ref().filter(|test| test.number == number)?;
        let throughput = test.speed.throughput();
        Some(TestView { finished: test.speed.is_over(), throughput })
    }

    /// Returns the path that the peer calls so under the present keys.
    #[must_use]
    pub fn path_named(&self, id: SessionId, name: SessionPathId) -> Option<PathId> {
        let session = self.sessions.get(self.slot(id)? as usize)?.as_deref()?;
        let keys = session.keys.current.as_ref()?;
        let path = session.paths.iter().find(|path| path.wire_id(keys) == Some(name))?;
        Some(path.id)
    }
}

impl Session {
    /// Sends what the test has to send now.
    pub(crate) fn drive_test<P: Copy>(
        &mut self,
        now: Instant,
        shared: &mut Shared,
        tunnels: &Tunnels<P>,
    ) {
        // Taken out, so that its own frames are not counted as those of others.
        let Some(mut test) = self.test.take_if(|test| !test.speed.is_over()) else { return };
        let path = self.paths.iter().position(|path| path.id == test.path);
        let works = |i: &usize| self.paths.get(*i).is_some_and(SessionPath::is_up);
        let way = path.filter(works).and_then(|i| Some((i, self.keys.sending(now)?)));
        match way {
            Some((i, place)) => {
                test.speed.handle_timeout(now);
                while let Some(probe) = test.speed.poll_frame(now) {
                    let token = probe.then(|| shared.random.u64());
                    if self.send_test_frame(shared, place, i, token, tunnels) {
                        test.speed.frame_sent(now, token);
                    }
                }
            }
            None => test.speed.stop(),
        }
        self.test = Some(test);
    }

    fn send_test_frame<P: Copy>(
        &mut self,
        shared: &mut Shared,
        place: Place,
        i: usize,
        token: Option<u64>,
        tunnels: &Tunnels<P>,
    ) -> bool {
        let Some((wire_id, destination)) = self.way(place, i) else { return false };
        // The peer's own frames may have a hard time, too.
        let report = token.map(|token| (token, self.report_entry(wire_id, i, tunnels)));
        let write = |_: &mut Self, writer: &mut Writer<'_>, _: &mut _| {
            if let Some((token, report)) = report {
                let _ = writer.push(&Message::Probe { token });
                let _ = writer.push_report([report].into_iter());
            }
            writer.pad_to(MAX_PAYLOAD_LEN).is_ok()
        };
        self.send(shared, place, wire_id, destination, write, MAX_PAYLOAD_LEN)
    }

    /// Returns the test of a path, if the last test of the session is one of it.
    pub(crate) fn test_of(&mut self, path: PathId) -> Option<&mut Test> {
        self.test.as_deref_mut().filter(|test| test.path == path)
    }

    /// A frame was sent, with a payload of this length: if on the path under test, it counts there.
    pub(crate) fn note_sent(&mut self, place: Place, wire_id: SessionPathId, len: usize) {
        let Some(test) = &mut self.test else { return };
        let keys = self.keys.at_mut(place);
        let tested = self.paths.iter().find(|path| path.id == test.path);
        if let (Some(keys), Some(path)) = (keys, tested)
            && path.wire_id(keys) == Some(wire_id)
        {
            test.speed.other_sent(SEALED_HEADER_LEN + len + TAG_LEN + test.overhead);
        }
    }
}
