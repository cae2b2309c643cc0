//! Every format is read as it is written, and by others as well; one file per behaviour.

mod support;

mod control_frames_are_read_as_they_were_written;
mod etherparse_agrees_on_ip_tcp_udp;
mod messages_of_the_prototype_are_as_captured;
mod no_bytes_make_a_control_parser_panic;
mod no_bytes_make_a_parser_of_the_prototype_panic;
mod no_bytes_make_a_parser_panic;
mod scapy_agrees_on_gre;
mod the_registries_have_what_is_read;
mod tshark_decodes_what_we_emit;
mod what_is_emitted_is_parsed;
