//! Waiting between runs, and working for them, without being deaf to signals. Never ends a process itself.

use std::{future::Future, io, time::Duration};

use tokio::sync::watch;

use super::{Halt, signals::Signals};
use crate::attempt::Go;

/// Waits; says if it was told to stop before the time was over.
pub(crate) fn wait(time: Duration) -> io::Result<Option<Halt>> {
    listen(|mut go| async move {
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            () = crate::attempt::stopped(&mut go) => {}
        }
    })
    .map(|((), halt)| halt)
}

/// Does some work to its end; a signal closes the gate that the work listens to.
pub(crate) fn listen<W: Future>(
    work: impl FnOnce(watch::Receiver<Go>) -> W,
) -> io::Result<(W::Output, Option<Halt>)> {
    let event_loop = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    event_loop.block_on(async move {
        let mut signals = Signals::new()?;
        let (gate, go) = watch::channel(Go::On);
        let work = work(go);
        tokio::pin!(work);
        let mut told = None;
        loop {
            tokio::select! {
                done = &mut work => return Ok((done, told)),
                halt = signals.next() => {
                    told = told.or(Some(halt));
                    let _ = gate.send(Go::Stop);
                }
            }
        }
    })
}
