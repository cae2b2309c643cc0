//! A change of a path as a sentence.

use mpt_api::PathChange;
use mpt_text::quantity;

/// Says what was changed about a path, such as "path lte of connection office: out of service".
pub(crate) fn said(connection: &str, path: &str, change: &PathChange) -> String {
    let PathChange { up, weight, weight_in, tier, max_rate, min_rate } = *change;
    let mut facts = Vec::new();
    facts.extend(up.map(|up| if up { "in service" } else { "out of service" }.to_owned()));
    facts.extend(weight.map(|weight| format!("weight {weight}")));
    facts.extend(weight_in.map(|weight| format!("weight_in {weight}")));
    facts.extend(tier.map(|tier| format!("tier {tier}")));
    let bound = |name, rate| match rate {
        0 => format!("no {name}"),
        rate => format!("{name} {}", quantity::rate(rate)),
    };
    facts.extend(max_rate.map(|rate| bound("max_rate", rate)));
    facts.extend(min_rate.map(|rate| bound("min_rate", rate)));
    format!("path {path} of connection {connection}: {}", facts.join(", "))
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;

    use super::*;

    #[test]
    fn every_fact_is_said() {
        let change = PathChange { up: Some(true), ..PathChange::default() };
        assert_eq!(said("office", "lte", &change), "path lte of connection office: in service");
        let weight = NonZeroU16::new(3);
        let change = PathChange {
            up: None,
            weight,
            weight_in: weight,
            tier: Some(1),
            max_rate: Some(20_000_000),
            min_rate: Some(0),
        };
        assert_eq!(
            said("office", "lte", &change),
            "path lte of connection office: weight 3, weight_in 3, tier 1, max_rate 20.0 Mbit/s, no min_rate"
        );
    }
}
