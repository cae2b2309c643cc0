//! The cost of the receive window per packet.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mpt_core::reorder::{Config, ReorderBuffer, Sink};

/// A handle as the daemon has it: buffer, offset, length.
type Handle = (u32, u16, u16);

/// Counts what is delivered.
struct Count(u64);

impl Sink<Handle> for Count {
    fn keep(&mut self, packet: Handle) -> Option<Handle> {
        Some(packet)
    }

    fn deliver(&mut self, packet: Handle, _: bool, _: bool) {
        self.0 += u64::from(packet.2);
    }

    fn discard(&mut self, _: Handle) {}
}

/// The arrivals of a round, which is repeated: the path and the number, counted from the begin of the round.
struct Arrivals {
    order: Vec<(usize, u32)>,
    paths: usize,
}

impl Arrivals {
    /// Numbers in turn over the paths, each path's packets in bursts (as UDP GRO hands them over),
    /// the last path's first, so that all but the first path's are stored.
    fn bursts(paths: usize, burst: usize) -> Self {
        let order = (0..paths)
            .rev()
            .flat_map(|path| (0..burst).map(move |i| (path, (i * paths + path) as u32)))
            .collect();
        Self { order, paths }
    }

    /// A connection that has got the number before 0.
    fn buffer(&self, start: Instant) -> ReorderBuffer<Handle> {
        let mut buffer = ReorderBuffer::new(Config::default());
        for path in 0..self.paths {
            buffer.add_path(start, path, 1);
        }
        buffer.receive(start, usize::MAX, u32::MAX, (0, 0, 0), &mut Count(0));
        buffer
    }
}

/// A microsecond passes per packet.
const TICK: Duration = Duration::from_micros(1);

fn one_connection(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("reorder");
    for (name, arrivals) in [
        ("in order, one path", Arrivals::bursts(1, 22)),
        ("two paths in bursts of 22", Arrivals::bursts(2, 22)),
        ("four paths in bursts of 22", Arrivals::bursts(4, 22)),
        ("four paths, one packet each", Arrivals::bursts(4, 1)),
    ] {
        group.throughput(Throughput::Elements(arrivals.order.len() as u64));
        #[expect(clippy::disallowed_methods, reason = "the caller has the clock")]
        let mut now = Instant::now();
        let mut buffer = arrivals.buffer(now);
        let (mut sink, mut base) = (Count(0), 0u32);
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                for &(path, number) in &arrivals.order {
                    now += TICK;
                    let number = base.wrapping_add(number);
                    black_box(buffer.receive(now, path, number, (number, 0, 1400), &mut sink));
                    black_box(buffer.next_timeout());
                }
                base = base.wrapping_add(arrivals.order.len() as u32);
            });
        });
        let counters = buffer.counters();
        assert_eq!(counters.packets(), counters.in_order, "{name}: {counters:?}");
    }
    group.finish();
}

/// Packets drawn uniformly over so many connections, each of two paths and in order.
fn many_connections(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("reorder, connections drawn uniformly");
    group.throughput(Throughput::Elements(1));
    for count in [1usize, 1000] {
        #[expect(clippy::disallowed_methods, reason = "the caller has the clock")]
        let mut now = Instant::now();
        let arrivals = Arrivals::bursts(2, 1);
        let mut connections: Vec<_> = (0..count).map(|_| arrivals.buffer(now)).collect();
        let (mut sink, mut state) = (Count(0), 1u32);
        group.bench_with_input(BenchmarkId::from_parameter(count), &count, |bencher, &count| {
            bencher.iter(|| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let index = ((u64::from(state) * count as u64) >> 32) as usize;
                now += TICK;
                let buffer = &mut connections[index];
                let number = buffer.due();
                let path = (number % 2) as usize;
                black_box(buffer.receive(now, path, number, (number, 0, 1400), &mut sink));
            });
        });
    }
    group.finish();
}

criterion_group!(benches, one_connection, many_connections);
criterion_main!(benches);
