//! The daemon's answers as they come.

use mpt_api::{Response, ResponseBody, VERSION};

use crate::Error;

/// Reads one answer or event; a newline at its end does no harm.
pub(crate) fn parse(line: &[u8]) -> Result<ResponseBody, Error> {
    #[derive(serde::Deserialize)]
    struct Envelope {
        version: u32,
    }
    let garbled =
        |error| Error::NotUnderstood(format!("the daemon's answer is not understood: {error}"));
    let version = serde_json::from_slice::<Envelope>(line).map_err(garbled)?.version;
    if version != VERSION {
        return Err(Error::NotUnderstood(format!(
            "the daemon speaks version {version} of the control API, this mpt version {VERSION}; use the mpt of its release"
        )));
    }
    Ok(serde_json::from_slice::<Response>(line).map_err(garbled)?.body)
}
