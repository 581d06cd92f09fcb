//! Keeping children away from the terminal: the kernel would stop a child that reads from it, for ever. Has the only
//! `unsafe` of the program.

use std::{os::unix::process::CommandExt, process::Command, sync::LazyLock};

use rustix::{
    fs::{Mode, OFlags},
    process::setsid,
};

/// Whether this process has a terminal that its children could read from. It cannot get one later.
static HAS_TERMINAL: LazyLock<bool> = LazyLock::new(|| {
    rustix::fs::open("/dev/tty", OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).is_ok()
});

/// Gives a child its own process group, and where there is a terminal also a session without one. A session costs a
/// fork instead of a `posix_spawn`, so it is made only where there is a terminal.
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
