//! The signal by which another process asks the owner of a run to look into its inbox.

use std::sync::Once;

use tokio::signal::unix::{SignalKind, signal};

/// Keeps that signal from ending this process. The owner of a run may get it at any time: also before it drives the run,
/// and after that.
pub(crate) fn survive_requests() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // a thread of its own: this one may be inside an event loop
        let installing = std::thread::spawn(|| {
            let event_loop = tokio::runtime::Builder::new_current_thread().enable_all().build();
            if let Ok(event_loop) = event_loop {
                let _entered = event_loop.enter();
                drop(signal(SignalKind::user_defined1()));
            }
        });
        let _ = installing.join();
    });
}
