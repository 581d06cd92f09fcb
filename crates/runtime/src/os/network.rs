//! Leaving the network: this process and everything that it starts then reaches itself, and nothing else.
//!
//! Never changes the network of another process.

use std::io;

/// Leaves the network for good. Must be called while the process has one thread. After an error this
/// process must end: it may have left a part of its surroundings.
#[cfg(target_os = "linux")]
pub(crate) fn leave() -> io::Result<()> {
    use nix::sched::{CloneFlags, unshare};

    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    if unshare(CloneFlags::CLONE_NEWNET).is_err() {
        // ordinary users may have a network of their own inside a user namespace
        unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)?;
        std::fs::write("/proc/self/setgroups", "deny")?;
        std::fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        std::fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    }
    raise_loopback()
}

/// Elsewhere there is nothing like it.
#[cfg(not(target_os = "linux"))]
pub(crate) fn leave() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Makes `127.0.0.1` work in a new network, where it does not work yet.
#[cfg(target_os = "linux")]
fn raise_loopback() -> io::Result<()> {
    use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, recv, send, socket};

    const SET_LINK: u16 = 16;
    const REQUEST_AND_ACKNOWLEDGE: u16 = 1 | 4;
    const LOOPBACK: i32 = 1;
    const UP: u32 = 1;
    const ERROR: u16 = 2;
    let kernel = socket(AddressFamily::NETLINK, SocketType::RAW, None)?;
    let mut message = Vec::with_capacity(32);
    message.extend(32_u32.to_ne_bytes());
    message.extend(SET_LINK.to_ne_bytes());
    message.extend(REQUEST_AND_ACKNOWLEDGE.to_ne_bytes());
    // number of the request, sender; then family, type, interface, flags, which of them change
    message.extend([1_u32, 0, 0].map(u32::to_ne_bytes).concat());
    message.extend(LOOPBACK.to_ne_bytes());
    message.extend([UP, UP].map(u32::to_ne_bytes).concat());
    send(&kernel, &message, SendFlags::empty())?;
    let mut answer = [0; 256];
    let (length, _) = recv(&kernel, &mut answer, RecvFlags::empty())?;
    let number =
        |at: usize| answer[..length].get(at..at + 4).map(|bytes| [bytes[0], bytes[1], bytes[2], bytes[3]]);
    let kind = number(4).map(|bytes| u16::from_ne_bytes([bytes[0], bytes[1]]));
    match (kind, number(16).map(i32::from_ne_bytes)) {
        (Some(ERROR), Some(0)) => Ok(()),
        (Some(ERROR), Some(code)) => Err(io::Error::from_raw_os_error(-code)),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}
