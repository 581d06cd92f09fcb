//! The door: arguments in, reports and exit codes out.

fn main() {}
