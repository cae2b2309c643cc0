//! A key of the file, and everything that has to do with it: its name, form, default and documentation, where its value is kept, and what a change
//! of it takes at a reload. The tables of keys are in [`super::keys`].

use toml_edit::Value;

use super::syntax::form::Form;
use super::syntax::reader::{Located, Table};
use super::types::{DEFAULT_PORT, PeerKind};

/// The effect of a reload when the value of a key differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reload {
    /// The value changes in flight.
    InFlight,
    /// The path or connection is replaced by a new one.
    Replaced,
    /// The value takes effect when the daemon is started again.
    Restart,
    /// The key is compared with another one, or its value is already put into others.
    Elsewhere,
}

/// The facts that the default of a key may depend on, besides the other keys of its table.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    /// `daemon.port`.
    pub(super) port: u16,
    /// The device of the file, if there is only one.
    pub(super) device: Option<&'a str>,
    /// True if there are several devices, of which one has to be named.
    pub(super) several_devices: bool,
    /// The kind of peer of the connection.
    pub(super) peer_kind: PeerKind,
    /// True if every path of the connection has a remote address or name.
    pub(super) knows_remotes: bool,
}

impl Around<'static> {
    /// The surroundings by which the documentation shows defaults.
    pub(super) const USUAL: Self = Around {
        port: DEFAULT_PORT,
        device: Some("mpt0"),
        several_devices: false,
        peer_kind: PeerKind::Plain,
        knows_remotes: true,
    };
}

/// A type into which a table of the file, or a group of keys in several tables, is read.
pub(super) trait Keys: Sized + 'static {
    /// The keys, in the order of the example.
    const KEYS: &'static [&'static dyn Part<Self>];

    /// Returns a value with every default, and something that stands for no value where there is no default.
    fn usual() -> Self;
}

/// One key of a table that is read into a `T`, or a group of keys.
pub(super) trait Part<T>: Sync {
    /// Reads what the file holds, and adds the keys that are bad or missing. Returns false when one of them is a key without which there is no `T`.
    fn read(&self, table: &mut Table<'_>, into: &mut T, unread: &mut Vec<&'static str>) -> bool;

    /// Fills in defaults that follow other keys, where a key was not read.
    fn fill(&self, unread: &[&'static str], into: &mut T, around: &Around<'_>);

    /// Adds the names of the keys that differ and of which a change takes `reload`.
    fn differing(&self, reload: Reload, old: &T, new: &T, names: &mut Vec<&'static str>);

    /// Adds the keys that have a value.
    fn values(&self, of: &T, around: &Around<'_>, values: &mut Vec<KeyValue>);

    /// Adds what a reader should know of the keys.
    fn describe(&self, keys: &mut Vec<KeyDoc>);
}

/// A key with its value.
pub(super) struct KeyValue {
    /// Name of the key.
    pub(super) name: &'static str,
    /// Its value as it is written into the file.
    pub(super) value: Value,
    /// True if the key has that value when the file leaves it out.
    pub(super) is_usual: bool,
}

/// The documentation of a key.
#[derive(Clone, Debug)]
pub struct KeyDoc {
    /// Name of the key.
    pub name: &'static str,
    /// The effect of the key.
    pub text: &'static str,
    /// The form of its values: "an integer from 1 to 65535".
    pub form: String,
    /// The limits of its values: "1 to 65535".
    pub limits: Option<String>,
    /// Its default as it would stand in the file; `None`: it has none.
    pub usual: Option<String>,
    /// True if the file has to hold it.
    pub required: bool,
    /// The effect of a reload that changes it.
    pub reload: Reload,
    /// Its form in the example.
    pub(super) shown: Shown,
    /// Text of the example about a group that is explained elsewhere, in place of its keys' texts.
    pub(super) note: Option<&'static str>,
}

/// The form of a key in the example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// The key has its default, commented.
    Usual,
    /// The key has its default in this notation, commented.
    UsualAs(&'static str),
    /// The key has this value as an example.
    Example(&'static str),
    /// The key has this value, not commented.
    Set(&'static str),
    /// The key is in another place, with this value.
    Apart(&'static str),
}

/// The value of a key that the file leaves out.
enum Usual<T: 'static, V> {
    /// The one of [`Keys::usual`].
    Same,
    /// There is no default: the file has to hold the key. If it is `vital`, there is no `T` at all without it.
    Required { write: &'static str, vital: bool },
    /// The default follows from other keys.
    Follows(fn(&T, &Around<'_>) -> Option<V>),
}

/// A key whose values `V` have the form `F`.
pub(super) struct Field<T: 'static, V: 'static, F> {
    name: &'static str,
    form: F,
    get: fn(&T) -> Option<V>,
    set: fn(&mut T, V),
    text: &'static str,
    usual: Usual<T, V>,
    reload: Reload,
    differs: Option<fn(&T, &T) -> bool>,
    shown: Shown,
}

/// A key: its name, its form, where its value is kept, and what a reader should know of it. `get` returns `None` where the file would leave the
/// key out. It has a default, and changes in flight, unless the methods of [`Field`] say otherwise.
pub(super) const fn key<T, V, F: Form<V>>(
    name: &'static str,
    form: F,
    get: fn(&T) -> Option<V>,
    set: fn(&mut T, V),
    text: &'static str,
) -> Field<T, V, F> {
    let (usual, reload) = (Usual::Same, Reload::InFlight);
    Field { name, form, get, set, text, usual, reload, differs: None, shown: Shown::Usual }
}

/// A key with the name of the field where its value is kept: `field!(Connection.routes, form, text)`. With `?` the field is `None` where the file
/// would leave the key out. See [`key`].
macro_rules! field {
    ($table:ident . $field:ident, $form:expr, $text:expr $(,)?) => {
        $crate::key::key(
            stringify!($field),
            $form,
            |it: &$table| Some(Clone::clone(&it.$field)),
            |it, value| it.$field = value,
            $text,
        )
    };
    ($table:ident . $field:ident ?, $form:expr, $text:expr $(,)?) => {
        $crate::key::key(
            stringify!($field),
            $form,
            |it: &$table| Clone::clone(&it.$field),
            |it, value| it.$field = Some(value),
            $text,
        )
    };
}

pub(super) use field;

impl<T, V, F> Field<T, V, F> {
    /// The key has to be there; `write` says what to write.
    pub(super) const fn required(mut self, write: &'static str) -> Self {
        self.usual = Usual::Required { write, vital: false };
        self
    }

    /// Makes the key required, and nothing else of the table is checked without it.
    pub(super) const fn vital(mut self, write: &'static str) -> Self {
        self.usual = Usual::Required { write, vital: true };
        self
    }

    /// The default follows other keys.
    pub(super) const fn follows(mut self, usual: fn(&T, &Around<'_>) -> Option<V>) -> Self {
        self.usual = Usual::Follows(usual);
        self
    }

    /// A change takes this.
    pub(super) const fn at_reload(mut self, reload: Reload) -> Self {
        self.reload = reload;
        self
    }

    /// Two values are compared so.
    pub(super) const fn differing_by(mut self, differs: fn(&T, &T) -> bool) -> Self {
        self.differs = Some(differs);
        self
    }

    /// The example shows it so.
    pub(super) const fn shown(mut self, shown: Shown) -> Self {
        self.shown = shown;
        self
    }
}

impl<T: Keys, V: PartialEq, F: Form<V>> Part<T> for Field<T, V, F> {
    fn read(&self, table: &mut Table<'_>, into: &mut T, unread: &mut Vec<&'static str>) -> bool {
        if let Usual::Required { write, .. } = self.usual {
            table.require(self.name, write);
        }
        match self.form.read(table, self.name) {
            Some(value) => {
                (self.set)(into, value);
                true
            }
            None => {
                unread.push(self.name);
                !matches!(self.usual, Usual::Required { vital: true, .. })
            }
        }
    }

    fn fill(&self, unread: &[&'static str], into: &mut T, around: &Around<'_>) {
        if let Usual::Follows(usual) = self.usual
            && unread.contains(&self.name)
            && let Some(value) = usual(into, around)
        {
            (self.set)(into, value);
        }
    }

    fn differing(&self, reload: Reload, old: &T, new: &T, names: &mut Vec<&'static str>) {
        let differs = || match self.differs {
            Some(differs) => differs(old, new),
            None => (self.get)(old) != (self.get)(new),
        };
        if self.reload == reload && differs() {
            names.push(self.name);
        }
    }

    fn values(&self, of: &T, around: &Around<'_>, values: &mut Vec<KeyValue>) {
        let Some(value) = (self.get)(of) else { return };
        let is_usual = self.usual(of, around).as_ref() == Some(&value);
        values.push(KeyValue { name: self.name, value: self.form.write(&value), is_usual });
    }

    fn describe(&self, keys: &mut Vec<KeyDoc>) {
        let usual = self.usual(&T::usual(), &Around::USUAL);
        keys.push(KeyDoc {
            name: self.name,
            text: self.text,
            form: self.form.describe(),
            limits: self.form.limits(),
            usual: usual.map(|value| self.form.write(&value).to_string()),
            required: matches!(self.usual, Usual::Required { .. }),
            reload: self.reload,
            shown: self.shown,
            note: None,
        });
    }
}

impl<T: Keys, V, F> Field<T, V, F> {
    /// The value when the file leaves the key out, if it then has one.
    fn usual(&self, of: &T, around: &Around<'_>) -> Option<V> {
        match self.usual {
            Usual::Same => (self.get)(&T::usual()),
            Usual::Required { .. } => None,
            Usual::Follows(usual) => usual(of, around),
        }
    }
}

/// The keys of a `U` that is a part of a `T`.
pub(super) struct Within<T, U> {
    /// Returns the part.
    pub(super) get: fn(&T) -> &U,
    /// Returns the part, to be changed.
    pub(super) get_mut: fn(&mut T) -> &mut U,
    /// Text of the example about the keys, where it differs from their own documentation.
    pub(super) note: Option<&'static str>,
}

impl<T, U: Keys> Part<T> for Within<T, U> {
    fn read(&self, table: &mut Table<'_>, into: &mut T, unread: &mut Vec<&'static str>) -> bool {
        let into = (self.get_mut)(into);
        let mut whole = true;
        for part in U::KEYS {
            whole &= part.read(table, into, unread);
        }
        whole
    }

    fn fill(&self, unread: &[&'static str], into: &mut T, around: &Around<'_>) {
        let into = (self.get_mut)(into);
        U::KEYS.iter().for_each(|part| part.fill(unread, into, around));
    }

    fn differing(&self, reload: Reload, old: &T, new: &T, names: &mut Vec<&'static str>) {
        let (old, new) = ((self.get)(old), (self.get)(new));
        U::KEYS.iter().for_each(|part| part.differing(reload, old, new, names));
    }

    fn values(&self, of: &T, around: &Around<'_>, values: &mut Vec<KeyValue>) {
        U::KEYS.iter().for_each(|part| part.values((self.get)(of), around, values));
    }

    fn describe(&self, keys: &mut Vec<KeyDoc>) {
        let first = keys.len();
        U::KEYS.iter().for_each(|part| part.describe(keys));
        keys[first..].iter_mut().for_each(|key| key.note = self.note);
    }
}

/// Reads the keys of a table. Returns with them whether they make a `T`: false when one is bad or missing without which there is none.
pub(super) fn read<T: Keys>(table: &mut Table<'_>, around: &Around<'_>) -> (T, bool) {
    let mut it = T::usual();
    let mut unread = Vec::new();
    let mut whole = true;
    for part in T::KEYS {
        whole &= part.read(table, &mut it, &mut unread);
    }
    T::KEYS.iter().for_each(|part| part.fill(&unread, &mut it, around));
    (it, whole)
}

/// Reads a table that holds no other tables.
pub(super) fn table<T: Keys>(mut table: Table<'_>, around: &Around<'_>) -> Option<Located<T>> {
    let (value, whole) = read(&mut table, around);
    let lines = table.finish();
    whole.then_some(Located { value, lines })
}

/// Returns the names of the keys that differ and of which a change takes `reload`.
pub(super) fn differing<T: Keys>(reload: Reload, old: &T, new: &T) -> Vec<&'static str> {
    let mut names = Vec::new();
    T::KEYS.iter().for_each(|part| part.differing(reload, old, new, &mut names));
    names
}

/// Returns the keys that have a value.
pub(super) fn values<T: Keys>(of: &T, around: &Around<'_>) -> Vec<KeyValue> {
    let mut values = Vec::new();
    T::KEYS.iter().for_each(|part| part.values(of, around, &mut values));
    values
}

/// Returns what a reader should know of the keys.
pub(super) fn describe<T: Keys>() -> Vec<KeyDoc> {
    let mut keys = Vec::new();
    T::KEYS.iter().for_each(|part| part.describe(&mut keys));
    keys
}
