//! What the operating system tells the program, from its first moment on.
//!
//! SIGINT and SIGTERM stop the server in order once it serves; before that, and when told a second time, they end the
//! program at once. An embedded PostgreSQL stops by itself then (see `thalweg_embedded_postgres`).

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// The signals that the program listens to.
pub(crate) struct Signals {
    /// Whether somebody ends the program in order when told to.
    heard: Arc<AtomicBool>,
    /// How often the program has been told to stop.
    told: watch::Receiver<u8>,
}

/// How long connections may take to be reset before the program ends at once, so that nobody takes what broke off for whole.
const RESET_TIME_MAX: Duration = Duration::from_millis(200);

/// How a program ends that a signal has ended, as shells count it.
const ENDED_BY_SIGNAL: i32 = 128;

impl Signals {
    /// Listens on a thread of its own, which nothing that the program does can hold up.
    pub(crate) fn listen() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let entered = runtime.enter();
        let kinds = [SignalKind::interrupt(), SignalKind::terminate()];
        let [interrupt, terminate] = kinds.map(|kind| Ok::<_, io::Error>((signal(kind)?, kind)));
        // The server follows these. Until it does they would end the process, which nobody means by them.
        drop((signal(SignalKind::user_defined1())?, signal(SignalKind::user_defined2())?));
        drop(entered);
        let (sender, times) = watch::channel(0);
        let heard = Arc::new(AtomicBool::new(false));
        let told = told(interrupt?, terminate?, heard.clone(), sender);
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || runtime.block_on(told))?;
        Ok(Self { heard, told: times })
    }

    /// Ready when the program is told to stop. From now on the first signal only does that.
    pub(crate) fn stop(&self) -> impl Future<Output = ()> + Send + use<> {
        self.heard.store(true, Ordering::SeqCst);
        self.told(1)
    }

    /// Ready when the program is told to stop a second time. It ends very soon then.
    pub(crate) fn end(&self) -> impl Future<Output = ()> + Send + use<> {
        self.told(2)
    }

    fn told(&self, times: u8) -> impl Future<Output = ()> + Send + use<> {
        let mut told = self.told.clone();
        async move {
            let _ = told.wait_for(|told| *told >= times).await;
        }
    }
}

type Told = (Signal, SignalKind);

async fn told(
    (mut interrupt, int): Told,
    (mut terminate, term): Told,
    heard: Arc<AtomicBool>,
    times: watch::Sender<u8>,
) {
    loop {
        let kind = tokio::select! {
            _ = interrupt.recv() => int,
            _ = terminate.recv() => term,
        };
        let is_heard = heard.load(Ordering::SeqCst);
        if is_heard && times.send_replace(1) == 0 {
            continue;
        }
        if is_heard {
            times.send_replace(2);
            std::thread::sleep(RESET_TIME_MAX);
        }
        std::process::exit(ENDED_BY_SIGNAL + kind.as_raw_value());
    }
}
