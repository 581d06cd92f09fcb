//! What agents changed is staged, and nothing that is private.

use testkit::TestEnv;

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

#[test]
fn a_state_directory_with_files_of_others_hides_only_what_is_stored() {
    for ignored in ["", "target\n"] {
        let env = env().agent("claude", "echo made > made.txt; result ok");
        env.write(
            "r.yaml",
            "name: r\ncontext: {api_key: very-secret-1}\nsteps: [{id: a, prompt: '{{api_key}}'}]\n",
        );
        assert_eq!(env.shell("git init -q .").code, 0);
        if !ignored.is_empty() {
            env.write(".gitignore", ignored);
        }
        assert_eq!(env.run(["r.yaml", "--state-dir", "."]).code, 0);
        let listed = env.shell("git diff --cached --name-only").stdout;
        assert!(listed.contains("made.txt") && listed.contains("r.yaml"), "{listed}");
        assert!(!listed.contains("runs/") && !listed.contains("workspaces/"), "{listed}");
    }
}
