//! Waiting for many descriptors at once, with nanosecond timeouts, and being woken from another thread.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::{EfdFlags, EventFd};
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

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

impl Interest {
    /// Returns a descriptor's registration as `token`.
    fn of(self, token: u64) -> EpollEvent {
        let flags = match self {
            Self::Read => EpollFlags::EPOLLIN,
            Self::ReadWrite => EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT,
        };
        EpollEvent::new(flags, token)
    }
}

impl Event {
    fn new(token: u64, flags: EpollFlags) -> Self {
        Self {
            token,
            readable: flags.intersects(EpollFlags::EPOLLIN | EpollFlags::EPOLLHUP),
            writable: flags.contains(EpollFlags::EPOLLOUT),
            error: flags.contains(EpollFlags::EPOLLERR),
        }
    }
}

/// An epoll instance, level-triggered.
#[derive(Debug)]
pub struct Poller {
    epoll: Epoll,
    /// Cleared on kernels before 5.11, which lack `epoll_pwait2`: timeouts are then rounded up to milliseconds.
    precise: bool,
}

impl Poller {
    /// A new epoll instance.
    pub fn new() -> io::Result<Self> {
        Ok(Self { epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?, precise: true })
    }

    /// Starts watching `fd`, reporting it as `token`.
    pub fn add(&self, fd: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        Ok(self.epoll.add(fd, interest.of(token))?)
    }

    /// Changes what is waited for.
    pub fn modify(&self, fd: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        Ok(self.epoll.modify(fd, &mut interest.of(token))?)
    }

    /// Stops watching `fd`.
    pub fn remove(&self, fd: impl AsFd) -> io::Result<()> {
        Ok(self.epoll.delete(fd)?)
    }

    /// Waits until something happens or `timeout` is over (`None`: for ever); gives the events, none after a timeout or a signal.
    pub fn wait<'a>(
        &mut self,
        events: &'a mut [Event; MAX_EVENTS],
        timeout: Option<Duration>,
    ) -> io::Result<&'a [Event]> {
        let count = if self.precise {
            match self.wait_for_nanos(events, timeout) {
                Err(Errno::NOSYS | Errno::PERM) => {
                    tracing::info!("no epoll_pwait2: timers are rounded up to milliseconds");
                    self.precise = false;
                    self.wait_for_millis(events, timeout)
                }
                result => result,
            }
        } else {
            self.wait_for_millis(events, timeout)
        };
        match count {
            Ok(count) => Ok(&events[..count]),
            Err(Errno::INTR) => Ok(&[]),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits by `epoll_pwait2`. Returns the number of events.
    fn wait_for_nanos(
        &self,
        events: &mut [Event; MAX_EVENTS],
        timeout: Option<Duration>,
    ) -> Result<usize, Errno> {
        let limit = timeout.map(|timeout| Timespec {
            tv_sec: timeout.as_secs().min(86_400) as _,
            tv_nsec: timeout.subsec_nanos().into(),
        });
        let mut raw = [const { MaybeUninit::uninit() }; MAX_EVENTS];
        let (raw, _) = epoll::wait(&self.epoll.0, &mut raw, limit.as_ref())?;
        for (event, raw) in events.iter_mut().zip(&*raw) {
            // Copies, since the kernel's struct is packed.
            let (flags, data) = (raw.flags, raw.data);
            *event = Event::new(data.u64(), EpollFlags::from_bits_retain(flags.bits() as i32));
        }
        Ok(raw.len())
    }

    /// Waits by `epoll_wait`, for whole milliseconds. Returns the number of events.
    fn wait_for_millis(
        &self,
        events: &mut [Event; MAX_EVENTS],
        timeout: Option<Duration>,
    ) -> Result<usize, Errno> {
        let limit = timeout.map_or(EpollTimeout::NONE, |timeout| {
            let millis = timeout.as_nanos().div_ceil(1_000_000);
            EpollTimeout::try_from(millis).unwrap_or(EpollTimeout::MAX)
        });
        let mut raw = [EpollEvent::empty(); MAX_EVENTS];
        let count = self.epoll.wait(&mut raw, limit);
        let count = count.map_err(|error| Errno::from_raw_os_error(error as i32))?;
        for (event, raw) in events.iter_mut().zip(&raw[..count]) {
            *event = Event::new(raw.data(), raw.events());
        }
        Ok(count)
    }
}

/// Wakes a [`Poller`] from another thread: add it to the poller for reading, and [`Waker::clear`] it when it fires.
#[derive(Clone, Debug)]
pub struct Waker(Arc<EventFd>);

impl Waker {
    /// A new eventfd.
    pub fn new() -> io::Result<Self> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        Ok(Self(Arc::new(EventFd::from_flags(flags)?)))
    }

    /// Makes the poller's wait return. Cannot fail in a way that matters: a full counter means a wake-up is pending anyway.
    pub fn wake(&self) {
        let _ = self.0.write(1);
    }

    /// Takes the wake-up back.
    pub fn clear(&self) {
        let _ = self.0.read();
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

    /// The wait on a kernel without `epoll_pwait2`.
    #[test]
    fn a_poller_that_counts_milliseconds_waits_no_less_than_it_is_to() {
        let mut poller = Poller::new().unwrap();
        poller.precise = false;
        let waker = Waker::new().unwrap();
        poller.add(&waker, 7, Interest::ReadWrite).unwrap();
        let mut events = [Event::default(); MAX_EVENTS];
        waker.wake();
        let ready = poller.wait(&mut events, None).unwrap();
        assert_eq!(ready, [Event { token: 7, readable: true, writable: true, error: false }]);
        poller.remove(&waker).unwrap();
        let (begin, timeout) = (std::time::Instant::now(), Duration::from_micros(1_300));
        assert!(poller.wait(&mut events, Some(timeout)).unwrap().is_empty());
        assert!(begin.elapsed() >= timeout);
    }
}
