//! Independent runs on all cores.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Runs `run` for every case, on as many threads as there are cores, and returns the results in the order of the cases. `progress` is called after
/// each, from any thread.
pub fn in_parallel<C: Sync, R: Send>(
    cases: &[C],
    run: impl Fn(&C) -> R + Sync,
    progress: impl Fn() + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut results = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(index) else { return results };
            results.push((index, run(case)));
            progress();
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(cases.len());
    let mut results: Vec<(usize, R)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        workers
            .into_iter()
            .flat_map(|worker| match worker.join() {
                Ok(results) => results,
                Err(panic) => std::panic::resume_unwind(panic),
            })
            .collect()
    });
    results.sort_by_key(|&(index, _)| index);
    results.into_iter().map(|(_, result)| result).collect()
}
