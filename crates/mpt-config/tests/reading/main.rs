//! A file is read, checked and explained; one file per behaviour.

mod a_bad_configuration_is_told_where_and_how_to_mend_it;
mod a_check_warns_of_what_is_probably_not_meant;
mod a_connection_to_the_prototype_is_checked;
mod a_file_that_cannot_be_read_is_named;
mod a_key_file_open_to_others_is_refused;
mod a_priority_is_a_word_for_a_tier;
mod a_remote_may_have_its_port;
mod no_text_panics;
mod the_documents_have_good_configurations;
mod the_example_shows_every_key_with_its_default;
