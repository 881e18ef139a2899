//! What the operating system tells the program, from its first moment on.
//!
//! SIGINT and SIGTERM stop the server in order once it serves; before that, and when told a second time, they end the
//! program at once. An embedded PostgreSQL stops by itself then (see `thalweg_embedded_postgres`).

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// The signals that the program listens to.
pub(crate) struct Signals {
    /// Whether somebody ends the program in order when told to.
    heard: Arc<AtomicBool>,
    stop: watch::Receiver<bool>,
}

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
        let (sender, stop) = watch::channel(false);
        let heard = Arc::new(AtomicBool::new(false));
        let told = told(interrupt?, terminate?, heard.clone(), sender);
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || runtime.block_on(told))?;
        Ok(Self { heard, stop })
    }

    /// Ready when the program is told to stop. From now on the first signal only does that.
    pub(crate) fn stop(&self) -> impl Future<Output = ()> + Send + use<> {
        self.heard.store(true, Ordering::SeqCst);
        let mut stop = self.stop.clone();
        async move {
            let _ = stop.wait_for(|stop| *stop).await;
        }
    }
}

type Told = (Signal, SignalKind);

async fn told(
    (mut interrupt, int): Told,
    (mut terminate, term): Told,
    heard: Arc<AtomicBool>,
    stop: watch::Sender<bool>,
) {
    loop {
        let kind = tokio::select! {
            _ = interrupt.recv() => int,
            _ = terminate.recv() => term,
        };
        if !heard.load(Ordering::SeqCst) || stop.send_replace(true) {
            std::process::exit(ENDED_BY_SIGNAL + kind.as_raw_value());
        }
    }
}
