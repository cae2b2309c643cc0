//! The control protocol: authenticated sessions between two ends, and what they tell each other
//! about their paths (docs/protocol.md, part 2).
