//! What an experiment hands over, and how it is shown: text, JSON, SVG, one HTML page.

mod html;
mod parts;
mod svg;
mod text;

pub use html::page;
pub use parts::{Figure, Report, Series, Style, Table};
