//! One daemon: asked, judged, steered.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use mpt_api::{Command, PathChange, PathState, Reply, Snapshot};
use mpt_client::{Error, Remote, Target};

use crate::rules::{Rules, Watch, Wish};

/// Between two looks at a daemon.
const LOOK: Duration = Duration::from_secs(1);
/// How long a daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The time after which the peer of a connection knows of a change.
const SETTLE: Duration = Duration::from_millis(500);
/// How late the end of the program is noticed.
const NAP: Duration = Duration::from_millis(50);

/// A connection, and a path of it.
type Name = (String, String);

pub(crate) struct Site<'a> {
    name: &'a str,
    target: Target,
    rules: &'a Rules,
    turn: &'a Mutex<()>,
    say: &'a (dyn Fn(&str) + Sync),
    /// None before the first answer, and after one failed to come.
    remote: Option<Remote>,
    /// What was said last about not reaching it.
    trouble: Option<Error>,
    watches: BTreeMap<Name, Watch>,
}

impl<'a> Site<'a> {
    pub(crate) fn new(
        name: &'a str,
        target: Target,
        rules: &'a Rules,
        turn: &'a Mutex<()>,
        say: &'a (dyn Fn(&str) + Sync),
    ) -> Self {
        let watches = BTreeMap::new();
        Self { name, target, rules, turn, say, remote: None, trouble: None, watches }
    }

    /// Looks every second, until `stop` is set; then takes back what is out.
    pub(crate) fn watch(&mut self, stop: &AtomicBool) {
        let mut next = Instant::now();
        while !stop.load(Ordering::Relaxed) {
            let outcome = self.look();
            self.tell_trouble(outcome.err());
            next = (next + LOOK).max(Instant::now());
            while Instant::now() < next && !stop.load(Ordering::Relaxed) {
                thread::sleep(NAP);
            }
        }
        let is_out = |(name, watch): (&Name, &Watch)| watch.before().map(|_| name.clone());
        for name in self.watches.iter().filter_map(is_out).collect::<Vec<_>>() {
            let outcome = self.take_back(&name);
            self.tell_trouble(outcome.err());
        }
    }

    fn look(&mut self) -> Result<(), Error> {
        let snapshot = self.show()?;
        let mut wishes = Vec::new();
        let mut watches = BTreeMap::new();
        for connection in &snapshot.connections {
            for path in &connection.paths {
                let name = (connection.name.clone(), path.name.clone());
                let mut watch = self.watches.remove(&name).unwrap_or_default();
                wishes.push((name.clone(), watch.look(self.rules, path)));
                watches.insert(name, watch);
            }
        }
        // Those of connections and paths that are no longer there go.
        self.watches = watches;
        for (name, wish) in wishes {
            match wish {
                Wish::Nothing => {}
                Wish::Out(why) => self.take_out(&name, &why)?,
                Wish::Back => self.take_back(&name)?,
            }
        }
        Ok(())
    }

    /// Takes a path out of service, if another one can carry what it carried.
    fn take_out(&mut self, name: &Name, why: &str) -> Result<(), Error> {
        let turn = self.turn;
        let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
        // As it is now: another change may just have been made at the peer.
        let snapshot = self.show()?;
        let connection = snapshot.connections.iter().find(|it| it.name == name.0);
        let paths = connection.map_or(&[][..], |connection| &connection.paths);
        let Some(path) = paths.iter().find(|path| path.name == name.1) else { return Ok(()) };
        let other = paths.iter().any(|it| it.name != name.1 && it.state == PathState::Up);
        let Some(watch) = self.watches.get_mut(name) else { return Ok(()) };
        if path.state != PathState::Up || !other {
            watch.not_now();
            self.report(name, &format!("left as it is, no other path is up: {why}"));
            return Ok(());
        }
        watch.taken_out(self.rules, path);
        self.set(name, self.rules.action.out())?;
        self.report(name, &format!("taken out of service: {why}"));
        thread::sleep(SETTLE);
        Ok(())
    }

    /// Takes a path back into service, as it was before.
    fn take_back(&mut self, name: &Name) -> Result<(), Error> {
        let before = self.watches.get(name).and_then(Watch::before);
        let Some(change) = before.map(|path| self.rules.action.back(path)) else { return Ok(()) };
        self.set(name, change)?;
        if let Some(watch) = self.watches.get_mut(name) {
            watch.taken_back();
        }
        self.report(name, "taken back into service");
        Ok(())
    }

    fn show(&mut self) -> Result<Box<Snapshot>, Error> {
        match self.call(Command::Show)? {
            Reply::Snapshot(snapshot) => Ok(snapshot),
            reply => Err(Error::unexpected(&reply)),
        }
    }

    fn set(&mut self, (connection, path): &Name, change: PathChange) -> Result<(), Error> {
        let (connection, path) = (connection.clone(), path.clone());
        self.call(Command::SetPath { connection, path, change }).map(drop)
    }

    fn call(&mut self, command: Command) -> Result<Reply, Error> {
        let remote = match &mut self.remote {
            Some(remote) => remote,
            none => none.insert(Remote::connect(self.target.clone())?),
        };
        remote.call_within(command, PATIENCE)
    }

    /// Says once when the daemon cannot be asked, and once when it can again.
    fn tell_trouble(&mut self, trouble: Option<Error>) {
        if self.trouble != trouble {
            match &trouble {
                Some(error) => (self.say)(&format!("{}: {error}", self.name)),
                None => (self.say)(&format!("{}: answers again", self.name)),
            }
            self.trouble = trouble;
        }
    }

    fn report(&self, (connection, path): &Name, what: &str) {
        (self.say)(&format!("{}: connection {connection}, path {path}: {what}", self.name));
    }
}
