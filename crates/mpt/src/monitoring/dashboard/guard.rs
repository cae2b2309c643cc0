//! The right to look: every user of this host has it, and everybody else who has the token.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, COOKIE, HOST, LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use subtle::ConstantTimeEq;

/// The cookie that a browser gets for a token.
const NAME: &str = "mpt_token";

/// Decides about each request.
#[derive(Clone, Debug)]
pub(crate) struct Guard(Option<Arc<str>>);

impl Guard {
    /// Returns the guard of a server that listens here.
    ///
    /// # Errors
    ///
    /// A sentence when others than this host could ask and there is no token.
    pub(crate) fn new(listen: SocketAddr, token: Option<String>) -> Result<Guard, String> {
        if token.is_none() && !listen.ip().is_loopback() {
            return Err(format!(
                "{listen} is open to other hosts: name a file with a token by --token-file, or listen on 127.0.0.1"
            ));
        }
        Ok(Guard(token.map(Into::into)))
    }

    /// True if the token in the header or the cookie of a request is the right one.
    fn knows(&self, headers: &HeaderMap) -> bool {
        let text = |name| headers.get_all(name).iter().filter_map(|it| it.to_str().ok());
        let bearer = text(AUTHORIZATION).filter_map(|it| it.strip_prefix("Bearer "));
        let cookies = text(COOKIE).flat_map(|it| it.split(';'));
        let cookie = cookies.filter_map(|it| it.trim().strip_prefix(NAME)?.strip_prefix('='));
        bearer.chain(cookie).any(|it| self.is_token(it))
    }

    fn is_token(&self, given: &str) -> bool {
        let Some(token) = &self.0 else { return false };
        token.as_bytes().ct_eq(given.trim().as_bytes()).into()
    }
}

/// Lets a request pass, or answers it.
pub(crate) async fn check(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    if guard.0.is_none() {
        // A page of another origin whose name leads here, too, is stopped by the name that it asks for.
        if !asks_this_host(&request) {
            return refusal(StatusCode::FORBIDDEN, "ask for localhost or 127.0.0.1");
        }
    } else if let Some(token) = token_of(request.uri()).filter(|it| guard.is_token(it)) {
        // The token leaves the address line, and with it the history of the browser.
        let cookie = format!("{NAME}={token}; Path=/; HttpOnly; SameSite=Strict");
        let headers = [(SET_COOKIE, cookie), (LOCATION, request.uri().path().to_owned())];
        return (StatusCode::SEE_OTHER, headers).into_response();
    } else if !guard.knows(request.headers()) {
        let advice = "this needs the token: open /?token=TOKEN in a browser, or send the header Authorization: Bearer TOKEN";
        return refusal(StatusCode::UNAUTHORIZED, advice);
    }
    next.run(request).await
}

fn token_of(uri: &Uri) -> Option<&str> {
    uri.query()?.split('&').find_map(|it| it.strip_prefix("token="))
}

fn asks_this_host(request: &Request<Body>) -> bool {
    let host = request.headers().get(HOST).and_then(|it| it.to_str().ok());
    let host = host.or_else(|| request.uri().host()).unwrap_or_default();
    if let Ok(address) = host.parse::<SocketAddr>() {
        return address.ip().is_loopback();
    }
    let name = host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
    let name = name.map_or(host, |(name, _)| name);
    let bare = name.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(name);
    name == "localhost" || bare.parse::<IpAddr>().is_ok_and(|it| it.is_loopback())
}

fn refusal(status: StatusCode, advice: &str) -> Response {
    (status, format!("{advice}\n")).into_response()
}
