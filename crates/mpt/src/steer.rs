//! What a change of a path comes to, as a sentence.

use mpt_api::PathChange;

/// Says what was changed about a path, such as "path lte of connection office: out of service".
pub(crate) fn said(connection: &str, path: &str, change: &PathChange) -> String {
    let PathChange { up, weight, weight_in, tier } = change;
    let mut facts = Vec::new();
    facts.extend(up.map(|up| if up { "in service" } else { "out of service" }.to_owned()));
    facts.extend(weight.map(|weight| format!("weight {weight}")));
    facts.extend(weight_in.map(|weight| format!("weight_in {weight}")));
    facts.extend(tier.map(|tier| format!("tier {tier}")));
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
        let change = PathChange { up: None, weight, weight_in: weight, tier: Some(1) };
        assert_eq!(
            said("office", "lte", &change),
            "path lte of connection office: weight 3, weight_in 3, tier 1"
        );
    }
}
