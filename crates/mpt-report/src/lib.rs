//! Reports of the laboratory and the simulator: medians and percentiles, charts as SVG, plain tables, and the page around them, one file that needs
//! nothing else.
#![forbid(unsafe_code)]

mod chart;
mod number;
mod page;
pub mod statistics;

pub use chart::{Chart, Line, Point, Style, round_ticks};
pub use number::number;
pub use page::{charts, document, plain_table};

/// The style sheet of all pages and charts.
const STYLE: &str = include_str!("page.css");
