//! Environment names of context values: `RECIPE_VAR_<name>` and the uppercase alias.
//!
//! Never lets an alias touch a name that changes how programs run.

/// Prefix of the exact names.
pub const PREFIX: &str = "RECIPE_VAR_";

/// Names that an alias never sets.
const PROTECTED: &[&str] = &[
    "PATH",
    "HOME",
    "SHELL",
    "USER",
    "LOGNAME",
    "PWD",
    "OLDPWD",
    "IFS",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "PS1",
    "PS2",
    "PS3",
    "PS4",
    "PROMPT_COMMAND",
    "GLIBC_TUNABLES",
    "NODE_OPTIONS",
    "PERL5OPT",
    "RUBYOPT",
    "TERM",
    "TMPDIR",
    "LANG",
    "EDITOR",
    "VISUAL",
    "DISPLAY",
    "HOSTNAME",
    "MAIL",
    "NONINTERACTIVE",
    "DEBIAN_FRONTEND",
    "CI",
    "PAGER",
    "CLAUDECODE",
    "UID",
    "EUID",
    "PPID",
    "CDPATH",
    "GLOBIGNORE",
    "FIGNORE",
    "EXECIGNORE",
];

/// Beginnings of names that an alias never sets.
const PROTECTED_PREFIXES: &[&str] =
    &["BASH_", "LD_", "DYLD_", "PYTHON", "GIT_", "LC_", "RECIPE_", "AMPLIHACK_", "BASH_FUNC_"];

/// The exact name of a context value: dots become `__`, hyphens `_`. `None` if the name has characters that no
/// environment name can have.
pub fn variable(name: &str) -> Option<String> {
    let mut out = PREFIX.to_owned();
    push_name(name, "__", &mut out).then_some(out)
}

/// The uppercase alias of a context value: dots and hyphens become `_`. `None` if it is protected, starts with
/// a digit, or has characters that no environment name can have.
pub fn alias(name: &str) -> Option<String> {
    let mut out = String::new();
    if name.starts_with(|c: char| c.is_ascii_digit()) || !push_name(name, "_", &mut out) {
        return None;
    }
    out.make_ascii_uppercase();
    (!is_protected(&out)).then_some(out)
}

/// Whether an alias may not set this name.
pub fn is_protected(name: &str) -> bool {
    PROTECTED.contains(&name) || PROTECTED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

fn push_name(name: &str, dot: &str, out: &mut String) -> bool {
    for c in name.chars() {
        match c {
            '.' => out.push_str(dot),
            '-' => out.push('_'),
            c if c.is_ascii_alphanumeric() || c == '_' => out.push(c),
            _ => return false,
        }
    }
    !name.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_environment_names() {
        for (name, exact, upper) in [
            ("task", Some("RECIPE_VAR_task"), Some("TASK")),
            ("my-var", Some("RECIPE_VAR_my_var"), Some("MY_VAR")),
            (
                "worktree_setup.worktree_path",
                Some("RECIPE_VAR_worktree_setup__worktree_path"),
                Some("WORKTREE_SETUP_WORKTREE_PATH"),
            ),
            ("2fast", Some("RECIPE_VAR_2fast"), None),
            ("bash_env", Some("RECIPE_VAR_bash_env"), None),
            ("path", Some("RECIPE_VAR_path"), None),
            ("ld_preload", Some("RECIPE_VAR_ld_preload"), None),
            ("python_path", Some("RECIPE_VAR_python_path"), None),
            ("recipe_var_x", Some("RECIPE_VAR_recipe_var_x"), None),
            ("git-dir", Some("RECIPE_VAR_git_dir"), None),
            ("with space", None, None),
            ("ü", None, None),
            ("", None, None),
        ] {
            assert_eq!(variable(name).as_deref(), exact, "{name}");
            assert_eq!(alias(name).as_deref(), upper, "{name}");
        }
    }

    #[test]
    fn names_that_change_how_programs_run_have_no_alias() {
        let names = "path home shell user logname pwd oldpwd ifs env bash_env bash_anything shellopts bashopts ps1 ps2 ps3 ps4 \
            prompt_command ld_preload dyld_x glibc_tunables pythonpath python_x node_options perl5opt rubyopt git_dir term \
            tmpdir lang lc_all editor visual display hostname mail recipe_var_x recipe_context_file amplihack_tree_id \
            noninteractive debian_frontend ci pager claudecode";
        for name in names.split_whitespace() {
            assert_eq!(alias(name), None, "{name}");
            assert_eq!(alias(&name.replace('_', "-")), None, "{name}");
        }
        for name in ["paths", "my_path", "gitdir", "terms", "shells", "language"] {
            assert_eq!(alias(name), Some(name.to_uppercase()), "{name}");
        }
    }
}
