//! The generated tables of `docs/experiments.md` say how long and how often was measured. Each cell in which one path alone carries more than the tunnel
//! is named below its table, and a share above 100 % is explained there.

use std::fs;
use std::path::Path;

/// A generated table with what stands above and below it.
#[derive(Debug)]
struct Table {
    experiment: String,
    heading: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
    remarks: Vec<String>,
}

fn cells(line: &str) -> Vec<String> {
    line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
}

/// Returns the tables of figures. Those of expectations, and the one of the emulator, are no tables of an experiment's figures.
fn tables() -> Vec<Table> {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/experiments.md");
    let document = fs::read_to_string(document).unwrap();
    let mut tables = Vec::<Table>::new();
    for part in document.split("<!-- results: ").skip(1) {
        let (experiment, part) = part.split_once(" -->").expect("the marker ends");
        let (part, _) = part.split_once("<!-- end -->").expect("the results end");
        let first = tables.len();
        let (mut heading, mut is_table) = ("", false);
        for line in part.lines() {
            match line.strip_prefix('|') {
                Some(_) if heading.is_empty() => {}
                Some(_) if !is_table => {
                    is_table = true;
                    tables.push(Table {
                        experiment: experiment.to_owned(),
                        heading: heading.to_owned(),
                        columns: cells(line),
                        rows: Vec::new(),
                        remarks: Vec::new(),
                    });
                }
                Some(rest) if rest.starts_with("--") => {}
                Some(_) => tables.last_mut().expect("it was begun").rows.push(cells(line)),
                None if line.ends_with(':') => (heading, is_table) = (line, false),
                None => {
                    let is_ended = is_table && line.is_empty();
                    heading = if is_ended { "" } else { heading };
                    is_table &= !is_ended;
                    if let Some(table) = tables[first..].last_mut().filter(|_| !line.is_empty()) {
                        table.remarks.push(line.to_owned());
                    }
                }
            }
        }
    }
    assert!(tables.len() > 50, "{} tables", tables.len());
    tables
}

/// Returns the figure that a cell begins with.
fn figure(cell: &str) -> Option<f64> {
    cell.split(' ').next()?.replace(',', "").parse().ok()
}

/// Returns the share that stands behind a figure.
fn share(cell: &str) -> Option<f64> {
    cell.strip_suffix(" %")?.rsplit(' ').next()?.parse().ok()
}

#[test]
fn how_long_and_how_often_was_measured() {
    for Table { experiment, heading, .. } in tables() {
        let (_, basis) = heading.split_once(" (").unwrap_or_default();
        assert!(basis.contains("repetition"), "{experiment}: {heading}");
        let is_extent = |word: &str| word.starts_with(|it: char| it.is_ascii_digit());
        assert!(basis.split([' ', ',']).filter(|it| is_extent(it)).count() >= 2, "{heading}");
    }
}

#[test]
fn each_cell_in_which_a_path_alone_carries_more() {
    let mut named = 0;
    for table in tables().iter().filter(|table| table.heading.starts_with("Goodput")) {
        let (mut less, mut equal) = (0, 0);
        for row in &table.rows {
            let of = |is_wanted: fn(&str) -> bool| {
                let columns = table.columns.iter().zip(row);
                columns.filter(move |(name, _)| is_wanted(name)).filter_map(|(_, it)| figure(it))
            };
            let paths = of(|name| name.starts_with("path") && name.ends_with(" alone"));
            let Some(best) = paths.reduce(f64::max) else { continue };
            let tunnels: Vec<_> =
                of(|name| name.starts_with("tunnel") && !name.ends_with("in print")).collect();
            less += tunnels.iter().filter(|&&it| it < best).count();
            equal += tunnels.iter().filter(|&&it| (it - best).abs() < f64::EPSILON).count();
        }
        let said = table.remarks.iter().find_map(|remark| {
            remark.strip_prefix("The best path alone carries more than the tunnel in ")
        });
        let said: usize = said
            .map_or(0, |it| it.split(' ').next().and_then(|it| it.parse().ok()).expect("how many"));
        // Figures that are equal in print may differ.
        assert!(
            (less..=less + equal).contains(&said),
            "{said} of {less} cells are named: {table:?}"
        );
        named += said;
    }
    assert!(named > 20, "{named} cells");
}

#[test]
fn each_share_above_all_is_explained() {
    let mut explained = 0;
    for table in tables() {
        if table.rows.iter().flatten().filter_map(|cell| share(cell)).any(|share| share > 100.0) {
            let is_explained = |remark: &String| remark.starts_with("A share above 100 % means");
            assert!(table.remarks.iter().any(is_explained), "{table:?}");
            explained += 1;
        }
    }
    assert!(explained > 10, "{explained} tables");
}
