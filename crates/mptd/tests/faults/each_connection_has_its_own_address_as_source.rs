//! Two connections on one device with an address for each: packets have the source that the other end accepts, whatever the order.

use crate::hosts::Pair;

#[test]
fn whichever_address_is_first() {
    for addresses in [["10.72.0.1/24", "10.74.0.1/24"], ["10.74.0.1/24", "10.72.0.1/24"]] {
        let pair = Pair::with_lines(1);
        let mut configs = pair.configs();
        for (config, end) in configs.iter_mut().zip(1_u8..) {
            let peer = 3 - end;
            let of_end = addresses.map(|it| it.replace(".1/", &format!(".{end}/")));
            config.device("mpt0").set("addresses", of_end.to_vec());
            let behind =
                |site: u8| vec![format!("10.{site}.0.{peer}"), format!("10.8{peer}.{site}.0/24")];
            config.connection("tunnel").set("networks", behind(72));
            config.connection("second").set("networks", behind(74)).set("key", 2);
            config.lay_path("second", 1, end);
        }
        for address in ["10.82.72.1/32", "10.82.74.1/32"] {
            pair.b.add_address("lo", address);
        }
        let _daemons = pair.start(&configs);
        for (to, source) in [
            ("10.72.0.2:7", "10.72.0.1"),
            ("10.74.0.2:7", "10.74.0.1"),
            ("10.82.72.1:7", "10.72.0.1"),
            ("10.82.74.1:7", "10.74.0.1"),
        ] {
            let [from, to] = [pair.a.udp("0.0.0.0:0"), pair.b.udp(to)];
            from.send_to(b"who is it?", to.local_addr().unwrap()).unwrap();
            let (_, told) = to.recv_from(&mut [0; 16]).unwrap();
            assert_eq!(told.ip().to_string(), source);
        }
    }
}
