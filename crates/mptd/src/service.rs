//! Notifies the service manager (sd_notify(3)), where there is one.

use std::time::Duration;

use sd_notify::NotifyState;

/// Reports that packets flow.
pub fn ready() {
    tell(&NotifyState::Ready);
}

/// Reports that the daemon is about to end.
pub(crate) fn stopping() {
    tell(&NotifyState::Stopping);
}

/// Reports that the daemon is alive.
pub(crate) fn alive() {
    tell(&NotifyState::Watchdog);
}

/// Returns how often to say that it is alive: twice in the time after which the service manager takes it for dead. `None`: it does not ask for it.
pub(crate) fn watchdog() -> Option<Duration> {
    sd_notify::watchdog_enabled().map(|limit| limit / 2).filter(|half| !half.is_zero())
}

/// True if the socket of the service manager is an abstract one, which is not in the file system.
pub(crate) fn is_abstract() -> bool {
    std::env::var_os("NOTIFY_SOCKET").is_some_and(|name| name.as_encoded_bytes().starts_with(b"@"))
}

fn tell(state: &NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(std::slice::from_ref(state)) {
        tracing::warn!(%error, "the service manager cannot be told");
    }
}
