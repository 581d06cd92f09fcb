//! The brain: a plan and past events in, the next events out. Never touches the outside world.
