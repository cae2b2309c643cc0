//! The control part of the prototype: what goes out, what comes in, and what changes nothing.

mod a_broken_path_is_found;
mod commands_are_repeated_until_they_are_answered;
mod connections_are_created_where_the_file_says_so;
mod harness;
mod messages_are_those_of_the_prototype;
mod no_bytes_make_it_panic;
mod strangers_change_nothing;
mod what_waits_for_the_owner_is_bounded;
