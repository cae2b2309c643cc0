//! The control socket: requests become commands and answers, and no client holds up another.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mpt_api::{
    Code, Event, EventKind, Failure, MAX_REQUEST, PathChange, Reloaded, Reply, Request, Response,
    ResponseBody, to_line,
};
use mptd::control::command::Command;
use mptd::control::{BindError, ControlSocket, MAX_CLIENTS, MAX_MONITORS};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::sync::{broadcast, mpsc};

/// A served socket in a directory of its own.
struct Served {
    path: PathBuf,
    commands: mpsc::Receiver<Command>,
    events: broadcast::Sender<Event>,
    _server: tokio::task::JoinHandle<()>,
    _directory: tempfile::TempDir,
}

async fn serve(queue: usize, backlog: usize) -> Served {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mptd.sock");
    let socket = ControlSocket::bind(&path).await.unwrap();
    let (sender, commands) = mpsc::channel(queue);
    let (events, _) = broadcast::channel(backlog);
    let server = tokio::spawn({
        let events = events.clone();
        async move { socket.serve(sender, events).await }
    });
    Served { path, commands, events, _server: server, _directory: directory }
}

struct Client(BufReader<UnixStream>);

impl Client {
    async fn connect(path: &Path) -> Client {
        Client(BufReader::new(UnixStream::connect(path).await.unwrap()))
    }

    async fn write(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).await.unwrap();
    }

    /// The next line; `None` at the end.
    async fn read(&mut self) -> Option<ResponseBody> {
        let mut line = String::new();
        let length = self.0.read_line(&mut line).await.unwrap();
        (length > 0).then(|| serde_json::from_str::<Response>(&line).unwrap().body)
    }

    async fn ask(&mut self, command: mpt_api::Command) -> ResponseBody {
        self.write(to_line(&Request::new(command)).as_bytes()).await;
        self.read().await.expect("an answer")
    }
}

fn set_path(change: PathChange) -> mpt_api::Command {
    mpt_api::Command::SetPath { connection: "office".into(), path: "dsl".into(), change }
}

const DOWN: PathChange = PathChange {
    up: Some(false),
    weight: None,
    weight_in: None,
    tier: None,
    max_rate: None,
    min_rate: None,
};

fn code(body: &ResponseBody) -> Code {
    match body {
        ResponseBody::Error(failure) => failure.code,
        other => panic!("not a refusal: {other:?}"),
    }
}

#[tokio::test]
async fn status_needs_nobody_else() {
    let served = serve(1, 1).await;
    let mut client = Client::connect(&served.path).await;
    for _ in 0..3 {
        let answer = client.ask(mpt_api::Command::Status).await;
        let ResponseBody::Result(Reply::Status(status)) = answer else { panic!("{answer:?}") };
        assert_eq!(status.pid, std::process::id());
    }
}

#[tokio::test]
async fn commands_are_passed_on_and_answered() {
    let mut served = serve(4, 1).await;
    let mut client = Client::connect(&served.path).await;
    let daemon = async {
        match served.commands.recv().await.unwrap() {
            Command::SetPath { connection, path, change, reply } => {
                assert_eq!((connection.as_str(), path.as_str(), change), ("office", "dsl", DOWN));
                reply.send(Ok(())).unwrap();
            }
            other => panic!("{other:?}"),
        }
        match served.commands.recv().await.unwrap() {
            Command::SetPath { reply, .. } => {
                reply.send(Err(Failure::new(Code::NotFound, "no path \"dsl\""))).unwrap();
            }
            other => panic!("{other:?}"),
        }
        match served.commands.recv().await.unwrap() {
            Command::Reload { reply } => reply.send(Ok(Reloaded::default())).unwrap(),
            other => panic!("{other:?}"),
        }
    };
    let user = async {
        assert_eq!(client.ask(set_path(DOWN)).await, ResponseBody::Result(Reply::Done));
        assert_eq!(code(&client.ask(set_path(DOWN)).await), Code::NotFound);
        assert_eq!(
            client.ask(mpt_api::Command::Reload).await,
            ResponseBody::Result(Reply::Reloaded(Reloaded::default()))
        );
    };
    tokio::join!(daemon, user);
}

#[tokio::test]
async fn bad_requests_are_refused_and_the_next_one_is_served() {
    let served = serve(1, 1).await;
    let mut client = Client::connect(&served.path).await;
    for (line, expected) in [
        ("show\n", Code::BadRequest),
        ("\n", Code::BadRequest),
        ("\u{fffd}\0\n", Code::BadRequest),
        ("{\"version\":99,\"command\":\"show\"}\n", Code::Version),
    ] {
        client.write(line.as_bytes()).await;
        assert_eq!(code(&client.read().await.unwrap()), expected, "{line:?}");
    }
    assert_eq!(code(&client.ask(set_path(PathChange::default())).await), Code::BadRequest);
    assert!(matches!(client.ask(mpt_api::Command::Status).await, ResponseBody::Result(_)));
}

#[tokio::test]
async fn a_line_of_the_greatest_length_is_read_and_a_longer_one_ends_the_client() {
    let served = serve(1, 1).await;
    let mut client = Client::connect(&served.path).await;
    let status = to_line(&Request::new(mpt_api::Command::Status));
    let padded = format!("{}{status}", " ".repeat(MAX_REQUEST + 1 - status.len()));
    client.write(padded.as_bytes()).await;
    assert!(matches!(client.read().await.unwrap(), ResponseBody::Result(_)));
    client.write(format!(" {padded}").as_bytes()).await;
    let answer = client.read().await.unwrap();
    assert_eq!(code(&answer), Code::BadRequest);
    let ResponseBody::Error(failure) = answer else { unreachable!() };
    assert_eq!(failure.message, format!("the request is longer than {MAX_REQUEST} bytes"));
    // Bytes of ours are left unread, so the end may be a reset.
    let mut rest = String::new();
    assert!(matches!(client.0.read_line(&mut rest).await, Ok(0) | Err(_)), "{rest}");
}

#[tokio::test]
async fn a_full_queue_is_busy_and_a_lost_reply_a_failure() {
    let mut served = serve(1, 1).await;
    let mut first = Client::connect(&served.path).await;
    let mut second = Client::connect(&served.path).await;
    first.write(to_line(&Request::new(mpt_api::Command::Show)).as_bytes()).await;
    // Its command fills the queue; seen from outside only by what the next one gets.
    while served.commands.is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(code(&second.ask(mpt_api::Command::Show).await), Code::Busy);
    drop(served.commands.recv().await);
    assert_eq!(code(&first.read().await.unwrap()), Code::Failed);
    drop(served.commands);
    assert_eq!(code(&second.ask(mpt_api::Command::Show).await), Code::Failed);
}

#[tokio::test]
async fn a_monitor_gets_events_and_is_told_what_it_missed() {
    let served = serve(1, 2).await;
    let mut client = Client::connect(&served.path).await;
    let answer = client.ask(mpt_api::Command::Monitor).await;
    assert_eq!(answer, ResponseBody::Result(Reply::Monitoring));
    let event = |changes| Event { time_ms: 1, kind: EventKind::Reloaded { changes } };
    served.events.send(event(0)).unwrap();
    assert_eq!(client.read().await, Some(ResponseBody::Event(event(0))));
    // Five at once, where two fit: the server's task runs only afterwards.
    for changes in 1..=5 {
        served.events.send(event(changes)).unwrap();
    }
    let Some(ResponseBody::Event(missed)) = client.read().await else { panic!("no event") };
    assert_eq!(missed.kind, EventKind::Missed { count: 3 });
    assert_eq!(client.read().await, Some(ResponseBody::Event(event(4))));
    assert_eq!(client.read().await, Some(ResponseBody::Event(event(5))));
}

#[tokio::test]
async fn a_monitor_that_does_not_read_holds_up_nobody() {
    let served = serve(1, 16).await;
    let mut deaf = Client::connect(&served.path).await;
    deaf.ask(mpt_api::Command::Monitor).await;
    let mut other = Client::connect(&served.path).await;
    // Far more than a socket holds.
    for round in 0..20_000 {
        let kind = EventKind::ConnectionAdded { connection: "x".repeat(60) };
        served.events.send(Event { time_ms: round, kind }).unwrap();
        if round % 16 == 0 {
            tokio::task::yield_now().await;
        }
    }
    assert!(matches!(other.ask(mpt_api::Command::Status).await, ResponseBody::Result(_)));
}

#[tokio::test]
async fn monitors_leave_room_for_an_operator() {
    let served = serve(1, 1).await;
    let mut monitors = Vec::new();
    for _ in 0..MAX_MONITORS {
        let mut client = Client::connect(&served.path).await;
        assert!(matches!(client.ask(mpt_api::Command::Monitor).await, ResponseBody::Result(_)));
        monitors.push(client);
    }
    let mut one_more = Client::connect(&served.path).await;
    assert_eq!(code(&one_more.ask(mpt_api::Command::Monitor).await), Code::Busy);
    let mut operator = Client::connect(&served.path).await;
    assert!(matches!(operator.ask(mpt_api::Command::Status).await, ResponseBody::Result(_)));
    // A monitor that goes makes room for another.
    monitors.pop();
    loop {
        let mut client = Client::connect(&served.path).await;
        match client.ask(mpt_api::Command::Monitor).await {
            ResponseBody::Result(_) => break,
            refusal => assert_eq!(code(&refusal), Code::Busy),
        }
    }
}

#[tokio::test]
async fn a_client_too_many_is_told_so() {
    let served = serve(1, 1).await;
    let mut clients = Vec::new();
    for _ in 0..MAX_CLIENTS {
        let mut client = Client::connect(&served.path).await;
        client.ask(mpt_api::Command::Status).await;
        clients.push(client);
    }
    let mut one_more = Client::connect(&served.path).await;
    assert_eq!(code(&one_more.read().await.unwrap()), Code::Busy);
    assert_eq!(one_more.read().await, None);
    for client in &mut clients {
        assert!(matches!(client.ask(mpt_api::Command::Status).await, ResponseBody::Result(_)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_client_is_disconnected() {
    let served = serve(1, 1).await;
    let mut client = Client::connect(&served.path).await;
    assert_eq!(client.read().await, None);
    let mut half = Client::connect(&served.path).await;
    half.write(b"{\"version\":2,").await;
    assert_eq!(half.read().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_command_without_an_answer_ends_in_time() {
    let served = serve(1, 1).await;
    let mut client = Client::connect(&served.path).await;
    assert_eq!(code(&client.ask(mpt_api::Command::Show).await), Code::Busy);
    assert_eq!(served.commands.len(), 1);
}

#[tokio::test]
async fn the_file_belongs_to_user_and_group_and_goes_with_the_daemon() {
    let directory = tempfile::tempdir().unwrap();
    let parent = directory.path().join("mpt");
    let path = parent.join("mptd.sock");
    let socket = ControlSocket::bind(&path).await.unwrap();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o660);
    assert_eq!(std::fs::read_dir(&parent).unwrap().count(), 1);
    drop(socket);
    assert!(!parent.exists(), "the directory was made for the socket");
}

#[tokio::test]
async fn a_directory_that_was_there_stays() {
    let directory = tempfile::tempdir().unwrap();
    drop(ControlSocket::bind(&directory.path().join("mptd.sock")).await.unwrap());
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_second_daemon_is_refused_and_disturbs_nothing() {
    let served = serve(1, 1).await;
    let error = ControlSocket::bind(&served.path).await.unwrap_err();
    assert!(matches!(error, BindError::AlreadyRunning(_)));
    assert_eq!(
        error.to_string(),
        format!(
            "{}: another mptd is already running and listens here; stop it, or write another daemon.control_socket",
            served.path.display()
        )
    );
    let mut client = Client::connect(&served.path).await;
    assert!(matches!(client.ask(mpt_api::Command::Status).await, ResponseBody::Result(_)));
}

#[tokio::test]
async fn the_socket_of_a_daemon_that_died_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mptd.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    let socket = ControlSocket::bind(&path).await.unwrap();
    tokio::time::timeout(Duration::from_secs(10), UnixStream::connect(&path))
        .await
        .unwrap()
        .unwrap();
    drop(socket);
    assert!(!path.exists());
}

#[tokio::test]
async fn anything_else_of_that_name_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mptd.sock");
    std::fs::write(&path, "precious").unwrap();
    let error = ControlSocket::bind(&path).await.unwrap_err();
    assert!(matches!(error, BindError::NotASocket(_)));
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
}

#[tokio::test]
async fn the_socket_of_a_successor_is_not_removed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mptd.sock");
    let old = ControlSocket::bind(&path).await.unwrap();
    std::fs::remove_file(&path).unwrap();
    let new = ControlSocket::bind(&path).await.unwrap();
    drop(old);
    assert!(path.exists());
    drop(new);
    assert!(!path.exists());
}
