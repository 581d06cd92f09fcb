//! Ids of runs: they contain the time of creation and sort by age.
//!
//! Never relies on the clock for the order: it may have been set back since the last run.

use engine::run::origin::{Origin, Surface};
use jiff::{SignedDuration, Timestamp, civil::DateTime, tz::TimeZone};

use super::Runs;
use crate::os::{clock, stage};

/// A new id: the time, so that ids sort by age, and some random letters that make it unique.
pub(crate) fn new_id() -> String {
    new_id_at(clock::now())
}

/// The origin of a request that is made now.
pub fn new_origin(surface: Surface, actor: Option<String>) -> Origin {
    Origin { surface, actor, request_id: new_id(), at: clock::now() }
}

fn new_id_at(now: Timestamp) -> String {
    #[cfg(test)]
    if crate::os::files::is_on() {
        return crate::simulation::new_id();
    }
    if let Some(letters) = stage::next_letters() {
        return format!("{}{letters}", now.strftime(STAMP));
    }
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let mut random = [0; 4];
    let filled = rustix::rand::getrandom(&mut random[..], rustix::rand::GetRandomFlags::empty()).unwrap_or(0);
    if filled < random.len() {
        let mix = clock::now().as_nanosecond() as u64 ^ u64::from(std::process::id()) << 32;
        random.copy_from_slice(&mix.to_le_bytes()[..4]);
    }
    let letters: String = random.iter().map(|byte| char::from(LETTERS[usize::from(*byte) % 32])).collect();
    format!("{}{letters}", now.strftime(STAMP))
}

impl Runs {
    /// The id of the next run. It sorts after all others, even if the clock was set back since they were made.
    pub(super) fn new_id(&self) -> String {
        let newest = self.ids().iter().find_map(|id| made_at(id));
        let next = newest.and_then(|at| at.checked_add(SignedDuration::from_millis(1)).ok());
        new_id_at(next.map_or_else(clock::now, |next| next.max(clock::now())))
    }
}

/// The time in an id.
const STAMP: &str = "%Y%m%d-%H%M%S-%3f";
/// Its length.
const STAMP_LENGTH: usize = 19;

/// When a run was made, according to its id.
fn made_at(id: &str) -> Option<Timestamp> {
    let (seconds, millis) = id.get(..STAMP_LENGTH)?.rsplit_once('-')?;
    let time = DateTime::strptime("%Y%m%d-%H%M%S", seconds).ok()?;
    let time = time.to_zoned(TimeZone::UTC).ok()?.timestamp();
    time.checked_add(SignedDuration::from_millis(millis.parse().ok()?)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_run_sorts_behind_every_other_whatever_the_clock_says() {
        for (known, is_ahead) in [
            (&[][..], false),
            (&["19700101-000000-000abcd"], false),
            (&["21000101-000000-000abcd"], true),
            (&["21000101-235959-999abcd", "20200101-000000-000abcd"], true),
            (&["99991231-235959-999abcd"], false),
            (&["zzz", "21000101", "21009901-000000-000abcd", "2100-101-000000-000abcd"], false),
            (&[".21000101-000000-000abcd"], false),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let runs = Runs::at(dir.path().to_owned());
            for id in known {
                std::fs::create_dir_all(runs.dir().join(id)).unwrap();
            }
            let id = runs.new_id();
            assert!(made_at(&id).is_some(), "{id}");
            assert_eq!(made_at(&id) > Some(clock::now()), is_ahead, "{known:?}: {id}");
            if is_ahead {
                assert!(known.iter().all(|other| *other < id.as_str()), "{known:?}: {id}");
            }
        }
    }
}
