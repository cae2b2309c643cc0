//! Waiting for many descriptors at once, with nanosecond timeouts, and being woken from another thread.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

/// Most events one [`Poller::wait`] gives.
pub const MAX_EVENTS: usize = 64;

/// The events on a descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// The token the descriptor was added with.
    pub token: u64,
    /// There is something to read.
    pub readable: bool,
    /// There is room to write.
    pub writable: bool,
    /// The socket has an error pending or entries in its error queue.
    pub error: bool,
}

/// The events to wait for. Errors are always reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Something to read.
    Read,
    /// Something to read or room to write.
    ReadWrite,
}

/// An epoll instance, level-triggered.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
    /// Cleared on kernels before 5.11, which lack `epoll_pwait2`: timeouts are then rounded up to milliseconds.
    precise: bool,
}

impl Poller {
    /// A new epoll instance.
    pub fn new() -> io::Result<Self> {
        // SAFETY: no pointers; the descriptor returned is new and ours.
        let epoll = unsafe {
            let fd = libc::epoll_create1(libc::EPOLL_CLOEXEC);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd)
        };
        Ok(Self { epoll, precise: true })
    }

    /// Starts watching `fd`, reporting it as `token`.
    pub fn add(&self, fd: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, &fd, token, interest)
    }

    /// Changes what is waited for.
    pub fn modify(&self, fd: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, &fd, token, interest)
    }

    /// Stops watching `fd`.
    pub fn remove(&self, fd: impl AsFd) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_DEL, &fd, 0, Interest::Read)
    }

    fn control(
        &self,
        operation: libc::c_int,
        fd: &impl AsFd,
        token: u64,
        interest: Interest,
    ) -> io::Result<()> {
        let events = match interest {
            Interest::Read => libc::EPOLLIN,
            Interest::ReadWrite => libc::EPOLLIN | libc::EPOLLOUT,
        };
        let mut event = libc::epoll_event { events: events as u32, u64: token };
        let fd = fd.as_fd().as_raw_fd();
        // SAFETY: `event` lives through the call, which only reads it.
        let done =
            unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), operation, fd, &raw mut event) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Waits until something happens or `timeout` is over (`None`: for ever); gives the events, none after a timeout or a signal.
    pub fn wait<'a>(
        &mut self,
        events: &'a mut [Event; MAX_EVENTS],
        timeout: Option<Duration>,
    ) -> io::Result<&'a [Event]> {
        let mut raw = [libc::epoll_event { events: 0, u64: 0 }; MAX_EVENTS];
        let count = match self.wait_raw(&mut raw, timeout) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) => return Err(error),
        };
        for (event, raw) in events.iter_mut().zip(&raw[..count]) {
            let bits = raw.events as libc::c_int;
            *event = Event {
                token: raw.u64,
                readable: bits & (libc::EPOLLIN | libc::EPOLLHUP) != 0,
                writable: bits & libc::EPOLLOUT != 0,
                error: bits & libc::EPOLLERR != 0,
            };
        }
        Ok(&events[..count])
    }

    fn wait_raw(
        &mut self,
        raw: &mut [libc::epoll_event; MAX_EVENTS],
        timeout: Option<Duration>,
    ) -> io::Result<usize> {
        if self.precise {
            // SAFETY: all-zero is a valid `timespec`, also where it has padding.
            let mut limit: libc::timespec = unsafe { std::mem::zeroed() };
            let limit = timeout.map(|timeout| {
                limit.tv_sec = timeout.as_secs().min(86_400) as _;
                limit.tv_nsec = timeout.subsec_nanos() as _;
                limit
            });
            // SAFETY: `raw` has room for MAX_EVENTS, `limit` lives through the call, a null signal mask means "leave it".
            let count = unsafe {
                libc::epoll_pwait2(
                    self.epoll.as_raw_fd(),
                    raw.as_mut_ptr(),
                    MAX_EVENTS as libc::c_int,
                    limit.as_ref().map_or(std::ptr::null(), |limit| &raw const *limit),
                    std::ptr::null(),
                )
            };
            if count >= 0 {
                return Ok(count as usize);
            }
            let error = io::Error::last_os_error();
            if !matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) {
                return Err(error);
            }
            tracing::info!("no epoll_pwait2: timers are rounded up to milliseconds");
            self.precise = false;
        }
        let milliseconds = timeout.map_or(-1, |timeout| {
            libc::c_int::try_from(timeout.as_nanos().div_ceil(1_000_000))
                .unwrap_or(libc::c_int::MAX)
        });
        // SAFETY: `raw` has room for MAX_EVENTS.
        let count = unsafe {
            libc::epoll_wait(
                self.epoll.as_raw_fd(),
                raw.as_mut_ptr(),
                MAX_EVENTS as libc::c_int,
                milliseconds,
            )
        };
        if count < 0 { Err(io::Error::last_os_error()) } else { Ok(count as usize) }
    }
}

/// Wakes a [`Poller`] from another thread: add it to the poller for reading, and [`Waker::clear`] it when it fires.
#[derive(Clone, Debug)]
pub struct Waker(Arc<std::fs::File>);

impl Waker {
    /// A new eventfd.
    pub fn new() -> io::Result<Self> {
        // SAFETY: no pointers; the descriptor returned is new and ours.
        let fd = unsafe {
            let fd = libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd)
        };
        Ok(Self(Arc::new(fd.into())))
    }

    /// Makes the poller's wait return. Cannot fail in a way that matters: a full counter means a wake-up is pending anyway.
    pub fn wake(&self) {
        let _ = (&*self.0).write(&1u64.to_ne_bytes());
    }

    /// Takes the wake-up back.
    pub fn clear(&self) {
        let _ = (&*self.0).read(&mut [0; 8]);
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_up_from_another_thread_ends_the_wait_and_can_be_cleared() {
        let mut poller = Poller::new().unwrap();
        let waker = Waker::new().unwrap();
        poller.add(&waker, 7, Interest::Read).unwrap();
        let mut events = [Event::default(); MAX_EVENTS];
        let other = waker.clone();
        let thread = std::thread::spawn(move || other.wake());
        let woken = poller.wait(&mut events, Some(Duration::from_secs(10))).unwrap();
        assert_eq!(woken.len(), 1);
        assert_eq!(woken[0].token, 7);
        assert!(woken[0].readable);
        thread.join().unwrap();
        waker.clear();
        assert!(poller.wait(&mut events, Some(Duration::from_micros(300))).unwrap().is_empty());
    }
}
