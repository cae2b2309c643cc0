//! Hosts that join as clients: tokens are made and taken back by the administrator, used in sessions of kind joining.

use std::time::Instant;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mpt_api::session::{
    Join, Joined, SessionCode, SessionFailure, SessionReply, SessionRequest, SessionResult,
};
use mpt_api::{Changed, Code, Failure, Token};
use mpt_config::{self as config, Client, read_key_file};
use mpt_core::session::{JOIN_SECRET_LEN, JoinToken, PublicKey, SessionId};

use crate::clients::tokens::{Held, Judgement, Wanted};
use crate::daemon::{Daemon, Error};

impl Daemon {
    /// Makes a token, which is good from now on.
    pub(in crate::daemon) async fn add_token(&mut self, wanted: Wanted) -> Result<Token, Failure> {
        let bad = |message: String| Failure::new(Code::BadRequest, message);
        if self.running.daemon.private_key.is_none() || self.running.daemon.listen.is_empty() {
            return Err(bad(
                "no client can reach this daemon; write daemon.listen and a [[pool]] into the configuration, or run mpt setup server".into(),
            ));
        }
        let mut secret = [0; JOIN_SECRET_LEN];
        getrandom::fill(&mut secret).map_err(|error| {
            Failure::new(Code::Failed, format!("the system gives no random numbers: {error}"))
        })?;
        let (now, token) = (Instant::now(), JoinToken::from_secret(&secret));
        let held = self.tokens.add(now, &self.running, token, wanted).map_err(bad)?.clone();
        self.set_tokens().await.map_err(|error| Failure::new(Code::Failed, error.to_string()))?;
        Ok(Token { secret: Some(STANDARD.encode(secret)), ..self.show_token(now, &held) })
    }

    /// Lists the tokens.
    pub(in crate::daemon) fn list_tokens(&self) -> mpt_api::Tokens {
        let now = Instant::now();
        let good = self.tokens.iter().filter(|held| !held.left(now).is_zero());
        mpt_api::Tokens { tokens: good.map(|held| self.show_token(now, held)).collect() }
    }

    /// Takes a token back.
    pub(in crate::daemon) async fn revoke_token(&mut self, id: &str) -> Result<Changed, Failure> {
        if !self.tokens.revoke(id) {
            return Err(Failure::new(Code::NotFound, format!("there is no token \"{id}\"")));
        }
        self.set_tokens().await.map_err(|error| Failure::new(Code::Failed, error.to_string()))?;
        let changes = vec![format!("token {id}: revoked")];
        Ok(Changed { changes, warnings: Vec::new() })
    }

    /// Forgets tokens whose time is over.
    pub(in crate::daemon) async fn expire_tokens(&mut self) -> Result<(), Error> {
        if self.tokens.expire(Instant::now()) { self.set_tokens().await } else { Ok(()) }
    }

    async fn set_tokens(&self) -> Result<(), Error> {
        let tokens: Vec<JoinToken> = self.tokens.iter().map(|held| held.token.clone()).collect();
        self.shards.each(move |data| data.set_join_tokens(tokens)).await?;
        Ok(())
    }

    fn show_token(&self, now: Instant, held: &Held) -> Token {
        let daemon = &self.running.daemon;
        let key = daemon.private_key.as_ref();
        Token {
            id: held.token.id().to_owned(),
            secret: None,
            public_key: key.map(|key| key.public().to_string()).unwrap_or_default(),
            port: daemon.port,
            client: held.client.clone(),
            pool: held.pool.clone(),
            networks: held.networks.clone(),
            seconds_left: held.left(now).as_secs(),
            used_by: held.used_by().map(ToString::to_string),
        }
    }

    /// Answers a request in a session of kind joining.
    pub(in crate::daemon) async fn serve_joining(
        &mut self,
        session: SessionId,
        body: &[u8],
    ) -> Result<SessionReply, Error> {
        let join = match SessionRequest::parse(body) {
            Ok(SessionRequest::Join(join)) => join,
            Ok(_) => {
                let message = "a session of kind joining takes the request to join only";
                return Ok(SessionFailure::new(SessionCode::Unsupported, message).into());
            }
            Err(failure) => return Ok(failure.into()),
        };
        let Some(opened) = self.sessions.opened.get(&session) else {
            return Ok(SessionFailure::new(SessionCode::NotFound, "the session is over").into());
        };
        let (key, token) = (opened.peer, opened.called.clone());
        let joined = self.join(&token, key, &join).await;
        if let Err(failure) = &joined
            && self.provoked.deny(key)
        {
            tracing::warn!(peer = %key, token, %failure, "a host may not join");
        }
        Ok(joined.map(SessionResult::Joined).into())
    }

    async fn join(
        &mut self,
        token: &str,
        key: PublicKey,
        join: &Join,
    ) -> Result<Joined, SessionFailure> {
        let judged = self.tokens.judge(Instant::now(), &self.running, token, key, join)?;
        let (client, joined) = match judged {
            Judgement::Already(joined) => return Ok(joined),
            Judgement::New(client, joined) => (*client, joined),
        };
        self.add_client(client).await.map_err(|message| {
            // A host that holds a token may ask again and again.
            if self.provoked.line(key) {
                tracing::error!(token, peer = %key, message, "a host cannot be made a client");
            }
            SessionFailure::new(
                SessionCode::Failed,
                "the server cannot add the client; its log says why",
            )
        })?;
        // The token is good for nobody else from here on, whatever becomes of the answer.
        self.tokens.spend(token, key, joined.clone());
        tracing::info!(client = joined.client, peer = %key, token, "a host has joined as a client");
        Ok(joined)
    }

    /// Writes a client into the file and puts it into effect; if that fails, the file is as it was.
    async fn add_client(&mut self, client: Client) -> Result<(), String> {
        let file = self.file.display().to_string();
        let io = |error: std::io::Error| format!("{file}: {error}");
        let before = std::fs::read_to_string(&self.file).map_err(io)?;
        let (text, written) = config::add_client(&file, &before, &client, &read_key_file)
            .map_err(|errors| errors.to_string())?;
        let client = written.clients.into_iter().find(|it| it.name == client.name);
        let client = client.ok_or_else(|| format!("{file}: the client is not in it"))?;
        config::write_file(&self.file, &text).map_err(io)?;
        let mut next = self.running.clone();
        next.clients.push(client.clone());
        if let Err(error) = self.put_into_effect(next).await {
            config::write_file(&self.file, &before).map_err(io)?;
            return Err(error.to_string());
        }
        self.loaded.clients.push(client);
        Ok(())
    }
}
