//! Diagnosis: configurations of the two hosts that do not fit each other, detected by what arrives.

mod comparison;
pub(super) mod disagreement;
