//! Transport protocols: TCP and Multipath TCP as the RFCs have them, their congestion control, and the Multipath TCP of the paper's simulator.

pub mod congestion;
pub mod mptcp;
pub mod ns3_2011;
pub mod ranges;
pub mod tcp;
