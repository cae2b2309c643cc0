//! One question to one name server (RFC 1035), from a socket with our mark.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use simple_dns::rdata::RData;
use simple_dns::{CLASS, Name, Packet, PacketFlag, Question, RCODE, TYPE};
use socket2::{Domain, Socket, Type};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, UdpSocket};
use tokio::time::timeout;

/// The longest time that a name server may take.
const ANSWER: Duration = Duration::from_secs(2);
/// The longest answer by UDP, in bytes; longer ones come by TCP.
const LONGEST: usize = 4096;

/// The way that a question travels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way<'a> {
    /// The name server.
    pub(super) server: SocketAddr,
    /// The mark that keeps it out of the tunnel.
    pub(super) mark: u32,
    /// The interface by which it leaves; `None`: as the routes say.
    pub(super) interface: Option<&'a str>,
}

/// Asks for the addresses of one version that a name has. An empty list: it has none.
///
/// # Errors
///
/// Fails when the server does not answer in time, or cannot say.
pub(super) async fn addresses(way: Way<'_>, name: &str, ipv6: bool) -> io::Result<Vec<IpAddr>> {
    let kind = if ipv6 { TYPE::AAAA } else { TYPE::A };
    let mut id = [0; 2];
    getrandom::fill(&mut id).map_err(io::Error::other)?;
    let id = u16::from_be_bytes(id);
    let mut query = Packet::new_query(id);
    query.set_flags(PacketFlag::RECURSION_DESIRED);
    let name = Name::new(name).map_err(malformed)?;
    let question = Question::new(name, kind.into(), CLASS::IN.into(), false);
    query.questions.push(question);
    let query = query.build_bytes_vec().map_err(malformed)?;
    let answered = |answer: &[u8]| is_answer(answer, id, &query);
    let by_udp = timeout(ANSWER, exchange_udp(way, &query, answered)).await??;
    match read(&by_udp)? {
        Some(addresses) => Ok(addresses),
        None => {
            let by_tcp = timeout(ANSWER, exchange_tcp(way, &query)).await??;
            if !answered(&by_tcp) {
                return Err(malformed("the answer is to another question"));
            }
            read(&by_tcp)?.ok_or_else(|| malformed("a truncated answer by TCP"))
        }
    }
}

async fn exchange_udp(
    way: Way<'_>,
    query: &[u8],
    answered: impl Fn(&[u8]) -> bool,
) -> io::Result<Vec<u8>> {
    let socket = socket(way, Type::DGRAM)?;
    let any: SocketAddr = match way.server {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (std::net::Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    socket.bind(&any.into())?;
    let socket = UdpSocket::from_std(socket.into())?;
    // The port is random, and the kernel takes datagrams of the server alone.
    socket.connect(way.server).await?;
    socket.send(query).await?;
    let mut buffer = vec![0; LONGEST];
    loop {
        let length = socket.recv(&mut buffer).await?;
        // A forged answer does not end the wait.
        if let Some(answer) = buffer.get(..length).filter(|answer| answered(answer)) {
            return Ok(answer.to_vec());
        }
    }
}

async fn exchange_tcp(way: Way<'_>, query: &[u8]) -> io::Result<Vec<u8>> {
    let socket = TcpSocket::from_std_stream(socket(way, Type::STREAM)?.into());
    let mut stream = socket.connect(way.server).await?;
    let length = u16::try_from(query.len()).map_err(malformed)?;
    stream.write_all(&[&length.to_be_bytes(), query].concat()).await?;
    let length = stream.read_u16().await?;
    let mut answer = vec![0; length.into()];
    stream.read_exact(&mut answer).await?;
    Ok(answer)
}

fn socket(way: Way<'_>, kind: Type) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(way.server), kind.nonblocking(), None)?;
    socket.set_mark(way.mark)?;
    socket.bind_device(way.interface.map(str::as_bytes))?;
    Ok(socket)
}

/// True if this is an answer to the question: number and question are those of the query.
fn is_answer(answer: &[u8], id: u16, query: &[u8]) -> bool {
    let Ok(packet) = Packet::parse(answer) else { return false };
    let Ok(query) = Packet::parse(query) else { return false };
    let same = |(one, other): (&Question<'_>, &Question<'_>)| {
        let lower = |question: &Question<'_>| question.qname.to_string().to_ascii_lowercase();
        lower(one) == lower(other) && one.qtype == other.qtype
    };
    packet.id() == id
        && packet.has_flags(PacketFlag::RESPONSE)
        && packet.questions.len() == query.questions.len()
        && packet.questions.iter().zip(&query.questions).all(same)
}

/// The addresses of an answer; `None`: there are more than fit.
fn read(answer: &[u8]) -> io::Result<Option<Vec<IpAddr>>> {
    let packet = Packet::parse(answer).map_err(malformed)?;
    if packet.has_flags(PacketFlag::TRUNCATION) {
        return Ok(None);
    }
    match packet.rcode() {
        RCODE::NoError => {}
        RCODE::NameError => return Ok(Some(Vec::new())),
        _ => return Err(io::Error::other("the name server cannot say")),
    }
    // A server that resolves for others also follows aliases: all addresses in the answer are those of the name.
    let addresses = packet.answers.iter().filter_map(|record| match &record.rdata {
        RData::A(a) => Some(IpAddr::V4(a.address.into())),
        RData::AAAA(aaaa) => Some(IpAddr::V6(aaaa.address.into())),
        _ => None,
    });
    Ok(Some(addresses.collect()))
}

fn malformed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use simple_dns::ResourceRecord;
    use simple_dns::rdata::{A, CNAME};

    use super::*;

    fn query(name: &'static str) -> Vec<u8> {
        let mut query = Packet::new_query(7);
        let name = Name::new(name).unwrap();
        query.questions.push(Question::new(name, TYPE::A.into(), CLASS::IN.into(), false));
        query.build_bytes_vec().unwrap()
    }

    fn answer(flags: PacketFlag) -> Vec<u8> {
        let question = query("VPN.example.org");
        let mut answer = Packet::parse(&question).unwrap().into_reply();
        answer.set_flags(flags);
        let (name, other) =
            (Name::new("vpn.example.org").unwrap(), Name::new("a.example").unwrap());
        let alias = RData::CNAME(CNAME(other.clone()));
        answer.answers.push(ResourceRecord::new(name, CLASS::IN, 60, alias));
        let address = RData::A(A { address: Ipv4Addr::new(192, 0, 2, 1).into() });
        answer.answers.push(ResourceRecord::new(other, CLASS::IN, 60, address));
        answer.build_bytes_vec().unwrap()
    }

    #[test]
    fn the_address_behind_an_alias_is_found() {
        let answer = answer(PacketFlag::RESPONSE);
        assert!(is_answer(&answer, 7, &query("vpn.example.org")));
        assert_eq!(read(&answer).unwrap(), Some(vec!["192.0.2.1".parse().unwrap()]));
        assert_eq!(read(&self::answer(PacketFlag::TRUNCATION)).unwrap(), None);
    }

    #[test]
    fn answers_to_other_questions_are_none() {
        let answer = answer(PacketFlag::RESPONSE);
        assert!(!is_answer(&answer, 8, &query("vpn.example.org")), "another number");
        assert!(!is_answer(&answer, 7, &query("vpn.example.com")), "another name");
        assert!(!is_answer(&query("vpn.example.org"), 7, &query("vpn.example.org")), "a question");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = is_answer(&bytes, 7, &query("vpn.example.org"));
            let _ = read(&bytes);
        }
    }
}
