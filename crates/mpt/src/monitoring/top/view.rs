//! The selection of the user, and the effect of keys on it.

use mpt_api::PathChange;
use mpt_api::snapshot::PathState;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::monitoring::status::Tunnel;
use crate::monitoring::watched::Seen;

/// A change of a path that the user has confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) connection: String,
    pub(crate) path: String,
    pub(crate) change: PathChange,
}

impl Order {
    /// True when the path is taken out of service.
    pub(crate) fn is_down(&self) -> bool {
        self.change.up == Some(false)
    }
}

/// The purpose of the next key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Select, order, quit.
    #[default]
    Looking,
    /// Close the list of keys.
    Help,
    /// Confirm an order, or not.
    Asking(Order),
}

/// The effect of a key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Look,
    Quit,
    Order(Order),
}

/// The selection. Things are selected by name, so that they stay selected when others come and go.
#[derive(Debug, Default)]
pub(crate) struct View {
    connection: Option<String>,
    path: Option<String>,
    mode: Mode,
    message: Option<String>,
}

impl View {
    /// Looks at this connection, or at the first.
    pub(crate) fn new(connection: Option<String>) -> View {
        View { connection, ..View::default() }
    }

    /// Returns the name of the connection, unless the first one is meant.
    pub(crate) fn connection(&self) -> Option<&str> {
        self.connection.as_deref()
    }

    /// Returns what the next key is for.
    pub(crate) fn mode(&self) -> &Mode {
        &self.mode
    }

    /// Returns what came of the last order.
    pub(crate) fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// Shows a sentence until the next key.
    pub(crate) fn say(&mut self, message: String) {
        self.message = Some(message);
    }

    /// Selects the first path where the selected one is gone, and withdraws a question about a path that is gone.
    pub(crate) fn follow(&mut self, seen: &Seen) {
        let Some(tunnel) = self.tunnel(seen) else { return };
        let there = |name: &str| tunnel.paths.iter().any(|it| it.name == name);
        if !self.path.as_deref().is_some_and(there) {
            self.path = tunnel.paths.first().map(|it| it.name.clone());
        }
        if matches!(&self.mode, Mode::Asking(order) if !there(&order.path)) {
            self.mode = Mode::Looking;
        }
    }

    /// Returns the connection that is looked at; `None` where it is not there.
    pub(crate) fn tunnel<'a>(&self, seen: &'a Seen) -> Option<&'a Tunnel> {
        Some(&seen.last.connections[self.index(seen)?])
    }

    /// Returns the number of the connection that is looked at, from 0 on.
    pub(crate) fn index(&self, seen: &Seen) -> Option<usize> {
        let tunnels = &seen.last.connections;
        match &self.connection {
            Some(name) => tunnels.iter().position(|it| it.name == *name),
            None => (!tunnels.is_empty()).then_some(0),
        }
    }

    /// Returns the name of the selected path.
    pub(crate) fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// Does what a key is for.
    pub(crate) fn press(&mut self, key: KeyEvent, seen: &Seen) -> Next {
        self.message = None;
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return if key.code == KeyCode::Char('c') { Next::Quit } else { Next::Look };
        }
        match std::mem::take(&mut self.mode) {
            Mode::Looking => self.look(key.code, seen),
            Mode::Help => Next::Look,
            Mode::Asking(order) => match key.code {
                KeyCode::Char('y' | 'Y') => Next::Order(order),
                _ => Next::Look,
            },
        }
    }

    fn look(&mut self, code: KeyCode, seen: &Seen) -> Next {
        match code {
            KeyCode::Char('q') | KeyCode::Esc => return Next::Quit,
            KeyCode::Char('?' | 'h') | KeyCode::F(1) => self.mode = Mode::Help,
            KeyCode::Up | KeyCode::Char('k') => self.move_path(seen, -1),
            KeyCode::Down | KeyCode::Char('j') => self.move_path(seen, 1),
            KeyCode::Left | KeyCode::Char('p') => self.move_connection(seen, -1),
            KeyCode::Right | KeyCode::Char('n') | KeyCode::Tab => self.move_connection(seen, 1),
            KeyCode::Char('u') => self.ask(seen, true),
            KeyCode::Char('d') => self.ask(seen, false),
            _ => {}
        }
        Next::Look
    }

    fn move_path(&mut self, seen: &Seen, by: isize) {
        let Some(tunnel) = self.tunnel(seen) else { return };
        let paths = &tunnel.paths;
        let now = paths.iter().position(|it| Some(&it.name) == self.path.as_ref());
        self.path = moved(now, by, paths.len()).map(|it| paths[it].name.clone());
    }

    fn move_connection(&mut self, seen: &Seen, by: isize) {
        let tunnels = &seen.last.connections;
        // From a connection that is not there it goes to the first.
        let to = match self.index(seen) {
            Some(now) => moved(Some(now), by, tunnels.len()),
            None => (!tunnels.is_empty()).then_some(0),
        };
        if let Some(to) = to {
            self.connection = Some(tunnels[to].name.clone());
            self.path = None;
        }
    }

    fn ask(&mut self, seen: &Seen, up: bool) {
        let Some((tunnel, path)) = self.tunnel(seen).zip(self.path.clone()) else {
            return self.say("There is no path to take in or out of service.".into());
        };
        let change = PathChange { up: Some(up), ..PathChange::default() };
        self.mode = Mode::Asking(Order { connection: tunnel.name.clone(), path, change });
    }
}

/// Returns the number of the next thing or of the one before, among `many`; after the last one comes the first.
fn moved(now: Option<usize>, by: isize, many: usize) -> Option<usize> {
    let now = isize::try_from(now.unwrap_or(0)).ok()?;
    usize::try_from((now + by).checked_rem_euclid(isize::try_from(many).ok()?)?).ok()
}

/// True when no other path of the connection carries packets.
pub(crate) fn is_last(order: &Order, seen: &Seen) -> bool {
    let tunnel = seen.last.connections.iter().find(|it| it.name == order.connection);
    let mut others = tunnel.iter().flat_map(|it| &it.paths).filter(|it| it.name != order.path);
    !others.any(|it| it.state == PathState::Up)
}
