//! The bounds of what is learnt of a path: `max_rate` and `min_rate`.

use mpt_api::Mapping;
use mpt_core::path::{BadBounds, RateBounds};

use crate::syntax::reader::{Context, Located};
use crate::types::{Connection, Path};

/// Refuses bounds that cannot be kept, and bounds where nothing is learnt.
pub(crate) fn check(context: &Context<'_>, connection: &Connection, paths: &[Located<Path>]) {
    for Located { value: path, lines } in paths {
        let error = |key: &str, message: String| {
            context.error(lines.of(key), &format!("connection.path.{key}"), message);
        };
        let given = [("max_rate", path.max_rate), ("min_rate", path.min_rate)];
        if connection.mapping != Mapping::Adaptive {
            for (key, _) in given.iter().filter(|(_, rate)| rate.is_some()) {
                let message = format!(
                    "bounds what is learnt of path \"{}\", but mapping = \"{}\" learns nothing; leave it out, or write mapping = \
                     \"adaptive\", which needs a [connection.peer]",
                    path.name, connection.mapping
                );
                error(key, message);
            }
        }
        if RateBounds::new(path.min_rate, path.max_rate) == Err(BadBounds::Crossed) {
            error(
                "min_rate",
                format!(
                    "is above max_rate of path \"{}\"; write a min_rate that is no greater",
                    path.name
                ),
            );
        }
    }
}
