use std::net::SocketAddr;
use std::time::Duration;

use mpt_core::SocketId;
use mpt_core::compat::{Authentication, Config, Create, Key};

use crate::harness::{COMMAND_PORT, End, FIRST, SECOND, address, config, start};

const ITERATIONS: usize = 2_000;

/// An input of an end.
#[derive(Debug, bolero::TypeGenerator)]
enum Input {
    Data {
        path: u8,
        payload: Vec<u8>,
    },
    /// Nearly a command: code, argument, authentication, round, who asks, and the rest.
    Command {
        code: u8,
        argument: u8,
        kind: u8,
        round: u8,
        asked: bool,
        rest: Vec<u8>,
    },
    Garbage(Vec<u8>),
    Usable {
        path: bool,
        usable: bool,
    },
    Later {
        milliseconds: u16,
    },
}

fn command(code: u8, argument: u8, kind: u8, round: u8, asked: bool, rest: &[u8]) -> Vec<u8> {
    let kind = kind % 4;
    let length = [0, 4, 36, 0][usize::from(kind)];
    let mut bytes = vec![0xa1 + code % 4, argument & 0x81, kind, length as u8];
    bytes.resize(4 + length, 0);
    bytes.extend([round % 6, 4, 0, 0]);
    for end in if asked { [2, 3] } else { [3, 2] } {
        bytes.extend([0; 10]);
        bytes.extend([0xff, 0xff, 10, 0, 0, end]);
    }
    bytes.extend(rest);
    bytes
}

#[test]
fn fuzz_an_end() {
    for authentication in
        [Authentication::None, Authentication::Nonce, Authentication::Digest(Key::built_in())]
    {
        let target = bolero::check!().with_iterations(ITERATIONS).with_type::<Vec<Input>>();
        target.for_each(|inputs| {
            let mut now = start();
            let create = Create {
                authentication: authentication.clone(),
                ask: false,
                data_port: 1,
                remote_data_port: 2,
                command_port: 3,
                window: 4,
                max_delay: Duration::from_millis(5),
                weights: vec![(1, 1); 2],
            };
            let config = Config { create: Some(create), ..config(3, &authentication) };
            let mut end = End::new(now, config);
            let source: SocketAddr = (address(2, SECOND), COMMAND_PORT).into();
            for input in inputs {
                match input {
                    Input::Data { path, payload } => {
                        let path = mpt_core::PathId::first((path % 3).into());
                        end.compat.handle_data(now, path, payload);
                    }
                    Input::Command { code, argument, kind, round, asked, rest } => {
                        let bytes = command(*code, *argument, *kind, *round, *asked, rest);
                        end.compat.handle_command(now, SocketId(0), source, &bytes);
                    }
                    Input::Garbage(bytes) => {
                        end.compat.handle_command(now, SocketId(0), source, bytes);
                    }
                    Input::Usable { path, usable } => {
                        let path = if *path { FIRST } else { SECOND };
                        end.compat.set_usable(now, path, *usable);
                    }
                    Input::Later { milliseconds } => {
                        now += Duration::from_millis((*milliseconds).into());
                        end.compat.handle_timeout(now);
                        let next = end.compat.next_timeout();
                        assert!(next.is_none_or(|next| next > now), "all that was due is done");
                    }
                }
                end.take();
            }
        });
    }
}
