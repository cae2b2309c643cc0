//! Runs of the simulator can be made again, taken up again and compared; one file per behaviour.

mod plans_are_checked_and_taken_up_again;
mod short_runs_are_as_they_were;
mod short_runs_of_the_tunnel_are_as_they_were;
mod snakemake_joins_the_parts_of_a_sweep;
mod the_same_seed_gives_the_same_run;
