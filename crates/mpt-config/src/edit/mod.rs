//! Changes to a configuration beside the file: additions at run time, and the text of the file with them.

pub(super) mod amend;
pub(super) mod save;
