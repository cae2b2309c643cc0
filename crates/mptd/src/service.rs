//! What a service manager is told (sd_notify(3)): nothing, where there is none.

use std::time::Duration;

use sd_notify::NotifyState;

/// Packets flow.
pub fn ready() {
    tell(&NotifyState::Ready);
}

/// It is about to end.
pub(crate) fn stopping() {
    tell(&NotifyState::Stopping);
}

/// It is alive.
pub(crate) fn alive() {
    tell(&NotifyState::Watchdog);
}

/// How often to say that it is alive: twice in the time after which the service manager takes it for dead. `None`: it does not ask for it.
pub(crate) fn watchdog() -> Option<Duration> {
    sd_notify::watchdog_enabled().map(|limit| limit / 2).filter(|half| !half.is_zero())
}

fn tell(state: &NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(std::slice::from_ref(state)) {
        tracing::warn!(%error, "the service manager cannot be told");
    }
}
