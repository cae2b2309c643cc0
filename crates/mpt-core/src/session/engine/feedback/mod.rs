//! The feedback about data on an adaptive connection: what has left, what has arrived, what is
//! missing, and symbols by which missing packets are restored.

pub(crate) mod asking;
pub(crate) mod budget;
pub(crate) mod correction;
pub(crate) mod due;
pub(crate) mod learning;
