//! The experiments that come with the laboratory: the tables and figures of the papers, the comparisons with the simulator, and networks of which
//! nothing is configured.

/// Names and texts, in the order of the papers.
macro_rules! catalogue {
    ($($name:literal),* $(,)?) => {
        const CATALOGUE: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../../experiments/", $name, ".toml")))),*];
    };
}

catalogue![
    "almasi2017-four-paths",
    "almasi2017-super-aggregation",
    "almasi2017-reordering",
    "almasi2017-twelve-paths",
    "almasi2017-switchover",
    "almasi2017-redundancy",
    "almasi2017-handover",
    "imareen2023-table1",
    "imareen2023-table1-sealed",
    "imareen2023-table2",
    "imareen2023-table3",
    "imareen2023-table4",
    "imareen2023-table5",
    "imareen2023-fig3",
    "imareen2025-fig5",
    "imareen2025-fig6",
    "imareen2025-fig7",
    "imareen2025-fig8",
    "imareen2025-fig9",
    "imareen2025-fig10",
    "imareen2025-fig11",
    "imareen2025-fig12",
    "imareen2025-table2",
    "imareen2025-table3",
    "imareen2025-table4",
    "imareen2025-table5",
    "szilagyi2021-fig6",
    "szilagyi2021-fig7",
    "szilagyi2021-fig8",
    "szilagyi2021-fig9",
    "szilagyi2021-fig10",
    "szilagyi2021-fig11",
    "szilagyi2021-fig12",
    "szilagyi2021-fig13",
    "szilagyi2021-fig14",
    "szilagyi2021-fig15",
    "szilagyi2021-fig16",
    "szilagyi2021-mixed",
    "tunnel-cells",
    "tunnel-loss",
    "real-networks",
    "papers-cells",
    "many-flows",
    "path-sets",
    "hard-links",
    "rate-steps",
    "competing",
    "latency",
    "pages",
    "lossy-networks",
    "lossy-streams",
    "repair-cost",
];

/// Returns the names of all experiments of the catalogue.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    CATALOGUE.iter().map(|(name, _)| *name)
}

/// Returns the file of an experiment of the catalogue.
pub(crate) fn text(name: &str) -> Option<&'static str> {
    CATALOGUE.iter().find(|(other, _)| *other == name).map(|(_, text)| *text)
}
