//! The mode in which an experiment is read.

/// The extent to which an experiment is run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mode {
    /// True for fewer values of each axis, for a shorter time, once.
    pub(crate) quick: bool,
    /// Number of repetitions, instead of the one of the file.
    pub(crate) repeat: Option<u32>,
}
