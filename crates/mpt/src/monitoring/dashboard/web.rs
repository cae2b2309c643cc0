//! The page, its parts, and the answers for programs.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Query, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{from_fn_with_state, map_response};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::stream;
use serde::Deserialize;
use tokio::sync::Semaphore;

use super::guard::{Guard, check};
use crate::monitoring::status::state;
use crate::monitoring::watched::{Watched, metrics};

/// The page and its parts, each with its type.
const PAGE: (&str, &str) = ("text/html; charset=utf-8", include_str!("page/index.html"));
const SCRIPT: (&str, &str) = ("text/javascript; charset=utf-8", include_str!("page/page.js"));
const STYLE: (&str, &str) = ("text/css; charset=utf-8", include_str!("page/page.css"));

/// The page asks its own origin for everything, and nobody else frames it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The most pages that are open at one time.
const MOST_PAGES: usize = 64;

#[derive(Clone, Debug)]
struct Served {
    watched: Arc<Watched>,
    /// A permit for each page that may be opened.
    pages: Arc<Semaphore>,
}

/// Returns everything there is to ask for.
pub(crate) fn router(guard: Guard, watched: Arc<Watched>) -> Router {
    let served = Served { watched, pages: Arc::new(Semaphore::new(MOST_PAGES)) };
    Router::new()
        .route("/", get(async || part(PAGE)))
        .route("/page.js", get(async || part(SCRIPT)))
        .route("/page.css", get(async || part(STYLE)))
        .route("/events", get(events))
        .route("/history", get(history))
        .route("/metrics", get(metrics))
        .route("/health", get(health))
        .layer(from_fn_with_state(guard, check))
        .layer(map_response(secured))
        .with_state(served)
}

fn part((kind, text): (&'static str, &'static str)) -> Response {
    ([(CONTENT_TYPE, kind)], text).into_response()
}

async fn secured(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn metrics(State(served): State<Served>) -> Response {
    ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], served.watched.metrics()).into_response()
}

/// The state for machines: 200 while something is carried, else 503.
async fn health(State(served): State<Served>) -> Response {
    let (state, json) = served.watched.health();
    let code = match state {
        state::State::Up | state::State::Degraded => StatusCode::OK,
        state::State::Down | state::State::Unreachable => StatusCode::SERVICE_UNAVAILABLE,
    };
    (code, [(CONTENT_TYPE, "application/json")], json).into_response()
}

#[derive(Debug, Deserialize)]
struct Wanted {
    connection: String,
    /// Length of the history, in seconds.
    span: u64,
}

async fn history(State(served): State<Served>, Query(wanted): Query<Wanted>) -> Response {
    let drawn = served.watched.history(&wanted.connection, wanted.span);
    ([(CONTENT_TYPE, "application/json")], mpt_api::to_line(&drawn)).into_response()
}

#[derive(Debug, Deserialize)]
struct Looked {
    /// The connection that is looked at; the first by default.
    connection: Option<String>,
}

/// The state now, and again whenever it changes.
async fn events(State(served): State<Served>, Query(looked): Query<Looked>) -> Response {
    let Ok(permit) = served.pages.clone().try_acquire_owned() else {
        return (StatusCode::SERVICE_UNAVAILABLE, "too many pages are open\n").into_response();
    };
    let mut changes = served.watched.changes();
    changes.mark_changed();
    let start = (changes, served.watched, looked.connection, 0, permit);
    let told = stream::unfold(start, async |(mut changes, watched, connection, known, permit)| {
        changes.changed().await.ok()?;
        let (json, last) = watched.tell(connection.as_deref(), known);
        let event = Ok::<_, Infallible>(Event::default().data(json.trim_end()));
        Some((event, (changes, watched, connection, last, permit)))
    });
    Sse::new(told).keep_alive(KeepAlive::default()).into_response()
}
