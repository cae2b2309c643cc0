//! The rows of an experiment: presets by their names, and a file's changes to them.

use std::collections::BTreeMap;

use anyhow::{Error, Result};

use super::file::{Body, MethodKind, RowTable, WeightsFile};
use super::network::Network;
use super::syntax::source::{Source, Step, Tree};
use crate::experiments::case::{Method, NetworkSpec, TunnelSpec};

/// Keys of `[[connection]]` that an experiment may set: those that affect how packets travel.
const CONNECTION_KEYS: [&str; 16] = [
    "checksum",
    "copy_dscp",
    "direction",
    "early_release",
    "ecn",
    "equalize",
    "key",
    "late",
    "mapping",
    "max_delay",
    "repair",
    "seal",
    "select",
    "sequence",
    "udp_checksum",
    "window",
];
/// Keys of `[[connection.path]]` that an experiment may set; weights have a key of their own.
const PATH_KEYS: [&str; 7] =
    ["local_port", "mtu", "nat", "rate", "remote_port", "source_port", "tier"];
/// The largest weight of a path.
const LARGEST_WEIGHT: u64 = 65_535;

/// Adapters that come with the laboratory.
const ADAPTERS: [&str; 3] = ["openvpn", "wireguard-go", "fastd"];

/// Returns a row with everything that the preset of its name adds.
pub(super) fn complete(file: &RowTable, links: &[&str]) -> RowTable {
    let mut row = preset(&file.name, links).unwrap_or_default();
    row.name.clone_from(&file.name);
    row.connection.extend(file.connection.clone());
    row.path.extend(file.path.clone());
    row.only.extend(file.only.clone());
    macro_rules! take {
        ($($key:ident),*) => {$(
            if file.$key.is_some() {
                row.$key.clone_from(&file.$key);
            }
        )*};
    }
    take!(
        label,
        method,
        links,
        adapter,
        session,
        second_connection,
        inner,
        outer,
        weights,
        weights_back,
        quick
    );
    row
}

/// Returns what the usual rows are.
fn preset(name: &str, links: &[&str]) -> Option<RowTable> {
    let row = |label: &str, method| RowTable {
        label: Some(label.into()),
        method: Some(method),
        ..RowTable::default()
    };
    let tunnel = |label: &str, session, connection: &[(&str, toml::Value)]| RowTable {
        session: Some(session),
        connection: connection.iter().map(|(key, value)| ((*key).into(), value.clone())).collect(),
        ..row(label, MethodKind::Tunnel)
    };
    let drop_late = [
        ("window", toml::Value::Integer(10_000)),
        ("max_delay", "300 ms".into()),
        ("early_release", false.into()),
        ("late", "drop".into()),
    ];
    let unordered = [("window", toml::Value::Integer(0)), ("sequence", false.into())];
    Some(match name {
        link if links.contains(&link) => RowTable {
            links: Some(vec![link.into()]),
            ..row(&format!("{link} alone"), MethodKind::Plain)
        },
        "mptcp" => row("kernel MPTCP", MethodKind::Mptcp),
        "single-sum" => row("one link of the summed rate", MethodKind::SingleSum),
        "paper" => tunnel("tunnel, paper's settings", false, &drop_late),
        "paper-no-reorder" => tunnel("tunnel, paper's settings, no reordering", false, &unordered),
        // The papers measured plain data, spread by the weights that they give; the rows beside their figures do the same.
        "ours" => {
            let as_there = [("seal", "off".into()), ("mapping", "packet".into())];
            tunnel("tunnel, our defaults", true, &as_there)
        }
        adapter if ADAPTERS.contains(&adapter) => RowTable {
            adapter: Some(adapter.into()),
            ..row(&format!("{adapter} over the first link"), MethodKind::Adapter)
        },
        _ => return None,
    })
}

/// The place at which a mistake is reported.
struct Place<'a> {
    source: &'a Source<'a>,
    tree: &'a Tree<'a>,
    index: usize,
}

impl Place<'_> {
    fn error(&self, key: &str, message: impl AsRef<str>) -> Error {
        let path = [Step::Key("rows"), Step::Index(self.index), Step::Key(key)];
        self.source.error_at(self.tree, &path, message)
    }
}

/// Returns what a row measures: its network, with only the links it uses, their indices in the file, and its method.
pub(super) fn method(
    source: &Source<'_>,
    tree: &Tree<'_>,
    index: usize,
    row: &RowTable,
    body: &Body,
    network: &Network,
) -> Result<(NetworkSpec, Vec<usize>, Method)> {
    let place = Place { source, tree, index };
    let names = network.names();
    let links: Vec<usize> = match &row.links {
        None => (0..names.len()).collect(),
        Some(wanted) => wanted
            .iter()
            .map(|name| {
                names.iter().position(|link| link == name).ok_or_else(|| {
                    let message =
                        format!("there is no link \"{name}\"; write some of {}", names.join(", "));
                    place.error("links", message)
                })
            })
            .collect::<Result<_>>()?,
    };
    if links.is_empty() {
        return Err(place.error("links", "is empty; write at least one name"));
    }
    let Some(kind) = row.method else {
        let presets =
            "mptcp, single-sum, paper, paper-no-reorder, ours, openvpn, wireguard-go, fastd";
        let message = format!(
            "no usual row is called \"{}\"; write one of {}, {presets}, or a method beside the name",
            row.name,
            names.join(", ")
        );
        return Err(place.error("method", message));
    };
    let part = || network.part(&links);
    Ok(match kind {
        MethodKind::Plain => {
            if links.len() > 1 {
                return Err(
                    place.error("links", "plain TCP has one link; write links = [\"path1\"]")
                );
            }
            (part(), links, Method::Plain)
        }
        MethodKind::SingleSum => {
            let sum = network.single_sum(&links).map_err(|why| place.error("method", why))?;
            // An event of one of the links is no event of their sum.
            (sum, Vec::new(), Method::Plain)
        }
        MethodKind::Mptcp => (part(), links, Method::Mptcp),
        MethodKind::Tunnel => {
            let spec = tunnel(&place, row, body, network, &links)?;
            (part(), links, Method::Tunnel(spec))
        }
        MethodKind::Adapter => {
            let message = "missing; write the name of an adapter, such as \"openvpn\"";
            let name = row.adapter.clone().ok_or_else(|| place.error("adapter", message))?;
            (part(), links, Method::Adapter { name })
        }
    })
}

fn tunnel(
    place: &Place<'_>,
    row: &RowTable,
    body: &Body,
    network: &Network,
    links: &[usize],
) -> Result<TunnelSpec> {
    let version = |key: &str, version: Option<u8>| match version.unwrap_or(4) {
        version @ (4 | 6) => Ok(version),
        other => Err(place.error(key, format!("{other} is not a version of IP; write 4 or 6"))),
    };
    known(place, "connection", row.connection.keys(), &CONNECTION_KEYS)?;
    known(place, "path", row.path.keys(), &PATH_KEYS)?;
    let mut connection = row.connection.clone();
    if let Some(window) = connection.get_mut("window") {
        let packets = window.as_integer().filter(|packets| (0..=65_535).contains(packets));
        let Some(packets) = packets else {
            let message = format!("{window} is not a window; write packets from 0 to 65535");
            return Err(place.error("connection", message));
        };
        // The window is scaled like the rates: it holds the arrivals within a time.
        let scaled = (packets as f64 / body.network.scale).ceil() as i64;
        *window = toml::Value::Integer(scaled);
    }
    let there = row.weights.clone().unwrap_or(WeightsFile::Rates);
    // A list is for what this end sends; the other end has the same unless it is given.
    let back = row.weights_back.clone().unwrap_or_else(|| there.clone());
    let weights = |key: &str, weights: &WeightsFile, backward| -> Result<Vec<u64>> {
        Ok(match weights {
            WeightsFile::None => Vec::new(),
            WeightsFile::Equal => vec![1; links.len()],
            WeightsFile::List(list) if list.len() == links.len() && !list.contains(&0) => {
                reduced(&list.iter().map(|&weight| u64::from(weight)).collect::<Vec<_>>())
            }
            WeightsFile::List(list) => {
                let message = format!(
                    "{} weights for {} links; write one from 1 to {LARGEST_WEIGHT} for each",
                    list.len(),
                    links.len()
                );
                return Err(place.error(key, message));
            }
            WeightsFile::Rates => {
                let message = "there are links without a rate; write weights = \"equal\" or a list";
                let rates = network.rates(links, backward);
                reduced(&rates.ok_or_else(|| place.error(key, message))?)
            }
        })
    };
    let (forward, backward) =
        (weights("weights", &there, false)?, weights("weights_back", &back, true)?);
    let none = |weights: &WeightsFile| matches!(weights, WeightsFile::None);
    if none(&there) != none(&back) {
        let message = "\"none\" is for both directions or for neither; write the same in both";
        return Err(place.error("weights_back", message));
    }
    // An end follows the other one's wish for what it receives; without a wish it follows what the other one sends.
    let paths = |out: &[u64], into: &[u64]| {
        let path = |(&out, &into): (&u64, &u64)| {
            let mut path: BTreeMap<String, toml::Value> = row.path.clone();
            path.insert("weight".into(), toml::Value::Integer(out as i64));
            if out != into {
                path.insert("weight_in".into(), toml::Value::Integer(into as i64));
            }
            path
        };
        match out {
            [] => vec![row.path.clone(); links.len()],
            _ => out.iter().zip(into).map(path).collect(),
        }
    };
    Ok(TunnelSpec {
        inner: version("inner", row.inner)?,
        outer: version("outer", row.outer)?,
        session: row.session.unwrap_or(true),
        second_connection: row.second_connection.unwrap_or(false),
        connection,
        paths_a: paths(&forward, &backward),
        paths_b: paths(&backward, &forward),
    })
}

fn known<'a>(
    place: &Place<'_>,
    table: &str,
    keys: impl Iterator<Item = &'a String>,
    known: &[&str],
) -> Result<()> {
    for key in keys {
        if !known.contains(&key.as_str()) {
            let message = format!("unknown key {key}; write one of {}", known.join(", "));
            return Err(place.error(table, message));
        }
    }
    Ok(())
}

/// Returns the smallest weights in the ratio of the rates; where they are too large, the nearest that fit.
fn reduced(rates: &[u64]) -> Vec<u64> {
    mpt_core::advise::weights(rates, u16::MAX).into_iter().map(u64::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_in_the_ratio_of_the_rates() {
        assert_eq!(reduced(&[10_000_000, 100_000_000]), [1, 10]);
        assert_eq!(reduced(&[94_000_000, 121_000_000]), [94, 121]);
        assert_eq!(reduced(&[1_000_000_007, 1]), [LARGEST_WEIGHT, 1]);
        assert_eq!(reduced(&[5]), [1]);
    }
}
