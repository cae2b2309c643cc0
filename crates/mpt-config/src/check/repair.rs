//! Checks of repair: lost packets cannot be sent again, and waited for, with every mapping.

use mpt_api::{Mapping, Repair};

use crate::parse::draft::Select;
use crate::peers::Client;
use crate::syntax::reader::{Context, Lines, Located};
use crate::types::{Connection, Fec, Late};

/// Returns true if a sender with this mapping can number its packets in one order over all paths, with one packet for
/// each number.
fn has_one_order(mapping: Mapping) -> bool {
    matches!(mapping, Mapping::Packet | Mapping::Adaptive)
}

/// Reports what a connection says of lost packets where its mapping does not allow it.
pub(super) fn of_connection(
    context: &Context<'_>,
    connection: &Connection,
    lines: &Lines,
    selects: &[Located<Select>],
) {
    let Connection { mapping, repair, .. } = *connection;
    if has_one_order(mapping) {
        return;
    }
    let why = match mapping {
        Mapping::Flow => {
            "mapping = \"flow\" has no sequence numbers by which a lost packet is known"
        }
        _ => "mapping = \"duplicate\" sends every packet over every path already",
    };
    if repair != Repair::Off && lines.has("repair") {
        context.error(
            lines.of("repair"),
            "connection.repair",
            format!("\"{repair}\", but {why}; write mapping = \"adaptive\", or repair = \"off\""),
        );
    }
    for Located { value: select, lines } in selects {
        if select.late == Late::Deliver {
            context.error(
                lines.of("late"),
                "connection.select.late",
                format!("\"deliver\", but {why}; write mapping = \"adaptive\", or take late out"),
            );
        }
        if select.fec == Fec::On {
            context.error(
                lines.of("fec"),
                "connection.select.fec",
                format!("\"on\", but {why}; write mapping = \"adaptive\", or take fec out"),
            );
        }
    }
}

/// Reports what a client says of lost packets where none of its mappings allows it.
pub(crate) fn of_client(context: &Context<'_>, client: &Client, lines: &Lines) {
    let allowed = client.mappings.iter().copied().any(has_one_order);
    if !allowed && client.repair != Repair::Off && lines.has("repair") {
        context.error(
            lines.of("repair"),
            "client.repair",
            format!(
                "\"{}\", but lost packets are sent again with mapping = \"adaptive\" only, which the client may not ask for; \
                 add \"adaptive\" to mappings, or write repair = \"off\"",
                client.repair
            ),
        );
    }
}
