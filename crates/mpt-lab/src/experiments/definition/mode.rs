//! How an experiment is read.

/// How much of an experiment is run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mode {
    /// Fewer values of each axis, shorter, once.
    pub(crate) quick: bool,
    /// Repetitions, instead of what the file says.
    pub(crate) repeat: Option<u32>,
}
