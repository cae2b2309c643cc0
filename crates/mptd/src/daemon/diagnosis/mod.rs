//! Diagnosis: configurations of both ends that do not fit each other, found by what arrives.

mod comparison;
pub(super) mod disagreement;
