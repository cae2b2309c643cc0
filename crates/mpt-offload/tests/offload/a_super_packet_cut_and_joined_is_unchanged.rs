use mpt_offload::{Segmenter, VnetHeader};
use proptest::prelude::*;

use crate::support::{ALL, any_super_packet, coalesce};

proptest! {
    #[test]
    fn byte_by_byte((packet, size) in any_super_packet()) {
        let (vnet, mut bytes) = packet.partial(size);
        let segmenter = Segmenter::new(&vnet, &mut bytes, packet.transport_start()).unwrap();
        let segments: Vec<Vec<u8>> = (0..segmenter.count())
            .map(|index| {
                let mut segment = vec![0; segmenter.header_len()];
                let payload = segmenter.segment(&bytes, index, &mut segment);
                segment.extend(&bytes[payload]);
                segment
            })
            .collect();

        let writes = coalesce(&segments, ALL);
        prop_assert_eq!(writes.len(), 1);
        if segments.len() > 1 {
            prop_assert_eq!(writes[0].vnet, vnet);
            prop_assert!(writes[0].bytes == bytes);
        } else if writes[0].vnet != VnetHeader::default() {
            // One segment is no super-packet; its checksum is left to the kernel all the same.
            prop_assert!(writes[0].bytes == bytes);
        }
    }
}
