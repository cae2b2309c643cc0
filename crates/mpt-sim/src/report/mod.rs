//! The report of an experiment, and its output as text, JSON, SVG and one HTML page.

mod html;
mod parts;
mod svg;
mod text;

pub use html::page;
pub use parts::{Figure, Report, Series, Style, Table};
