//! What both ends tell each other of the data on an adaptive connection: what has left, what has come,
//! what is missing, and symbols by which it is restored.

pub(crate) mod asking;
pub(crate) mod budget;
pub(crate) mod correction;
pub(crate) mod due;
pub(crate) mod learning;
