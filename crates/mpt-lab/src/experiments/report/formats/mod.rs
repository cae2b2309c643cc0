//! The forms in which results are written: text for the terminal, Markdown, CSV, and a page with charts.

pub(super) mod csv_files;
pub(super) mod markdown;
pub(super) mod page;
mod plots;
mod sheet;
pub(super) mod terminal;
