//! A request to cancel a run: one that no process works on is prepared as for a resume, so that it can clean up.

use super::{Listener, RequestError, ResumeRequest, resume::open_error};
use crate::{
    machine::local::{GRACE, LocalMachine},
    runs::{CancelError, CancelRequest, Cancelled, Runs},
    store::cancel_request::CleanupChoice,
};

impl Runs {
    /// Stops a run, with its cleanup steps, and returns when all its processes have ended.
    pub fn cancel(
        &self,
        request: &CancelRequest,
        machine: &LocalMachine,
        listener: &mut dyn Listener,
    ) -> Result<Cancelled, RequestError> {
        let folder = self.find(&request.run)?;
        let cleans_up = match request.cleanup {
            CleanupChoice::Skipped => false,
            CleanupChoice::Wanted => {
                self.needs_cleanup(&folder).map_err(|error| open_error(&folder, error))?
            }
        };
        if !cleans_up {
            return self.end(request, GRACE).map_err(|error| match error {
                CancelError::Find(error) => error.into(),
                CancelError::Open(error) => open_error(&folder, error),
            });
        }
        let prepared = ResumeRequest { run: folder.id(), ..ResumeRequest::default() };
        self.with_ready(&prepared, machine, listener, |ready, listener| {
            let mut reporter = listener.reporter();
            Ok(self.stop_idle(ready.opened, ready.resume, request.origin.as_ref(), &mut *reporter)?)
        })
    }
}
