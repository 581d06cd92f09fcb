//! Keeping children away from the terminal: what asks there would be stopped by the kernel, for ever. Has the only
//! `unsafe` of the program.

use std::{os::unix::process::CommandExt, process::Command, sync::LazyLock};

use rustix::{
    fs::{Mode, OFlags},
    process::setsid,
};

/// Whether this process has a terminal that its children could ask at. It cannot get one later.
static HAS_TERMINAL: LazyLock<bool> = LazyLock::new(|| {
    rustix::fs::open("/dev/tty", OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).is_ok()
});

/// Gives a child a process group of its own, and where there is a terminal also a session, which has none. A session
/// costs a fork in the place of a `posix_spawn`, which is why the many runs without a terminal go without.
pub(super) fn set_apart(command: &mut Command) {
    if !*HAS_TERMINAL {
        command.process_group(0);
        return;
    }
    #[expect(unsafe_code, reason = "there is no other stable way to begin a session")]
    // SAFETY: between fork and exec only one system call is made, which allocates nothing and takes no lock
    unsafe {
        command.pre_exec(|| Ok(setsid().map(drop)?));
    }
}
