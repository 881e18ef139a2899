//! The server: started, serving, stopped.

use crate::admin::{self, Admin, LastLoad, Vitals};
use crate::answer::Outlet;
use crate::api::Api;
use crate::auth::{Issuer, keep_fetched};
use crate::callers::Callers;
use crate::computations::Computations;
use crate::config::{Config, ConfigError, InForce, Sources};
use crate::http::{Accepted, Listener, Place, client};
use crate::log::Failures;
use crate::overload::RefusalPace;
use crate::prepared::KnownReads;
use crate::routes::{ClientBody, Routes};
use crate::schema::{FirstLoad, Reloader, keep_loaded, listen};
use crate::sent_forms::SentForms;
use crate::site::{self, Site, Watched, keep_read};
use crate::spool::Spool;
use crate::state::State;
use crate::turns::Turns;
use arc_swap::{ArcSwap, ArcSwapOption};
use bytes::Bytes;
use hyper::{Request, Response};
use minijinja::functions::Function;
use minijinja::value::{FunctionArgs, FunctionResult};
use nix::sys::resource::{Resource, getrlimit};
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};
use thalweg_pages::{Additions, Cost};
use thalweg_wire::{Pool, PoolLimits};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tower_service::Service;

/// How many descriptions of a schema are made at a time.
const DESCRIPTIONS_MAX: usize = 1;
/// How many descriptors are kept for what is neither a client nor a connection of the pool, nor what one of these has kept of a
/// response: loads, cancellations, the log.
const OTHER_DESCRIPTORS: usize = 32;
/// How long requests may go on after the server was told to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);
/// How long to wait after a failure to accept, which is most often a lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How much memory tokens take that were verified, in bytes.
const TOKENS_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What a [`Server`] is made of.
#[derive(Debug)]
pub struct ServerBuilder {
    config: Config,
    sources: Option<Sources>,
    is_development: bool,
    watched: Option<Watched>,
    routes: Routes,
    additions: Additions,
    computations: Computations,
}

/// A server that listens. Until the schema cache has been loaded for the first time, it answers 503 with `Retry-After`.
pub struct Server {
    state: Arc<State>,
    /// `None` until the schema cache has been loaded, where other processes listen too.
    listener: Option<Listener>,
    /// The server for operators, if there is one. It ends with this.
    admin: JoinSet<io::Error>,
    admin_addr: Option<SocketAddr>,
}

/// Why a server cannot start.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServerError {
    /// The configuration cannot be used.
    Config(ConfigError),
    /// The connection string or what it leads to cannot be used.
    Database(String),
    /// A page of the site cannot be made.
    Pages(String),
    /// What was to be explained is nothing.
    Explain(String),
    /// Code cannot join in: routes, functions or filters have a place that is taken.
    Joined(String),
    /// It cannot listen.
    Listen(String, io::Error),
    /// The server for operators cannot listen, or cannot go on.
    Admin(String, io::Error),
    /// It cannot hear signals.
    Signals(io::Error),
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::Database(error) | Self::Explain(error) => error.fmt(f),
            Self::Pages(error) => write!(f, "a page cannot be made: {error}"),
            Self::Joined(error) => f.write_str(error),
            Self::Listen(where_, error) => {
                write!(f, "cannot listen on {where_}: {error} (server-host, server-port, server-unix-socket)")
            }
            Self::Admin(where_, error) => {
                write!(
                    f,
                    "the admin server cannot listen on {where_}: {error} \
                     (admin-server-host, admin-server-port, admin-server-unix-socket)"
                )
            }
            Self::Signals(error) => write!(f, "cannot listen to signals: {error}"),
        }
    }
}

impl Error for ServerError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Listen(_, cause) | Self::Admin(_, cause) | Self::Signals(cause) => Some(cause),
            // its words are its whole
            Self::Config(_) | Self::Database(_) | Self::Pages(_) | Self::Explain(_) | Self::Joined(_) => None,
        }
    }
}

impl Server {
    /// A server with this configuration.
    pub fn builder(config: Config) -> ServerBuilder {
        ServerBuilder {
            config,
            sources: None,
            is_development: false,
            watched: None,
            routes: Routes::default(),
            additions: Additions::default(),
            computations: Computations::new(),
        }
    }

    /// The API under nobody's identity, for jobs of code in the same process. It may outlive the server, and then still asks the
    /// database.
    pub fn api(&self) -> Api {
        Api::of_nobody(&self.state)
    }

    /// The address it listens on, unless that is a Unix socket, or comes only once the schema cache has been loaded
    /// (`server-reuseport`).
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.listener.as_ref().and_then(Listener::local_addr)
    }

    /// The address of the server for operators, if there is one, and not on a Unix socket.
    pub fn admin_addr(&self) -> Option<SocketAddr> {
        self.admin_addr
    }

    /// Waits until the first attempt to load the schema cache has ended, well or not. An error says that no other will end
    /// better; [`Server::serve`] ends with the same.
    pub fn loaded(&self) -> impl Future<Output = Result<(), ServerError>> + Send + use<> {
        let mut first = self.state.reloader.first();
        async move {
            let ended = first.wait_for(|first| *first != FirstLoad::Running).await;
            match ended.as_deref() {
                Ok(FirstLoad::Fatal(error)) => Err(ServerError::Database(error.clone())),
                Ok(FirstLoad::Running | FirstLoad::Ended) | Err(_) => Ok(()),
            }
        }
    }

    /// Answers requests until `stop` is ready, then lets those in progress finish.
    pub async fn serve(mut self, stop: impl Future<Output = ()>) -> Result<(), ServerError> {
        let (closing, closed) = watch::channel(false);
        let clients_max = clients_max(&self.state.start);
        let clients = Arc::new(Semaphore::new(clients_max));
        let mut failures = Failures::default();
        let mut stop = std::pin::pin!(stop);
        let state = self.state.clone();
        let mut cannot_go_on = std::pin::pin!(cannot_go_on(&state, &mut self.admin));
        let listener = match self.listener {
            Some(listener) => listener,
            None => tokio::select! {
                () = &mut stop => return Ok(()),
                error = &mut cannot_go_on => return Err(error),
                listener = open_once_loaded(&state) => listener?,
            },
        };
        let let_in = |slot, accepted| {
            let (state, closed, connected) = (state.clone(), closed.clone(), state.vitals.connected());
            tokio::spawn(async move {
                match accepted {
                    Accepted::Tcp(stream, peer) => client(state, stream, peer.ip().to_string(), closed).await,
                    Accepted::Unix(stream) => client(state, stream, "-".to_owned(), closed).await,
                }
                drop((slot, connected));
            });
        };
        state.vitals.accepts.store(true, Ordering::Relaxed);
        loop {
            let accept = async {
                let slot = clients.clone().acquire_owned().await;
                (slot.ok(), listener.accept().await)
            };
            tokio::select! {
                () = &mut stop => break,
                error = &mut cannot_go_on => return Err(error),
                (slot, accepted) = accept => match accepted {
                    Ok(accepted) => let_in(slot, accepted),
                    Err(error) => {
                        if let Some(failures) = failures.another(Instant::now()) {
                            tracing::error!(%error, failures, "cannot accept connections");
                        }
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                },
            }
        }
        state.vitals.accepts.store(false, Ordering::Relaxed);
        for accepted in listener.close(state.start.server_reuseport).await {
            if let Ok(slot) = clients.clone().try_acquire_owned() {
                let_in(Some(slot), accepted);
            }
        }
        if let Some(development) = state.site.as_deref().and_then(Site::development) {
            development.stop();
        }
        let _ = closing.send(true);
        let all = u32::try_from(clients_max).unwrap_or(u32::MAX);
        if tokio::time::timeout(STOP_TIMEOUT, clients.acquire_many(all)).await.is_err() {
            let left = clients_max - clients.available_permits();
            tracing::error!(left, "responses were cut: the server stops, and their clients take too long");
        }
        Ok(())
    }
}

/// Ready when the server must end, with the reason.
async fn cannot_go_on(state: &State, admin: &mut JoinSet<io::Error>) -> ServerError {
    let given_up = state.reloader.given_up();
    let ended = async {
        match admin.join_next().await {
            Some(ended) => ended.unwrap_or_else(io::Error::other),
            // there is none
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        reason = given_up => ServerError::Database(reason),
        error = ended => {
            let place = admin::place(&state.start).map(|place| place.to_string());
            ServerError::Admin(place.unwrap_or_default(), error)
        }
    }
}

/// Where clients find the server.
fn place(config: &Config) -> Place<'_> {
    match &config.server_unix_socket {
        Some(path) => Place::Unix { path, mode: config.server_unix_socket_mode },
        None => Place::Tcp { host: &config.server_host, port: config.server_port, is_shared: config.server_reuseport },
    }
}

/// Begins to listen.
async fn open(state: &State) -> Result<Listener, ServerError> {
    let place = place(&state.start);
    let listener = Listener::bind(&place).await.map_err(|error| ServerError::Listen(place.to_string(), error))?;
    if let Some(address) = listener.local_addr() {
        state.port.get_or_init(|| address.port());
    }
    if let Some(path) = listener.path() {
        state.vitals.socket.get_or_init(|| path.to_owned());
    }
    tracing::info!(target: "notice", "listening on {}", listener.describe());
    Ok(listener)
}

/// Begins to listen once the schema cache has been loaded: until then another process has the port's clients.
async fn open_once_loaded(state: &State) -> Result<Listener, ServerError> {
    let mut last_load = state.vitals.last_load.subscribe();
    // its sender is as old as the server
    let _ = last_load.wait_for(|last| *last == LastLoad::Succeeded).await;
    open(state).await
}

/// Loads the schema cache on SIGUSR1, and reads the configuration again on SIGUSR2, for ever.
async fn follow(state: Arc<State>, mut reload_schema: Signal, mut reload_config: Signal) {
    loop {
        tokio::select! {
            _ = reload_schema.recv() => state.reloader.trigger(),
            _ = reload_config.recv() => state.reloader.trigger_config(),
        }
    }
}

/// How many clients may be connected: those that the configuration allows, but no more than leave descriptors for the database.
fn clients_max(config: &Config) -> usize {
    let open = getrlimit(Resource::RLIMIT_NOFILE).map_or(u64::MAX, |(now, _)| now);
    // The gauge has one open file for each thread that serves requests.
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let of_admin = admin::place(config).map_or(0, |_| admin::CLIENTS_MAX);
    let kept = 2 * config.db_pool + OTHER_DESCRIPTORS + threads + of_admin;
    usize::try_from(open).unwrap_or(usize::MAX).saturating_sub(kept).clamp(1, config.server_clients_max)
}

impl ServerBuilder {
    /// Where the configuration was read from, so that it can be read again while the server runs.
    pub fn sources(self, sources: Sources) -> Self {
        Self { sources: Some(sources), ..self }
    }

    /// Whether the site is being written: it is read again whenever a file of it changes, browsers load their pages again then, and what
    /// is wrong with it is shown in the pages, with the lines of the templates.
    pub fn development(self, is_development: bool) -> Self {
        Self { is_development, ..self }
    }

    /// While the site is being written, calls `note` whenever a file of `folder` has changed. The
    /// pages show what it returns, and the log has it too: for example that a migration has not
    /// been applied.
    pub fn watching(self, folder: PathBuf, note: impl Fn() -> Option<String> + Send + Sync + 'static) -> Self {
        Self { watched: Some(Watched { folder, note: Box::new(note) }), ..self }
    }

    /// Lets a service answer below a path, such as an axum `Router` without state. It sees paths without this prefix, as if
    /// nested there, and comes before pages and API: of several the one with the longest prefix. The API of a site and its
    /// files (`/api`, `/static`) cannot be covered.
    ///
    /// A handler finds the [`Api`] under its caller's identity in the extensions of its request; with the feature `axum` it is an
    /// argument. The body comes within `client-body-max`, and in time. If a handler fails or panics, that request is answered
    /// with 500; if its client leaves, it is dropped. How long it may take is its own affair.
    ///
    #[cfg_attr(feature = "axum", doc = "```")]
    #[cfg_attr(not(feature = "axum"), doc = "```ignore")]
    /// use axum::{Router, routing::get};
    /// use thalweg_server::{Api, ApiFailure, Config, Server};
    ///
    /// async fn longest(api: Api) -> Result<String, ApiFailure> {
    ///     let flights = api.get("/flights?select=title&order=distance_km.desc&limit=1").await?;
    ///     let [flight]: [thalweg_json::Value; 1] = flights.json().await?;
    ///     Ok(format!("The longest is {}", flight["title"]))
    /// }
    ///
    /// let server = Server::builder(Config::default()).routes("/words", Router::new().route("/longest", get(longest)));
    /// ```
    pub fn routes<S, B>(mut self, prefix: &str, service: S) -> Self
    where
        S: Service<Request<ClientBody>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Error: Into<Box<dyn Error + Send + Sync>>,
        S::Future: Send,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        self.routes.add(prefix, service);
        self
    }

    /// Gives the site's templates a function: `{{ name(value) }}`. It sees what it is given, of which the page fetches all: a
    /// column, a row with all its columns, all rows; nothing else is sure to have been fetched. What it returns is escaped.
    ///
    /// The function may take long, and may block: a page that calls it is rendered on a thread that
    /// serves no other client, with a permit of [`Computations`]. The part of the template up to
    /// the first call is rendered twice. Use [`ServerBuilder::quick_function`] for a function that
    /// takes some microseconds for any argument.
    ///
    /// ```
    /// # use thalweg_server::{Config, Server};
    /// let server = Server::builder(Config::default())
    ///     .function("in_words", |text: String| text.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>())
    ///     .quick_function("glide", |distance_km: f64, height_m: f64| distance_km * 1000.0 / height_m)
    ///     .quick_filter("feet", |metres: f64| format!("{:.0} ft", metres / 0.3048));
    /// ```
    pub fn function<F, R, A>(mut self, name: &str, function: F) -> Self
    where
        F: Function<R, A>,
        R: FunctionResult,
        A: for<'a> FunctionArgs<'a>,
    {
        self.additions.function(name, Cost::Unknown, function);
        self
    }

    /// Adds a function to the site's templates as [`ServerBuilder::function`] does. The function
    /// takes some microseconds for any argument, and never blocks. It is called on a thread whose
    /// other requests wait for it.
    pub fn quick_function<F, R, A>(mut self, name: &str, function: F) -> Self
    where
        F: Function<R, A>,
        R: FunctionResult,
        A: for<'a> FunctionArgs<'a>,
    {
        self.additions.function(name, Cost::Quick, function);
        self
    }

    /// Adds a filter to the site's templates: `{{ value|name }}`. It may take long, as a function
    /// of [`ServerBuilder::function`] may.
    pub fn filter<F, R, A>(mut self, name: &str, filter: F) -> Self
    where
        F: Function<R, A>,
        R: FunctionResult,
        A: for<'a> FunctionArgs<'a>,
    {
        self.additions.filter(name, Cost::Unknown, filter);
        self
    }

    /// Adds a filter to the site's templates that is as quick as a
    /// [`ServerBuilder::quick_function`].
    pub fn quick_filter<F, R, A>(mut self, name: &str, filter: F) -> Self
    where
        F: Function<R, A>,
        R: FunctionResult,
        A: for<'a> FunctionArgs<'a>,
    {
        self.additions.filter(name, Cost::Quick, filter);
        self
    }

    /// Returns the permits of the server's own computations. Handlers that use them too leave a CPU
    /// to quick requests.
    pub fn computations(&self) -> Computations {
        self.computations.clone()
    }

    /// Listens, and begins to load the schema cache ([`Server::loaded`]).
    pub async fn start(self) -> Result<Server, ServerError> {
        let config = self.config;
        config.check().map_err(ServerError::Config)?;
        self.routes.check(&config).map_err(ServerError::Joined)?;
        self.additions.check(&[site::STATIC]).map_err(ServerError::Joined)?;
        tracing::info!(target: "notice", "Starting Thalweg {}", env!("CARGO_PKG_VERSION"));
        let in_force = InForce::new(config.clone()).map_err(ServerError::Config)?;
        for warning in in_force.warnings() {
            tracing::info!(target: "notice", "{warning}");
        }
        let wire = config.wire().map_err(|error| ServerError::Database(error.to_string()))?;
        let limits = PoolLimits {
            connections_max: config.db_pool,
            waiting_max: config.server_clients_max,
            wait: config.db_pool_acquisition_timeout,
            idle: config.db_pool_max_idletime,
            lifetime: config.db_pool_max_lifetime,
        };
        let (waiting_max, wait) = (limits.waiting_max, limits.wait);
        let site = Site::of(&config, self.is_development, Some(self.additions))
            .map_err(|error| ServerError::Pages(error.with_lines(&config)))?
            .map(Arc::new);
        let pool = Pool::new(wire, limits);
        pool.keep_sessions(config.db_prepared_statements);
        let spool = Spool::new(&config.client_spool_dir, config.client_spool_max);
        let state = Arc::new(State {
            pool,
            held_bytes: Arc::default(),
            outlet: Outlet::new(spool.clone()),
            spool,
            callers: Callers::new(&config),
            sent_forms: SentForms::new((config.db_pool / 4).max(1)),
            turns: Turns::of_pool(config.db_pool, waiting_max, wait),
            computations: self.computations,
            descriptions: Turns::new(DESCRIPTIONS_MAX, waiting_max, wait),
            port: OnceLock::new(),
            start: config,
            sources: self.sources,
            settings: Mutex::default(),
            replaced: watch::channel(()).0,
            issuer: Issuer::new(),
            tokens: thalweg_auth::Cache::new(in_force.config.jwt_cache_max_entries, TOKENS_BYTES_MAX),
            in_force: ArcSwap::from_pointee(in_force),
            snapshot: ArcSwapOption::empty(),
            reloader: Reloader::new(),
            known_reads: KnownReads::new(),
            site,
            routes: self.routes,
            vitals: Vitals::new(),
            refusals: RefusalPace::new(),
            bills: thalweg_gauge::layer(),
        });
        // whoever reads that it listens may send a signal, which would otherwise end the process
        let [reload_schema, reload_config] = [SignalKind::user_defined1(), SignalKind::user_defined2()]
            .map(|kind| signal(kind).map_err(ServerError::Signals));
        tokio::spawn(follow(state.clone(), reload_schema?, reload_config?));
        tokio::spawn(keep_fetched(state.clone()));
        let (mut admin, mut admin_addr) = (JoinSet::new(), None);
        if let Some(place) = admin::place(&state.start) {
            let bound = Admin::bind(&place).await;
            let bound = bound.map_err(|error| ServerError::Admin(place.to_string(), error))?;
            admin_addr = bound.local_addr();
            admin.spawn(bound.serve(state.clone()));
        }
        let listener = match state.start.server_reuseport {
            true => None,
            false => Some(open(&state).await?),
        };
        if let Some(site) = state.site.clone().filter(|site| site.development().is_some()) {
            tokio::spawn(keep_read(site, self.watched));
        }
        tokio::spawn(crate::log::write_counts());
        tokio::spawn(keep_loaded(state.clone()));
        tokio::spawn(Outlet::rest(state.outlet.stock().clone()));
        tokio::spawn(listen(state.clone()));
        Ok(Server { state, listener, admin, admin_addr })
    }
}
