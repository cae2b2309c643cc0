//! Links of either backend.

use std::path::Path;

use anyhow::Result;
use mpt_link::Change;

use super::counters::Counters;
use super::handle::Emulator;
use super::kernel::Kernel;
use super::plan::EmulatorPlan;
use crate::console::interrupt::Interrupt;
use crate::experiments::case::Backend;

/// Links of a plan; gone when this is dropped.
#[derive(Debug)]
pub(crate) enum Links {
    /// The links are made by the emulator.
    Emulator(Box<Emulator>),
    /// The links are made by the kernel.
    Kernel(Box<Kernel>),
}

impl Links {
    /// Makes them; all devices of the plan exist and are up, without addresses, when this returns. `laboratory` is the
    /// path of this program.
    ///
    /// # Errors
    ///
    /// Fails when the plan is impossible or more than the backend can do, or a device cannot be made.
    pub(crate) fn start(
        backend: Backend,
        plan: &EmulatorPlan,
        laboratory: &Path,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        Ok(match backend {
            Backend::Emulator => {
                Self::Emulator(Box::new(Emulator::start(plan, laboratory, interrupt)?))
            }
            Backend::Kernel => Self::Kernel(Box::new(Kernel::start(plan)?)),
        })
    }

    /// Returns the process id of the emulator, if there is one.
    pub(crate) fn pid(&self) -> Option<u32> {
        match self {
            Self::Emulator(emulator) => Some(emulator.pid()),
            Self::Kernel(_) => None,
        }
    }

    /// Starts the schedules of all channels.
    ///
    /// # Errors
    ///
    /// Fails when the backend is gone.
    pub(crate) fn start_schedule(&self) -> Result<()> {
        match self {
            Self::Emulator(emulator) => emulator.start_schedule(),
            Self::Kernel(kernel) => kernel.start_schedule(),
        }
    }

    /// Changes a channel from now on; packets on their way are left alone.
    ///
    /// # Errors
    ///
    /// Fails when there is no such channel.
    pub(crate) fn change(&self, channel: usize, change: Change) -> Result<()> {
        match self {
            Self::Emulator(emulator) => emulator.change(channel, change),
            Self::Kernel(kernel) => kernel.change(channel, change),
        }
    }

    /// Plugs a cable in or pulls it out, at both ends. Packets on their way are lost.
    ///
    /// # Errors
    ///
    /// Fails when there is no such cable, or the kernel refuses.
    pub(crate) fn set_carrier(&self, cable: usize, carrier: bool) -> Result<()> {
        match self {
            Self::Emulator(emulator) => emulator.set_carrier(cable, carrier),
            Self::Kernel(kernel) => kernel.set_carrier(cable, carrier),
        }
    }

    /// Returns what has happened so far.
    ///
    /// # Errors
    ///
    /// Fails when one of the namespaces is gone.
    pub(crate) fn counters(&self) -> Result<Counters> {
        match self {
            Self::Emulator(emulator) => emulator.counters(),
            Self::Kernel(kernel) => kernel.counters(),
        }
    }
}
