//! The paper's Tables I and II, cell by cell, and the grades of cells.

use crate::transport::congestion::Control;
use crate::transport::tcp::Treatment;

use super::case::{control_name, treatment_name};

/// A cell of both tables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// The row.
    pub treatment: Treatment,
    /// The column.
    pub control: Control,
    /// OOO-R in percent.
    pub out_of_order: f64,
    /// Largest buffer in packets: what is printed ("KB"), in Mbit, over 1400 bytes. Every value is a whole number.
    pub largest_buffer: usize,
    /// "L-Utilization" of SF-0 and SF-1 in percent.
    pub utilisation: [f64; 2],
    /// "gThroughput" in Mbit/s.
    pub throughput: f64,
}

impl Cell {
    const fn new(
        treatment: Treatment,
        control: Control,
        (out_of_order, largest_buffer): (f64, usize),
        (first, second, throughput): (f64, f64, f64),
    ) -> Self {
        let utilisation = [first, second];
        Self { treatment, control, out_of_order, largest_buffer, utilisation, throughput }
    }

    /// Its row and column.
    pub fn name(&self) -> String {
        format!("{} {}", treatment_name(self.treatment), control_name(self.control))
    }

    /// Returns true if only the range can be graded, since Eifel's runs differ much by seed.
    pub fn by_range(&self) -> bool {
        self.treatment == Treatment::Eifel
    }
}

/// The rows of both tables.
pub const ROWS: [Treatment; 5] =
    [Treatment::None, Treatment::DSack, Treatment::Eifel, Treatment::TcpDoor, Treatment::FRto];

/// The columns of both tables.
pub const COLUMNS: [Control; 3] = [Control::Reno, Control::FullyCoupled, Control::Lia];

/// Tables I and II, row by row.
pub const CELLS: [Cell; 15] = {
    use Control::{FullyCoupled as Fc, Lia as Co, Reno as Un};
    use Treatment::{DSack, Eifel, FRto, None, TcpDoor};
    [
        Cell::new(None, Un, (6.49, 106), (97.0, 4.2, 0.50)),
        Cell::new(None, Fc, (5.0, 104), (97.0, 3.6, 0.50)),
        Cell::new(None, Co, (5.1, 104), (96.0, 3.4, 0.50)),
        Cell::new(DSack, Un, (44.2, 205), (91.8, 84.4, 0.86)),
        Cell::new(DSack, Fc, (34.5, 190), (74.0, 50.0, 0.80)),
        Cell::new(DSack, Co, (43.1, 190), (88.0, 86.0, 0.86)),
        Cell::new(Eifel, Un, (27.9, 150), (40.4, 94.6, 0.68)),
        Cell::new(Eifel, Fc, (9.3, 105), (94.6, 50.0, 0.50)),
        Cell::new(Eifel, Co, (37.0, 190), (84.0, 84.2, 0.82)),
        Cell::new(TcpDoor, Un, (47.3, 220), (88.6, 91.8, 0.90)),
        Cell::new(TcpDoor, Fc, (22.0, 190), (96.4, 68.8, 0.61)),
        Cell::new(TcpDoor, Co, (44.4, 190), (96.0, 67.7, 0.87)),
        Cell::new(FRto, Un, (27.1, 29), (100.0, 65.6, 0.72)),
        Cell::new(FRto, Fc, (18.7, 13), (89.0, 58.6, 0.60)),
        Cell::new(FRto, Co, (21.4, 12), (90.0, 60.0, 0.64)),
    ]
};
