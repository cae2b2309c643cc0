//! Every line of docs/control-api.md that goes over a wire is one that these types read, and write again the same.

use mpt_api::session::{SessionReply, SessionRequest};
use mpt_api::{Request, Response, to_line};

#[test]
fn every_example_is_read_and_written_the_same() {
    let page = include_str!("../../../../docs/control-api.md");
    let mut seen = [0; 4];
    for line in page.lines() {
        let Some((arrow, text)) = line.split_once(' ') else { continue };
        let (kind, written) = match arrow {
            "->" => match Request::parse(text.as_bytes()) {
                Ok(request) => (0, to_line(&request)),
                // The one example of a request that is refused.
                Err(failure) => {
                    assert!(
                        page.contains(&format!("\"message\":\"{failure}\"")),
                        "{line}: {failure}"
                    );
                    continue;
                }
            },
            "<-" => (1, to_line(&serde_json::from_str::<Response>(text).expect(line))),
            "=>" => (2, to_line(&SessionRequest::parse(text.as_bytes()).expect(line))),
            "<=" => (3, to_line(&SessionReply::parse(text.as_bytes()).expect(line))),
            _ => continue,
        };
        assert_eq!(written.trim_end(), text);
        seen[kind] += 1;
    }
    assert!(seen.iter().all(|&count| count >= 5), "{seen:?}");
}
