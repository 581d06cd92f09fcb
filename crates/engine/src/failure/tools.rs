//! Tables that distinguish a tool's own lines from lines about what it checks, and from its verdict.

/// Beginnings of lines that a tool prints about itself.
pub(super) const TOOL_LINES: &[&str] = &[
    "fatal:",
    "npm err",
    "npm error",
    "err_pnpm",
    "curl:",
    "wget:",
    "ssh:",
    "docker:",
    "gh:",
    "go:",
    "bash:",
    "sh:",
    "/bin/sh:",
    "/bin/bash:",
    "/usr/bin/bash:",
    "make:",
    "e:",
    "err:",
    "warning: spurious network error",
    "[error] failed to execute goal on project",
    "error: failed to get",
    "error: failed to download",
    "error: failed to fetch",
    "error: failed to write",
    "> could not get",
    "> could not resolve",
    "error: linker",
    "/usr/bin/env:",
    "psql:",
    "error response from daemon",
    "cannot connect to the docker daemon",
    "git:",
    "<--- last few gcs",
    "fatal error: reached heap limit",
    "exception in thread \"main\" java.lang.outofmemoryerror",
    "error: unable to write file",
    "c++: fatal error: killed",
    "g++: fatal error: killed",
    "collect2: fatal error",
    "pytest: error",
    "error an unexpected error",
    "sudo:",
    "error: could not find",
    "cp:",
    "tar:",
    "the connection to the server",
    "unable to connect to the server",
    "error during connect",
];

/// Words for counted failures.
pub(super) const FAILURES: &[&str] = &["failed", "failing", "failure", "failures", "error", "errors"];

/// Signs that a check did its work and gave its verdict.
pub(super) const VERDICTS: &[&str] = &[
    "test result: failed",
    "1 failed",
    "2 failed",
    "failed,",
    "failures:",
    "--- fail:",
    "assertionerror",
    "tests:",
    "failing",
    "not ok",
    "error[e",
    "error ts",
    "tests run:",
    "failures!",
    "1 failure",
    "failures",
    "examples,",
    "the following tests failed",
    "test suite failed to run",
    "failed tests",
    "problem (",
    "problems (",
    "assertionfailederror",
    "fail src",
    "failed!",
    "error collecting",
    "expect(received)",
    "did not match",
    "asserterror",
];

/// Checks that print only the content of files, and nothing about themselves.
pub(super) const COMPARISONS: &[&str] =
    &["grep", "egrep", "fgrep", "rg", "zgrep", "diff", "cmp", "test", "[", "[[", "jq", "git"];

/// Beginnings of lines that report the result of one test.
pub(super) const TEST_LINES: &[&str] =
    &["✓", "✔", "√", "ok ", "not ok ", "--- pass", "--- fail", "--- skip", "pass ", "pass:"];

/// Endings of such lines.
pub(super) const TEST_ENDS: &[&str] = &[" ok", " passed", " pass", "... failed", "... ignored"];
