//! The cost of the control protocol in cryptography: frames of a session, each step of a handshake at both ends, and the defence against floods.

use std::hint::black_box;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use mpt_core::session::{
    Admission, AdmissionLimits, CookieSecret, Incoming, Initiation, PrivateKey, PublicKey, Random,
    Received, Transport,
};
use mpt_wire::control::frame::{self, Frame, MAX_PAYLOAD_LEN, SEALED_HEADER_LEN, TAG_LEN};
use mpt_wire::control::{Capabilities, Hello, Kind, Name, Welcome};

/// A probe with a report of two paths is about that long.
const FRAME_LEN: usize = 200;

fn client() -> PrivateKey {
    PrivateKey::from_seed([1; 32])
}

fn server() -> PrivateKey {
    PrivateKey::from_seed([2; 32])
}

fn initiate(random: &mut Random) -> Initiation {
    begin(&client(), &server().public(), random)
}

fn begin(client: &PrivateKey, server: &PublicKey, random: &mut Random) -> Initiation {
    let hello = Hello {
        kind: Kind::Connection,
        key: None,
        capabilities: Capabilities::new(),
        name: Name::default(),
        challenge: None,
        sealing: None,
    };
    Initiation::new(client, server, None, 1, &hello, random).unwrap()
}

fn receive(initiation: &Initiation, random: &mut Random) -> Received {
    let frame = initiation.frame(1, None);
    let incoming = Incoming::verify(&server(), frame::Initiation::of(&frame)).unwrap();
    incoming.receive(&server(), random).unwrap()
}

fn session() -> (Transport, Transport) {
    let mut random = Random::new([1; 32]);
    let mut initiation = initiate(&mut random);
    let (response, server) =
        receive(&initiation, &mut random).respond(None, 2, &Welcome::default()).unwrap();
    let (client, _) = initiation.finish(&frame::Response::of(&response.frame(1))).unwrap();
    (client, server)
}

fn frames(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("control/frame");
    group.throughput(Throughput::Elements(1));
    let payload = [7; FRAME_LEN - SEALED_HEADER_LEN - TAG_LEN];
    let (mut client, mut server) = session();
    let mut sealed = Vec::new();
    group.bench_function("seal", |bencher| {
        bencher.iter(|| client.seal(1, black_box(&payload), &mut sealed).unwrap());
    });
    let mut out = [0; MAX_PAYLOAD_LEN];
    group.bench_function("open", |bencher| {
        let next = || {
            let mut sealed = Vec::new();
            client.seal(1, &payload, &mut sealed).unwrap();
            sealed
        };
        bencher.iter_batched_ref(
            next,
            |sealed| {
                let Ok(Frame::Sealed(sealed)) = frame::parse(sealed) else { unreachable!() };
                server.open(&sealed, &mut out).unwrap().payload.len()
            },
            BatchSize::SmallInput,
        );
    });
    group.finish();
}

fn handshake(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("control/handshake");
    let (client, server) = (client(), server());
    let public = server.public();
    let mut random = Random::new([1; 32]);
    group.bench_function("initiate", |bencher| {
        bencher.iter(|| begin(&client, &public, &mut random));
    });
    let initiation = initiate(&mut random);
    let bytes = initiation.frame(1, None);
    let view = frame::Initiation::of(&bytes);
    group.bench_function("frame", |bencher| bencher.iter(|| initiation.frame(1, None)));
    group.bench_function("verify", |bencher| {
        bencher.iter(|| Incoming::verify(&server, black_box(view)).is_ok());
    });
    let incoming = Incoming::verify(&server, view).unwrap();
    group.bench_function("fingerprint", |bencher| {
        bencher.iter(|| black_box(&incoming).fingerprint());
    });
    group.bench_function("receive", |bencher| {
        bencher.iter(|| incoming.receive(&server, &mut random).unwrap());
    });
    group.bench_function("respond", |bencher| {
        bencher.iter_batched(
            || incoming.receive(&server, &mut random).unwrap(),
            |received| received.respond(None, 2, &Welcome::default()).unwrap(),
            BatchSize::SmallInput,
        );
    });
    group.bench_function("finish", |bencher| {
        let answered = || {
            let initiation = initiate(&mut random);
            let received = receive(&initiation, &mut random);
            let (response, _) = received.respond(None, 2, &Welcome::default()).unwrap();
            (initiation, response.frame(1))
        };
        bencher.iter_batched_ref(
            answered,
            |(initiation, response)| initiation.finish(&frame::Response::of(response)).unwrap(),
            BatchSize::SmallInput,
        );
    });
    group.finish();
}

fn flood(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("control/flood");
    #[expect(clippy::disallowed_methods, reason = "any instant will do as the origin")]
    let start = Instant::now();
    let mut random = Random::new([1; 32]);
    let bytes = initiate(&mut random).frame(1, None);
    let view = frame::Initiation::of(&bytes);
    let remote: SocketAddr = "192.0.2.1:4754".parse().unwrap();
    let public = server().public();
    let mut secret = CookieSecret::new(&mut random);
    group.bench_function("cookie", |bencher| {
        bencher.iter(|| secret.reply(start, &public, remote, &view, &mut random));
    });
    group.bench_function("check", |bencher| {
        bencher.iter(|| secret.check(start, remote, black_box(&view)));
    });
    let mut admission = Admission::new(AdmissionLimits::default(), &mut random);
    let mut now = start;
    group.bench_function("admit", |bencher| {
        bencher.iter(|| {
            now += Duration::from_micros(10);
            admission.admit(now, remote.ip(), || true)
        });
    });
    group.finish();
}

criterion_group!(benches, frames, handshake, flood);
criterion_main!(benches);
