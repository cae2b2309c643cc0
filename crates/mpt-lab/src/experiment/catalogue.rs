//! The experiments that come with the laboratory: the tables and figures of the papers.

/// Names and texts, in the order of the papers.
macro_rules! catalogue {
    ($($name:literal),* $(,)?) => {
        const CATALOGUE: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../experiments/", $name, ".toml")))),*];
    };
}

catalogue!["imareen2023-table1",];

/// Names of all experiments of the catalogue.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    CATALOGUE.iter().map(|(name, _)| *name)
}

/// The file of an experiment of the catalogue.
pub(crate) fn text(name: &str) -> Option<&'static str> {
    CATALOGUE.iter().find(|(other, _)| *other == name).map(|(_, text)| *text)
}
