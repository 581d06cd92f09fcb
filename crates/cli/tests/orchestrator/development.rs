//! Development: branches, checks, reviews, verdicts and rounds.

use crate::world::{asked, branches, checkout, parts, shell, task_ends, world};

const PARTIAL: &str = "reflect() { echo 'PARTIAL -- docs missing'; }";

// 8
#[test]
fn a_clean_change_is_one_commit_on_one_branch() {
    let env = world("");
    let before = checkout(&env);
    let told = task_ends(&env, &["Add a new file"], 0);
    assert_eq!((&told["goal_status"], &told["stop_reason"]), (&"ACHIEVED".into(), &"achieved".into()));
    assert_eq!(parts(&env), ["classify", "understand", "plan", "implement", "review", "reflect"]);
    assert_eq!(branches(&env), ["feat/add-a-new-file"]);
    assert_eq!(shell(&env, "git -C repo log --format=%s main..feat/add-a-new-file"), "Add a new file");
    assert_eq!(told["workstreams"][0]["commits"].as_array().unwrap().len(), 1);
    assert_eq!(told["workstreams"][0]["terminal_state"], "IMPLEMENTED_REVIEWED");
    assert_eq!(checkout(&env), before);
    assert!(env.path("repo.worktrees/feat/add-a-new-file/new.txt").exists());
}

// 6, 9
#[test]
fn without_a_change_nothing_is_achieved() {
    let idle = world("implement() { echo 'Done. Everything works.'; }");
    let told = task_ends(&idle, &["--rounds", "1", "Add a new file"], 1);
    assert_eq!(told["goal_status"], "NOT_ACHIEVED", "{told}");
    assert!(told["rounds"][0]["capped_by"].to_string().contains("no_change"), "{told}");
    let no = "echo 'I cannot access the repository.'";
    let hollow = world(&format!(
        "understand() {{ {no}; }}\nplan() {{ {no}; }}\nimplement() {{ {no}; }}\nreview() {{ {no}; }}"
    ));
    let told = task_ends(&hollow, &["Add a new file"], 1);
    assert_eq!(
        (&told["goal_status"], &told["stop_reason"]),
        (&"HOLLOW".into(), &"hollow_twice".into()),
        "{told}"
    );
    assert_eq!(told["rounds"].as_array().unwrap().len(), 2);
    assert_eq!(told["failures"][0]["mode"], "hollow_success");
    let worked = world(&format!("implement() {{ echo new > new.txt; {no}; }}"));
    assert_eq!(task_ends(&worked, &["Add a new file"], 0)["goal_status"], "ACHIEVED");
}

// 10
#[test]
fn facts_lower_a_verdict_and_never_raise_it() {
    let env = world("");
    let told = task_ends(&env, &["--rounds", "1", "--verify", "test -e missing", "Add a new file"], 1);
    assert_eq!(told["goal_status"], "PARTIAL", "{told}");
    assert!(told["rounds"][0]["capped_by"].to_string().contains("check_failed"), "{told}");
    assert_eq!((asked(&env, "fix"), asked(&env, "review")), (2, 0));
    let hollow = world("reflect() { echo 'GOAL_STATUS: HOLLOW -- nothing'; }");
    assert_eq!(task_ends(&hollow, &["--rounds", "1", "Add a new file"], 1)["goal_status"], "PARTIAL");
}

// 11
#[test]
fn a_verdict_without_a_status_is_asked_for_once_more() {
    let env = world("reflect() { echo 'It looks nice.'; }");
    let told = task_ends(&env, &["--rounds", "1", "Add a new file"], 1);
    assert_eq!(asked(&env, "reflect"), 2);
    assert_eq!(told["rounds"][0]["reflection"]["status"], "UNKNOWN");
    assert_eq!(told["goal_status"], "PARTIAL");
}

// 7, 12
#[test]
fn a_second_round_gets_what_is_missing() {
    let env = world(&format!(
        "{PARTIAL}\nif [ -e \"$HOME/second\" ]; then reflect() {{ echo ACHIEVED; }}; fi\n\
         implement() {{ if [ -e new.txt ]; then touch \"$HOME/second\"; fi; echo new >> new.txt; echo done; }}"
    ));
    let told = task_ends(&env, &["Add a new file"], 0);
    assert_eq!(told["rounds"].as_array().unwrap().len(), 2, "{told}");
    let prompts = shell(
        &env,
        "grep -l 'Carry out this task' ~/asked-* | wc -l; grep -l 'docs missing' ~/asked-* | wc -l",
    );
    assert!(prompts.starts_with('2') && !prompts.ends_with("\n0"), "{prompts}");
    assert_eq!(shell(&env, "git -C repo rev-list --count main..feat/add-a-new-file"), "2");
    assert_eq!((asked(&env, "understand"), asked(&env, "plan")), (1, 1));
}

// 13, 15
#[test]
fn rounds_end() {
    let env = world(PARTIAL);
    let told = task_ends(&env, &["Add a new file"], 1);
    assert_eq!(
        (told["rounds"].as_array().unwrap().len(), &told["stop_reason"]),
        (3, &"rounds_used".into()),
        "{told}"
    );
    let one = task_ends(&world(PARTIAL), &["--rounds", "1", "--accept-partial", "Add a new file"], 0);
    assert_eq!((&one["goal_status"], one["rounds"].as_array().unwrap().len()), (&"PARTIAL".into(), 1));
    let stuck = world(&format!(
        "{PARTIAL}\nimplement() {{ if [ ! -e new.txt ]; then echo new > new.txt; fi; echo done; }}"
    ));
    let told = task_ends(&stuck, &["Add a new file"], 1);
    assert_eq!(
        (&told["goal_status"], &told["stop_reason"]),
        (&"PARTIAL".into(), &"no_progress".into()),
        "{told}"
    );
    assert_eq!(told["rounds"].as_array().unwrap().len(), 2);
}

// 14
#[test]
fn a_hollow_round_is_followed_by_one_that_counts() {
    let no = "echo 'I cannot access the repository.'";
    let env = world(&format!(
        "if [ ! -e \"$HOME/seen\" ]; then understand() {{ {no}; }}; plan() {{ {no}; }}; review() {{ {no}; }}; fi\n\
         implement() {{ if grep -q 'It has:' <<<\"$P\"; then touch \"$HOME/seen\"; echo new > new.txt; echo done; else {no}; fi; }}"
    ));
    let told = task_ends(&env, &["Add a new file"], 0);
    assert_eq!(
        (&told["rounds"][0]["status"], &told["goal_status"]),
        (&"HOLLOW".into(), &"ACHIEVED".into()),
        "{told}"
    );
    assert_eq!(told["failures"][0]["mode"], "hollow_success");
}

// 38
#[test]
fn a_reviewer_that_objects_is_heard() {
    let object = |verdict: &str| {
        format!(
            "review() {{ if grep -q fixed new.txt; then echo '{{\"verdict\":\"approve\",\"findings\":[]}}'; else \
             echo '{{\"verdict\":\"{verdict}\",\"findings\":[{{\"severity\":\"must\",\"file\":\"new.txt\",\"line\":1,\"problem\":\"too new\"}}]}}'; fi; }}"
        )
    };
    for verdict in ["changes", "approve"] {
        let env = world(&object(verdict));
        task_ends(&env, &["Add a new file"], 0);
        assert_eq!((asked(&env, "review"), asked(&env, "fix")), (2, 1), "{verdict}");
        assert!(shell(&env, "cat ~/asked-*").contains("too new"));
    }
    let meddling =
        world("review() { echo meddled >> new.txt; echo '{\"verdict\":\"approve\",\"findings\":[]}'; }");
    let told = task_ends(&meddling, &["--rounds", "1", "Add a new file"], 1);
    assert_eq!(told["workstreams"][0]["terminal_state"], "CHANGES_REQUESTED");
}

// 39
#[test]
fn unwanted_files_are_not_committed() {
    let stubborn = world("implement() { echo SECRET=1 > .env; echo new > new.txt; echo done; }");
    let told = task_ends(&stubborn, &["--rounds", "1", "Add a new file"], 1);
    assert_eq!(told["workstreams"][0]["terminal_state"], "FAILED_GUARD", "{told}");
    assert_eq!(shell(&stubborn, "git -C repo rev-list --count main..feat/add-a-new-file"), "0");
    let docile = world(
        "implement() { head -c 6291456 /dev/zero > big; echo new > new.txt; echo done; }\nfix() { rm -f big; echo fixed; }",
    );
    task_ends(&docile, &["Add a new file"], 0);
    assert!(shell(&docile, "cat ~/asked-*").contains("more than 5"));
    assert_eq!(shell(&docile, "git -C repo diff --name-only main feat/add-a-new-file"), "new.txt");
}

// 40
#[test]
fn a_check_that_failed_before_is_told_and_not_forgiven() {
    let env = world("");
    let told = task_ends(&env, &["--rounds", "1", "--verify", "grep two file", "Add a new file"], 1);
    assert_eq!(told["goal_status"], "PARTIAL");
    assert_eq!(told["rounds"][0]["evidence"]["checks"][0]["preexisting"], true, "{told}");
}

// 41
#[test]
fn already_done_needs_places_that_exist() {
    let done = |place: &str| {
        let criteria = format!(
            "[{{\"criterion\":\"c\",\"done\":true,\"evidence\":[{{\"path\":\"{place}\",\"line\":1}}]}}]"
        );
        format!(
            "understand() {{ echo '{{\"summary\":\"s\",\"places\":[],\"criteria\":{criteria}}}'; }}\n\
             implement() {{ echo 'It is done already.'; }}\n\
             review() {{ echo '{{\"verdict\":\"approve\",\"findings\":[],\"criteria\":{criteria}}}'; }}"
        )
    };
    let told = task_ends(&world(&done("file")), &["Add a file"], 0);
    assert_eq!(told["workstreams"][0]["terminal_state"], "ALREADY_DONE");
    let told = task_ends(&world(&done("invented")), &["--rounds", "1", "Add a file"], 1);
    assert_eq!(told["workstreams"][0]["terminal_state"], "FAILED_NO_CHANGES");
}
