//! Two hosts, real daemons, real traffic: one behaviour in each file.
#[path = "../hosts/mod.rs"]
mod hosts;

mod data_arrives_whole_and_once_over_2_and_12_paths;
