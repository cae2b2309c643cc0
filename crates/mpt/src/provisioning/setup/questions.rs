//! Questions at a terminal. If standard input is no terminal, nothing is asked, and the default holds.

use std::io::{self, BufRead, IsTerminal, Write};
use std::net::IpAddr;

use super::args::Fallback;

/// True if somebody can be asked.
pub(crate) fn can_ask() -> bool {
    io::stdin().is_terminal()
}

/// Asks what becomes of traffic while no uplink works. The default is to let it leave.
pub(crate) fn fallback(input: &mut impl BufRead, out: &mut impl Write) -> io::Result<Fallback> {
    loop {
        let question = "While no uplink leads to the server, traffic for the tunnel may leave outside of it, or go nowhere.\n\
                        direct or block? [direct] ";
        match answer(input, out, question)?.as_str() {
            "" | "direct" => return Ok(Fallback::Direct),
            "block" => return Ok(Fallback::Block),
            other => writeln!(out, "{other} is neither direct nor block.")?,
        }
    }
}

/// Asks for name servers. The default is none.
pub(crate) fn dns(input: &mut impl BufRead, out: &mut impl Write) -> io::Result<Vec<IpAddr>> {
    loop {
        let question = "Names can be resolved through the tunnel, so that the uplinks do not see which.\n\
                        name servers (addresses; none: as before): ";
        let answer = answer(input, out, question)?;
        match answer.split_whitespace().map(str::parse).collect::<Result<_, _>>() {
            Ok(servers) => return Ok(servers),
            Err(_) => writeln!(out, "That is no list of addresses.")?,
        }
    }
}

/// The line that is typed; empty at the end of the input.
fn answer(input: &mut impl BufRead, out: &mut impl Write, question: &str) -> io::Result<String> {
    write!(out, "{question}")?;
    out.flush()?;
    let mut line = String::new();
    input.read_line(&mut line)?;
    Ok(line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_answers_is_understood_or_asked_again() {
        let mut out = Vec::new();
        let mut typed = "maybe\nblock\n".as_bytes();
        assert_eq!(fallback(&mut typed, &mut out).unwrap(), Fallback::Block);
        assert_eq!(fallback(&mut "\n".as_bytes(), &mut out).unwrap(), Fallback::Direct);
        assert!(String::from_utf8(out).unwrap().contains("maybe is neither direct nor block."));
        let mut out = Vec::new();
        let mut typed = "quad9\n9.9.9.9 2620:fe::fe\n".as_bytes();
        let servers = dns(&mut typed, &mut out).unwrap();
        assert_eq!(servers, ["9.9.9.9", "2620:fe::fe"].map(|it| it.parse::<IpAddr>().unwrap()));
    }

    /// A terminal that is closed ends the questions.
    #[test]
    fn without_an_answer_the_default_holds() {
        let mut out = Vec::new();
        assert_eq!(fallback(&mut "".as_bytes(), &mut out).unwrap(), Fallback::Direct);
        assert_eq!(dns(&mut "".as_bytes(), &mut out).unwrap(), [] as [IpAddr; 0]);
    }
}
