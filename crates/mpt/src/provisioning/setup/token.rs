//! `mpt setup token`: lines with which hosts join this server.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mpt_api::{Command, Reply};
use mpt_client::Client;
use mpt_text::table::{Column, Table};

use super::args;
use super::purpose::Purpose;
use super::step::record::{Record, Role};
use crate::client::{self, Failed};
use crate::command_line::args::Daemon;
use crate::provisioning::join::line::Line;

/// Prints a line, lists the tokens, or takes one back.
pub(crate) fn token(
    wanted: &args::Token,
    daemon: &Daemon,
    out: &mut impl Write,
) -> Result<(), Failed> {
    let mut client = client::connect(daemon)?;
    if wanted.list {
        return list(&mut client, out);
    }
    if let Some(token) = &wanted.revoke {
        let Reply::Changed(changed) = client.call(Command::RevokeToken { token: token.clone() })?
        else {
            return Err(Failed::File("the daemon gave an answer to another question".into()));
        };
        return Ok(changed.changes.iter().try_for_each(|it| writeln!(out, "{it}"))?);
    }
    let record = Record::load(&wanted.place.state)?.filter(|record| record.role == Role::Server);
    let record = record.ok_or_else(|| {
        Failed::File("this host was not set up as a server by mpt setup server, so that the address for clients is not known; run it first".into())
    })?;
    print(&mut client, &record, &wanted.client, &Purpose::Clients, out)
}

/// Asks the daemon for a token, and prints the command for the host that joins.
pub(super) fn print(
    client: &mut Client,
    record: &Record,
    wanted: &args::Client,
    purpose: &Purpose,
    out: &mut impl Write,
) -> Result<(), Failed> {
    let command = Command::AddToken {
        client: wanted.client.clone(),
        pool: None,
        networks: record.networks.clone(),
        behind: purpose.behind(),
        lifetime_s: u32::try_from(wanted.lifetime.as_secs()).unwrap_or(u32::MAX),
    };
    let token = match client.call(command)? {
        Reply::Token(token) => token,
        reply => return Err(Failed::unexpected(&reply)),
    };
    let odd = || Failed::File("the daemon gave a token that cannot be used".into());
    let secret = token.secret.as_deref().and_then(|secret| STANDARD.decode(secret).ok());
    let secret = secret.and_then(|secret| secret.try_into().ok()).ok_or_else(odd)?;
    let key = token.public_key.parse().map_err(|_| odd())?;
    let line = Line::new(record.address.clone(), token.port, &key, secret, wanted.lifetime);
    writeln!(out, "    {} {}\n", purpose.command(), line.to_text())?;
    let time = humantime::format_duration(wanted.lifetime);
    Ok(writeln!(
        out,
        "The line is good once, for {time} and until mptd is started again. Whoever has it can join, so send it in a way that others cannot read.\n\
         It has the token {}; mpt setup token --revoke takes it back, and mpt setup token prints another line.",
        token.id
    )?)
}

fn list(client: &mut Client, out: &mut impl Write) -> Result<(), Failed> {
    let tokens = match client.call(Command::Tokens)? {
        Reply::Tokens(tokens) => tokens.tokens,
        reply => return Err(Failed::unexpected(&reply)),
    };
    if tokens.is_empty() {
        return Ok(writeln!(out, "there is no token; mpt setup token makes one")?);
    }
    let columns = ["TOKEN", "CLIENT", "GOOD FOR", "USED BY"].map(Column::word);
    let mut table = Table::indented(columns);
    for token in tokens {
        let left = std::time::Duration::from_secs(token.seconds_left);
        table.row([
            token.id,
            token.client.unwrap_or_else(|| "as the host calls itself".into()),
            humantime::format_duration(left).to_string(),
            token.used_by.unwrap_or_else(|| "-".into()),
        ]);
    }
    Ok(write!(out, "{table}")?)
}
