//! Tests of the agent programs.
