//! The JSON that programs rely on; one file per behaviour.

mod a_request_between_two_ends_is_bounded;
mod every_word_is_documented_and_produced;
mod the_documentation_speaks_this_api;
mod the_json_is_stable;
mod the_json_of_a_snapshot_is_stable;
