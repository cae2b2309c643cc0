//! Speed tests: path after path, in both directions, and the weights that follow (almasi2017, equation 1: the weight of a path is
//! the speed it has from one end to the other).
//!
//! They run beside everything else, in a task of their own that asks the daemon and the data thread as others do.

pub(super) mod state;
mod turns;

use std::num::NonZeroU16;
use std::time::{Duration, Instant};

use mpt_api::session::{
    MeasureSender, MeasureStart, SessionCode, SessionFailure, SessionReply, SessionRequest,
    SessionResult,
};
use mpt_api::{Code, Failure, Measured, MeasuredPath, PathChange};
use mpt_core::session::speed::Throughput;
use mpt_core::session::{SessionId, TestRefused};
use tokio::sync::{mpsc, oneshot};

use super::shards::Shards;
use super::{Daemon, Error};
use crate::control::command::{Answer, Command};
use crate::data::Ended;
use state::Ask;

/// The interval at which a test of this host is checked for its end.
const LOOK: Duration = Duration::from_millis(50);
/// The interval at which a test of the peer is checked for its end, which takes a request each.
const ASK: Duration = Duration::from_millis(250);
/// Longest time of a test besides its duration: to find the rate, until everything has arrived, and until that is known here.
const BESIDES: Duration = Duration::from_secs(20);
/// The largest weight proposed. It tells paths apart whose speeds are as 1 to 1000.
const LARGEST_WEIGHT: u16 = 1000;
/// Weights are as small as possible while none of them is further than this from the ratio of the speeds, which are no more exact.
const EXACT: f64 = 0.03;

/// The longest time that a test takes besides its duration, to find the rate.
const SEARCH: Duration = Duration::from_secs(5);
/// The first number of the tests that the peer asks for, which are apart from our own.
const ASKED: u64 = 1 << 32;

impl Daemon {
    /// Measures the paths of a connection and answers when it is done; at once if it cannot begin.
    pub(super) async fn measure(
        &mut self,
        connection: String,
        set: bool,
        duration: Duration,
        reply: Answer<Measured>,
    ) {
        match self.measuring(connection, set, duration).await {
            Ok(mut job) => {
                self.measure.task = Some(tokio::spawn(async move {
                    let mut reply = reply;
                    let measured = tokio::select! {
                        measured = job.run() => measured,
                        // Nobody wants to know any more.
                        () = reply.closed() => return,
                    };
                    let _ = reply.send(measured);
                }));
            }
            Err(failure) => drop(reply.send(Err(failure))),
        }
    }

    async fn measuring(
        &mut self,
        connection: String,
        set: bool,
        duration: Duration,
    ) -> Result<Job, Failure> {
        let client = || self.clients.get(self.clients.find_shown(&connection)?);
        let config = self.running.connection(&connection);
        let config = config.or_else(|| client().map(|held| &held.connection)).ok_or_else(|| {
            Failure::new(Code::NotFound, format!("there is no connection \"{connection}\""))
        })?;
        let paths = config.paths.iter().map(|path| path.name.clone()).collect();
        if self.measure.is_running() {
            return Err(Failure::new(Code::Busy, "another measurement has not ended"));
        }
        let name = connection.clone();
        let shard = self.shards.of(&connection);
        let session = shard.call(move |data| data.session_of_connection(&name)).await;
        let session = session.map_err(ended)?.ok_or_else(|| {
            let message = format!("connection \"{connection}\" has no session: nobody counts");
            Failure::new(Code::BadRequest, message)
        })?;
        self.measure.next = self.measure.next.wrapping_add(1);
        Ok(Job {
            shards: self.shards.clone(),
            commands: self.measure.commands.clone(),
            asks: self.measure.asks.clone(),
            session,
            connection,
            paths,
            set,
            duration,
            number: self.measure.next,
        })
    }

    /// Sends a request of a measurement to the peer of a session.
    pub(super) async fn ask_peer(&mut self, ask: Ask) -> Result<(), Error> {
        let Ask { session, body, reply } = ask;
        // Without an answer the sender of the reply is gone.
        let shard = self.shards.of_session(session);
        if let Ok(id) = shard.call(move |data| data.request(session, body)).await? {
            self.measure.asked.insert((session, id), reply);
        }
        Ok(())
    }

    /// Answers the peer, which asks how fast a path is towards it.
    pub(super) async fn serve_test(
        &mut self,
        session: SessionId,
        start: MeasureStart,
    ) -> Result<Result<SessionResult, SessionFailure>, Error> {
        let refused = |code, message: &str| Ok(Err(SessionFailure::new(code, message)));
        if start.sender != MeasureSender::Asked {
            let message = "who sends knows from reports what arrives; nobody has to be asked";
            return refused(SessionCode::Unsupported, message);
        }
        if self.measure.is_running() {
            return refused(SessionCode::Busy, "this end measures by itself now");
        }
        let number = ASKED | u64::from(start.test);
        let duration = Duration::from_millis(start.duration_ms.into());
        let (path, limit) = (start.path, start.limit);
        let shard = self.shards.of_session(session);
        let Some(peer) = shard.call(move |data| data.peer_of(session)).await? else {
            return refused(SessionCode::NotFound, &TestRefused::NoSession.to_string());
        };
        // A test takes what the lines carry, whichever shard it runs in.
        let testing = self.shards.each(|data| data.is_testing()).await?.any(|it| it);
        if !self.measure.turns.admit(Instant::now(), peer, duration + SEARCH, !testing) {
            return refused(SessionCode::Busy, "others have their turn, or you had yours");
        }
        let started =
            shard.call(move |data| data.start_test(session, number, path, duration, limit));
        match started.await? {
            Ok(()) => {
                if self.provoked.line(peer) {
                    tracing::info!(
                        path,
                        duration_ms = start.duration_ms,
                        "speed test for the peer"
                    );
                }
                Ok(Ok(SessionResult::Done))
            }
            Err(error) => {
                let code = match error {
                    TestRefused::Busy => SessionCode::Busy,
                    TestRefused::NoSession | TestRefused::NoPath => SessionCode::NotFound,
                    TestRefused::Down => SessionCode::Failed,
                };
                refused(code, &error.to_string())
            }
        }
    }

    /// Answers the peer, which asks for the result of a test.
    pub(super) async fn serve_test_result(
        &self,
        session: SessionId,
        test: u32,
    ) -> Result<Result<SessionResult, SessionFailure>, Error> {
        let number = ASKED | u64::from(test);
        let shard = self.shards.of_session(session);
        let view = shard.call(move |data| data.test(session, number)).await?;
        let Some(view) = view else {
            return Ok(Err(SessionFailure::new(SessionCode::NotFound, "there is no such test")));
        };
        let (bytes, duration) =
            view.throughput.map_or((0, Duration::ZERO), |it| (it.bytes, it.duration));
        let duration_us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        Ok(Ok(SessionResult::Measured { finished: view.finished, bytes, duration_us }))
    }
}

/// A measurement.
struct Job {
    shards: Shards,
    commands: mpsc::Sender<Command>,
    asks: mpsc::Sender<Ask>,
    session: SessionId,
    connection: String,
    paths: Vec<String>,
    set: bool,
    duration: Duration,
    /// The number of the next test.
    number: u32,
}

impl Job {
    async fn run(&mut self) -> Result<Measured, Failure> {
        let mut speeds = Vec::with_capacity(self.paths.len());
        for path in self.paths.clone() {
            // The direction that needs the peer comes first, because the peer refuses while it measures by itself.
            let back = self.back(&path).await?;
            let there = self.there(&path).await?;
            tracing::info!(connection = self.connection, path, there, back, "measured, in bit/s");
            speeds.push((path, there, back));
        }
        let weights = proposals(speeds.iter().map(|&(_, there, _)| there));
        let weights_in = proposals(speeds.iter().map(|&(_, _, back)| back));
        let paths = speeds.into_iter().zip(weights).zip(weights_in);
        let paths: Vec<MeasuredPath> = paths
            .map(|(((path, there, back), weight), weight_in)| MeasuredPath {
                path,
                out_bits_per_second: there,
                in_bits_per_second: back,
                weight: weight.map(u16::from),
                weight_in: weight_in.map(u16::from),
            })
            .collect();
        if self.set {
            for path in &paths {
                self.set(path).await?;
            }
        }
        Ok(Measured { paths, set: self.set })
    }

    /// Returns the number of a path in the session, while it has one.
    async fn number(&self, path: &str) -> Result<Option<u16>, Failure> {
        let (connection, path) = (self.connection.clone(), path.to_owned());
        let shard = self.shards.of(&self.connection);
        shard.call(move |data| data.path_number(&connection, &path)).await.map_err(ended)
    }

    /// Measures the bits per second from here to the peer; `None` while the path is down.
    async fn there(&mut self, path: &str) -> Result<Option<u64>, Failure> {
        let Some(path) = self.number(path).await? else { return Ok(None) };
        let (session, number, duration) = (self.session, self.next_number().into(), self.duration);
        let shard = self.shards.of_session(session);
        let started =
            shard.call(move |data| data.start_test(session, number, path, duration, None));
        match started.await.map_err(ended)? {
            Ok(()) => {}
            Err(error @ TestRefused::Busy) => {
                return Err(Failure::new(Code::Busy, error.to_string()));
            }
            Err(_) => return Ok(None),
        }
        loop {
            tokio::time::sleep(LOOK).await;
            let view = self.shards.of_session(session).call(move |data| data.test(session, number));
            match view.await.map_err(ended)? {
                Some(view) if !view.finished => {}
                view => return Ok(view.and_then(|view| view.throughput).map(speed)),
            }
        }
    }

    /// Measures the bits per second from the peer to here; `None` while the path is down.
    async fn back(&mut self, path: &str) -> Result<Option<u64>, Failure> {
        let Some(path) = self.number(path).await? else { return Ok(None) };
        let test = self.next_number();
        let duration_ms = u32::try_from(self.duration.as_millis()).unwrap_or(u32::MAX);
        let sender = MeasureSender::Asked;
        let start = MeasureStart { test, path, sender, duration_ms, limit: None };
        if let Err(failure) = self.ask(&SessionRequest::MeasureStart(start)).await? {
            return not_there(failure);
        }
        let until = Instant::now() + self.duration + BESIDES;
        tokio::time::sleep(self.duration).await;
        while Instant::now() < until {
            tokio::time::sleep(ASK).await;
            match self.ask(&SessionRequest::MeasureResult { test }).await? {
                Ok(SessionResult::Measured { finished: false, .. }) => {}
                Ok(SessionResult::Measured { bytes, duration_us, .. }) => {
                    let duration = Duration::from_micros(duration_us);
                    let found =
                        (bytes > 0 && duration_us > 0).then_some(Throughput { bytes, duration });
                    return Ok(found.map(speed));
                }
                Ok(_) => return Ok(None),
                Err(failure) => return not_there(failure),
            }
        }
        Ok(None)
    }

    /// Asks the peer.
    async fn ask(
        &self,
        request: &SessionRequest,
    ) -> Result<Result<SessionResult, SessionFailure>, Failure> {
        let (reply, answer) = oneshot::channel();
        let ask = Ask { session: self.session, body: request.to_body(), reply };
        // The daemon ends when nobody listens.
        self.asks.send(ask).await.map_err(|_| ended(Ended))?;
        let failed = |why: String| Failure::new(Code::Failed, format!("the peer: {why}"));
        let body = match answer.await {
            Ok(Ok(body)) => body,
            Ok(Err(error)) => return Err(failed(error.to_string())),
            Err(_) => return Err(failed("cannot be asked now".into())),
        };
        match SessionReply::parse(&body) {
            Ok(SessionReply::Ok(result)) => Ok(Ok(result)),
            Ok(SessionReply::Error(failure)) => Ok(Err(failure)),
            Err(failure) => Err(failed(failure.to_string())),
        }
    }

    /// Uses the weights found for a path.
    async fn set(&self, path: &MeasuredPath) -> Result<(), Failure> {
        let change = PathChange {
            weight: path.weight.and_then(NonZeroU16::new),
            weight_in: path.weight_in.and_then(NonZeroU16::new),
            ..PathChange::default()
        };
        if change.is_empty() {
            return Ok(());
        }
        let (connection, path) = (self.connection.clone(), path.path.clone());
        let (reply, done) = oneshot::channel();
        let command = Command::SetPath { connection, path, change, reply };
        self.commands.send(command).await.map_err(|_| ended(Ended))?;
        done.await.map_err(|_| ended(Ended))?
    }

    fn next_number(&mut self) -> u32 {
        self.number = self.number.wrapping_add(1);
        self.number
    }
}

/// Returns what a refusal of the peer means: that the path is down there, or that there will be no measurement at all.
fn not_there(failure: SessionFailure) -> Result<Option<u64>, Failure> {
    let code = match failure.code {
        SessionCode::NotFound | SessionCode::Failed => return Ok(None),
        SessionCode::Busy => Code::Busy,
        _ => Code::Failed,
    };
    Err(Failure::new(code, format!("the peer: {failure}")))
}

/// Bits per second.
fn speed(found: Throughput) -> u64 {
    let seconds = found.duration.as_secs_f64();
    if seconds > 0.0 { (found.bytes as f64 * 8.0 / seconds).round() as u64 } else { 0 }
}

/// Weights in proportion to speeds, with [`EXACT`]ness the smallest ones, none larger than [`LARGEST_WEIGHT`]; `None` for what was not measured.
fn proposals(speeds: impl Iterator<Item = Option<u64>>) -> Vec<Option<NonZeroU16>> {
    let speeds: Vec<Option<f64>> =
        speeds.map(|speed| speed.filter(|&it| it > 0).map(|it| it as f64)).collect();
    let fastest = speeds.iter().flatten().copied().fold(0.0, f64::max);
    let scaled = |speed: f64, largest: u16| speed / fastest * f64::from(largest);
    let exact = |largest: &u16| {
        speeds.iter().flatten().all(|&speed| {
            let exact = scaled(speed, *largest);
            (exact.round() / exact - 1.0).abs() <= EXACT
        })
    };
    let largest = (1..=LARGEST_WEIGHT).find(exact).unwrap_or(LARGEST_WEIGHT);
    let weight = |speed: f64| NonZeroU16::new((scaled(speed, largest).round() as u16).max(1));
    speeds.iter().map(|speed| speed.and_then(weight)).collect()
}

fn ended(error: Ended) -> Failure {
    Failure::new(Code::Failed, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proposed(speeds: &[u64]) -> Vec<u16> {
        let weights = proposals(speeds.iter().map(|&speed| (speed > 0).then_some(speed)));
        weights.into_iter().map(|weight| weight.map_or(0, u16::from)).collect()
    }

    #[test]
    fn weights_are_as_the_speeds_and_small() {
        assert_eq!(proposed(&[19_800_000, 49_300_000]), [2, 5]);
        assert_eq!(proposed(&[94_000_000, 95_000_000, 47_300_000]), [2, 2, 1]);
        assert_eq!(proposed(&[7]), [1]);
        assert_eq!(proposed(&[10, 0, 30]), [1, 0, 3], "one was not measured");
        assert_eq!(proposed(&[0, 0]), [0, 0]);
        assert_eq!(proposed(&[]), [0; 0]);
    }

    #[test]
    fn weights_are_bounded() {
        assert_eq!(proposed(&[1, 10_000_000_000]), [1, 1000]);
        assert_eq!(proposed(&[500, 500_000]), [1, 971], "the smallest that are right to 3 %");
        for speeds in [[123, 457, 991], [17, 19, 1000], [999, 1000, 1001]] {
            let weights = proposed(&speeds);
            let ratio = |i: usize| f64::from(weights[i]) / speeds[i] as f64;
            for i in 0..3 {
                assert!((ratio(i) / ratio(0) - 1.0).abs() < 2.5 * EXACT, "{weights:?}");
                assert!((1..=LARGEST_WEIGHT).contains(&weights[i]));
            }
        }
    }
}
