//! The model of one link: rate, delay, jitter, loss, duplication, queue.
#![forbid(unsafe_code)]
