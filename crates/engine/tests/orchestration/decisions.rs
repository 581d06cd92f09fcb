//! The decisions about whole runs: routes, failure modes, verdicts, rounds and terminal states.

use engine::{
    Outcome, StepStatus,
    failure::{AgentTrouble, Class, StepType},
    orchestration::*,
};
use recipe::value::Value;

fn repository() -> RepositoryFacts {
    RepositoryFacts { git: true, head: Some("a1".to_owned()), ..RepositoryFacts::default() }
}

fn answer(json: &str) -> Option<ClassificationAnswer> {
    ClassificationAnswer::read(&Value::from_json(json).ok()?)
}

const THREE: &str = r#"{"task_type":"dev","goal":"g","success_criteria":["c"],"publish":"pr","no_merge":false,
    "workstreams":[{"name":"a"},{"name":"b"},{"name":"c"}]}"#;

#[test]
fn a_route_follows_from_inputs_answer_and_repository() {
    let said = answer(THREE);
    let request = RouteRequest::new("Change everything");
    let decided = decide_route(&request, said.as_ref(), &repository(), Guard::Allowed);
    assert_eq!((decided.route.kind, decided.route.workstreams.len()), (RouteKind::Parallel, 3));
    assert_eq!(decided.classification.basis, Basis::Agent);
    assert_eq!(decided.route.publish, Publish::None, "the agent's word never raises it (O14)");
    let blocked = decide_route(&request, said.as_ref(), &repository(), Guard::Depth);
    assert_eq!((blocked.route.kind, blocked.route.workstreams.len()), (RouteKind::Single, 1));
    assert!(blocked.notes.iter().any(|note| note.contains("BLOCKED:depth")), "{:?}", blocked.notes);
    let without_git = decide_route(&request, said.as_ref(), &RepositoryFacts::default(), Guard::Allowed);
    assert_eq!(without_git.route.kind, RouteKind::Single);
    let forced = RouteRequest { force_single: true, ..request.clone() };
    assert_eq!(
        decide_route(&forced, said.as_ref(), &repository(), Guard::Allowed).route.kind,
        RouteKind::Single
    );
}

#[test]
fn without_an_answer_the_rules_decide() {
    let decide = |task: &str| decide_route(&RouteRequest::new(task), None, &repository(), Guard::Allowed);
    let question = decide("What is this?");
    assert_eq!((question.route.task_type, question.route.kind), (TaskType::Question, RouteKind::Answer));
    assert_eq!((question.classification.basis, question.notes.len()), (Basis::Rules, 0));
    assert_eq!(question.route.success_criteria, ["What is this?"]);
    assert_eq!(decide("Look at this").route.task_type, TaskType::Development);
    let asked = decide("Can you fix the parser bug?");
    assert_eq!(
        (asked.route.task_type, asked.classification.promoted_by.as_deref()),
        (TaskType::Development, Some("code"))
    );
    let given =
        RouteRequest { task_type: Some("ops".to_owned()), ..RouteRequest::new("Add tests and open a PR") };
    let given = decide_route(&given, None, &repository(), Guard::Allowed);
    assert_eq!(
        (given.route.task_type, given.route.kind),
        (TaskType::Operations, RouteKind::Operate),
        "never changed"
    );
    assert_eq!((given.classification.basis, given.route.publish), (Basis::Given, Publish::Pr));
}

#[test]
fn an_answer_needs_a_known_type_a_goal_and_a_criterion() {
    assert!(answer(r#"{"task_type":"props","goal":"g","success_criteria":["c"]}"#).is_none());
    assert!(answer(r#"{"task_type":"dev","success_criteria":["c"]}"#).is_none());
    assert!(answer(r#"{"task_type":"dev","goal":"g","success_criteria":[" "]}"#).is_none());
    let lowered =
        r#"{"task_type":"ops","goal":"g","success_criteria":["c"],"publish":"none","no_merge":true}"#;
    let request = RouteRequest::new("Open a PR with it");
    let route = decide_route(&request, answer(lowered).as_ref(), &repository(), Guard::Allowed).route;
    assert_eq!(
        (route.publish, route.no_merge, route.task_type),
        (Publish::None, true, TaskType::Development)
    );
}

fn leaf(step_type: StepType, class: Class, outcome: Outcome) -> LeafFailure {
    LeafFailure {
        step: "round[0]/x".to_owned(),
        step_type,
        recipe: "r".to_owned(),
        built_in: false,
        class,
        outcome,
        trouble: None,
        silent: false,
        nesting_refused: false,
        unusable: false,
        quote: "q".to_owned(),
    }
}

fn executed(state: Option<TerminalState>) -> Vec<Execution> {
    let (recipe, path) = ("r".to_owned(), "round[0]/execute".to_owned());
    vec![Execution { recipe, path, outcome: StepStatus::Failed, terminal_state: state }]
}

#[test]
fn the_first_mode_that_fits_counts() {
    let mode = |failure: LeafFailure| {
        let failure = Some(failure);
        failure_mode(&RoundFacts {
            executed: executed(None),
            any_step_ran: true,
            failure,
            ..RoundFacts::default()
        })
    };
    let bash = leaf(StepType::Bash, Class::Unknown, Outcome::Exit(1));
    let agent = leaf(StepType::Agent, Class::Unknown, Outcome::Exit(1));
    for (failure, expected) in [
        (LeafFailure { nesting_refused: true, ..bash.clone() }, FailureMode::RecursionLimit),
        (LeafFailure { class: Class::Credentials, ..agent.clone() }, FailureMode::Infrastructure),
        (LeafFailure { trouble: Some(AgentTrouble::Service), ..agent.clone() }, FailureMode::Infrastructure),
        (LeafFailure { unusable: true, ..bash.clone() }, FailureMode::Infrastructure),
        (leaf(StepType::Agent, Class::Timeout, Outcome::TimedOut(1.0)), FailureMode::AgentTimeout),
        (leaf(StepType::Agent, Class::AgentOpaque, Outcome::Idle(1.0)), FailureMode::AgentTimeout),
        (LeafFailure { silent: true, ..agent.clone() }, FailureMode::HollowSuccess),
        (bash.clone(), FailureMode::BashFailure),
        (leaf(StepType::Bash, Class::Timeout, Outcome::TimedOut(1.0)), FailureMode::BashFailure),
        (agent.clone(), FailureMode::RecipeFailure),
        (leaf(StepType::Recipe, Class::Structure, Outcome::Nested), FailureMode::RecipeFailure),
    ] {
        assert_eq!(mode(failure.clone()), Some(expected), "{failure:?}");
    }
    let own_end = |state| RoundFacts {
        executed: executed(Some(state)),
        any_step_ran: true,
        failure: Some(bash.clone()),
        ..RoundFacts::default()
    };
    assert_eq!(failure_mode(&own_end(TerminalState::FailedVerification)), None, "it is judged");
    assert_eq!(failure_mode(&own_end(TerminalState::FailedIncomplete)), Some(FailureMode::BashFailure));
    assert_eq!(failure_mode(&own_end(TerminalState::FailedPublish)), Some(FailureMode::Infrastructure));
    assert_eq!(failure_mode(&RoundFacts::default()), Some(FailureMode::RoutingGap));
    let blocked = RoundFacts { blocked_split: Some(Guard::Sessions), ..own_end(TerminalState::PrOpen) };
    assert_eq!(failure_mode(&blocked), Some(FailureMode::RecursionLimit));
}

#[test]
fn a_run_adapts_once() {
    let route = decide_route(&RouteRequest::new("Add tests"), None, &repository(), Guard::Allowed).route;
    let bash = leaf(StepType::Bash, Class::Unknown, Outcome::Exit(1));
    let adapt = |mode, failure: &LeafFailure| adaptation(mode, Some(failure), &route, Adapted::NotYet);
    let recipe = Some("default-workflow".to_owned());
    assert_eq!(adapt(FailureMode::BashFailure, &bash), Adaptation::Execute { recipe });
    let again = adaptation(FailureMode::BashFailure, Some(&bash), &route, Adapted::Before);
    assert!(matches!(again, Adaptation::Skipped(_)));
    let single = adaptation(FailureMode::RecursionLimit, None, &route, Adapted::Before);
    assert_eq!(single, Adaptation::Single, "it does not use up the one");
    assert_eq!(adapt(FailureMode::Infrastructure, &bash), Adaptation::Blocked);
    assert!(matches!(adapt(FailureMode::HollowSuccess, &bash), Adaptation::Skipped(_)));
    let budget = leaf(StepType::Recipe, Class::RetryExhausted, Outcome::Budget(Vec::new()));
    assert!(matches!(adapt(FailureMode::RecipeFailure, &budget), Adaptation::Skipped(_)));
    let structure =
        LeafFailure { built_in: true, ..leaf(StepType::Recipe, Class::Structure, Outcome::Nested) };
    assert!(matches!(adapt(FailureMode::RecipeFailure, &structure), Adaptation::Skipped(_)));
}

fn reflection(status: GoalStatus) -> Reflection {
    let (detail, criteria, missing) = ("d".to_owned(), Vec::new(), None);
    Reflection { status, detail, criteria, missing, by: JudgedBy::Agent }
}

fn changed() -> WorkEvidence {
    WorkEvidence { commits: vec!["c1".to_owned()], state_digest: "s1".to_owned(), ..WorkEvidence::default() }
}

fn judge<'a>(task_type: TaskType, reflection: &'a Reflection, evidence: &'a WorkEvidence) -> JudgeFacts<'a> {
    JudgeFacts {
        task_type,
        reflection: Some(reflection),
        hollow: false,
        has_result: false,
        evidence,
        terminal_states: &[],
        has_open_failure: false,
        workstreams: &[],
        publish: Publish::None,
        judge_changed: false,
    }
}

#[test]
fn facts_lower_a_verdict() {
    use GoalStatus::{Achieved, Answered, Hollow, NotAchieved, Partial, Unknown};
    let (achieved, work, none) = (reflection(Achieved), changed(), WorkEvidence::default());
    let development = judge(TaskType::Development, &achieved, &work);
    let status = |facts: &JudgeFacts<'_>| {
        let verdict = judge_round(facts);
        (verdict.status, verdict.capped_by)
    };
    assert_eq!(status(&development), (Achieved, vec![]));
    let idle = judge(TaskType::Development, &achieved, &none);
    assert_eq!(status(&idle), (NotAchieved, vec![Cap::NoChange]));
    let proven = JudgeFacts { terminal_states: &[TerminalState::AlreadyDone], ..idle.clone() };
    assert_eq!(status(&proven), (Achieved, vec![]));
    let checks = vec![CheckResult { command: "t".to_owned(), ..CheckResult::default() }];
    let failing = WorkEvidence { checks, ..changed() };
    assert_eq!(status(&judge(TaskType::Development, &achieved, &failing)), (Partial, vec![Cap::CheckFailed]));
    let broken = JudgeFacts { has_open_failure: true, ..development.clone() };
    assert_eq!(status(&broken), (Partial, vec![Cap::Failure]));
    let requested = JudgeFacts { terminal_states: &[TerminalState::ChangesRequested], ..development.clone() };
    assert_eq!(status(&requested), (Partial, vec![Cap::TerminalState]));
    let unpublished = JudgeFacts { publish: Publish::Pr, ..development.clone() };
    assert_eq!(status(&unpublished), (Partial, vec![Cap::NotPublished]));
    let missing = Reflection { missing: Some("docs".to_owned()), ..achieved.clone() };
    assert_eq!(status(&judge(TaskType::Development, &missing, &work)), (Partial, vec![Cap::Unmet]));
    let touched = JudgeFacts { judge_changed: true, ..development.clone() };
    assert_eq!(status(&touched), (Partial, vec![Cap::JudgeChanged]));
    assert_eq!(status(&judge(TaskType::Investigation, &achieved, &none)), (Partial, vec![Cap::NoFinding]));
    let lost = JudgeFacts { has_open_failure: true, ..judge(TaskType::Investigation, &achieved, &none) };
    assert_eq!(status(&lost), (NotAchieved, vec![Cap::Failure, Cap::NoFinding]));
    let (hollow, unknown) = (reflection(Hollow), reflection(Unknown));
    assert_eq!(status(&judge(TaskType::Development, &hollow, &work)).0, Partial);
    let concrete = JudgeFacts { has_result: true, ..judge(TaskType::Investigation, &hollow, &none) };
    assert_eq!(status(&concrete).0, NotAchieved);
    assert_eq!(status(&judge(TaskType::Development, &unknown, &work)).0, Partial);
    assert_eq!(status(&judge(TaskType::Development, &unknown, &none)).0, NotAchieved);
    let not_achieved = reflection(NotAchieved);
    assert_eq!(status(&judge(TaskType::Development, &not_achieved, &work)).0, NotAchieved, "never raised");
    assert_eq!(status(&judge(TaskType::Operations, &achieved, &none)).0, Answered);
    assert_eq!(status(&judge(TaskType::Operations, &achieved, &work)).0, Achieved);
    assert_eq!(status(&judge(TaskType::Question, &unknown, &none)).0, Answered);
    let silent = JudgeFacts { hollow: true, ..judge(TaskType::Question, &unknown, &none) };
    assert_eq!(status(&silent).0, Hollow);
}

fn round(number: u32, status: GoalStatus, digest: &str, detail: &str) -> Round {
    Round {
        round: number,
        executed: Vec::new(),
        evidence: WorkEvidence::default(),
        reflection: None,
        capped_by: Vec::new(),
        status,
        detail: detail.to_owned(),
        state_digest: digest.to_owned(),
        commit: Some(format!("c{number}")),
    }
}

#[test]
fn rounds_go_on_until_something_stops_them() {
    use GoalStatus::{Achieved, Hollow, NotAchieved, Partial};
    let limits = RoundLimits { max_rounds: 3, is_blocked: false, is_over_budget: false };
    let stop = |rounds: &[Round]| stop_after(rounds, limits);
    assert_eq!(stop(&[round(1, Partial, "a", "x")]), None);
    assert_eq!(stop(&[round(1, Hollow, "a", "x")]), None);
    assert_eq!(stop(&[round(1, Achieved, "a", "")]), Some(StopReason::Achieved));
    assert_eq!(
        stop(&[round(1, Partial, "a", "x"), round(2, Partial, "a", "x")]),
        Some(StopReason::NoProgress)
    );
    assert_eq!(stop(&[round(1, Partial, "a", "x"), round(2, Partial, "b", "x")]), None);
    assert_eq!(stop(&[round(1, Partial, "a", "x"), round(2, Partial, "a", "y")]), None);
    assert_eq!(
        stop(&[round(1, Hollow, "a", "x"), round(2, Hollow, "a", "x")]),
        Some(StopReason::HollowTwice)
    );
    assert_eq!(stop(&[round(3, NotAchieved, "a", "x")]), Some(StopReason::RoundsUsed));
    let first = [round(1, Partial, "a", "x")];
    assert_eq!(stop_after(&first, RoundLimits { is_blocked: true, ..limits }), Some(StopReason::Blocked));
    assert_eq!(stop_after(&first, RoundLimits { is_over_budget: true, ..limits }), Some(StopReason::Budget));
}

#[test]
fn the_final_status_is_the_best_of_the_final_state() {
    use GoalStatus::{NotAchieved, Partial, Unknown};
    let status = |rounds: &[Round]| {
        let found = final_status(TaskType::Development, rounds);
        (found.status, found.best_round.map(|best| best.round))
    };
    assert_eq!(status(&[]), (Unknown, None));
    assert_eq!(status(&[round(1, Partial, "a", ""), round(2, NotAchieved, "a", "")]), (Partial, None));
    assert_eq!(status(&[round(1, Partial, "a", ""), round(2, NotAchieved, "b", "")]), (NotAchieved, Some(1)));
    let findings = [round(1, Partial, "a", ""), round(2, NotAchieved, "b", "")];
    assert_eq!(final_status(TaskType::Investigation, &findings).status, Partial);
    assert!(is_accepted(GoalStatus::Answered, Accept::Achieved));
    assert!(!is_accepted(Partial, Accept::Achieved) && is_accepted(Partial, Accept::Partial));
    assert!(!is_accepted(Unknown, Accept::Partial) && !is_accepted(NotAchieved, Accept::Partial));
}

#[test]
fn a_workflow_ends_in_one_state() {
    let done = DevelopmentFacts {
        has_change: true,
        approved: true,
        checks: Checks::Pass,
        ..DevelopmentFacts::default()
    };
    let state = |facts, asked, done| development_end(facts, asked, done).terminal_state.as_str();
    let unpublished = |facts| state(facts, Publish::None, Publish::None);
    assert_eq!(unpublished(done), "IMPLEMENTED_VERIFIED");
    assert_eq!(unpublished(DevelopmentFacts { checks: Checks::None, ..done }), "IMPLEMENTED_REVIEWED");
    assert_eq!(unpublished(DevelopmentFacts { checks: Checks::Fail, ..done }), "FAILED_VERIFICATION");
    assert_eq!(unpublished(DevelopmentFacts { approved: false, ..done }), "CHANGES_REQUESTED");
    assert_eq!(unpublished(DevelopmentFacts { guard_failed: true, ..done }), "FAILED_GUARD");
    assert_eq!(unpublished(DevelopmentFacts { broke_off: true, ..done }), "FAILED_INCOMPLETE");
    assert_eq!(unpublished(DevelopmentFacts { workspace_failed: true, ..done }), "FAILED_WORKSPACE");
    assert_eq!(state(done, Publish::Pr, Publish::Pr), "PR_OPEN");
    assert_eq!(state(done, Publish::Push, Publish::Push), "PUSHED");
    assert_eq!(state(done, Publish::Pr, Publish::Push), "FAILED_PUBLISH");
    assert_eq!(state(DevelopmentFacts { merged: true, ..done }, Publish::Pr, Publish::Pr), "MERGED");
    let idle = DevelopmentFacts { checks: Checks::Pass, ..DevelopmentFacts::default() };
    assert_eq!(unpublished(idle), "FAILED_NO_CHANGES");
    assert_eq!(unpublished(DevelopmentFacts { proven_done: true, ..idle }), "ALREADY_DONE");
    assert_eq!(unpublished(DevelopmentFacts { has_report: true, ..idle }), "FAILED_NO_CHANGES");
    assert_eq!(
        unpublished(DevelopmentFacts { has_report: true, allow_no_op: true, ..idle }),
        "NO_CHANGE_NEEDED"
    );
    assert_eq!(
        unpublished(DevelopmentFacts { proven_done: true, checks: Checks::Fail, ..idle }),
        "FAILED_VERIFICATION"
    );
    let found = |findings, proven| investigation_end(findings, proven).terminal_state.as_str();
    assert_eq!((found(0, 0), found(2, 0), found(2, 1)), ("FAILED_NO_FINDINGS", "INCONCLUSIVE", "CONCLUDED"));
}

#[test]
fn the_object_and_its_closing_block_carry_the_result() {
    let decided = decide_route(&RouteRequest::new("Add tests"), None, &repository(), Guard::Allowed);
    let criteria =
        vec![ReflectedCriterion { criterion: "c".to_owned(), met: true, evidence: "e".to_owned() }];
    let first = Round {
        reflection: Some(Reflection { criteria, ..reflection(GoalStatus::Partial) }),
        ..round(1, GoalStatus::Partial, "a", "the docs are missing")
    };
    let result = Orchestration {
        schema_version: ORCHESTRATION_VERSION,
        task: "Add tests".to_owned(),
        task_type: Some(TaskType::Development),
        goal: "Add tests".to_owned(),
        success_criteria: vec!["c".to_owned()],
        classification: Some(Classification {
            said: Some("Operations".to_owned()),
            basis: Basis::Agent,
            promoted_by: Some("tests".to_owned()),
        }),
        route: Some(decided.route),
        goal_status: GoalStatus::Partial,
        detail: "the docs are missing".to_owned(),
        accepted: false,
        stop_reason: Some(StopReason::RoundsUsed),
        rounds: vec![first],
        best_round: None,
        failure_mode: None,
        failures: Vec::new(),
        recovery: vec![RecoveryEntry {
            round: 1,
            stage: RecoveryStage::Reflect { status: GoalStatus::Partial },
        }],
        workstreams: Vec::new(),
        ending: EndingFacts::default(),
    };
    let json = serde_json::to_value(&result).unwrap();
    assert_eq!(json["publish"]["asked"], "none");
    assert_eq!(json["recovery"][0]["stage"], "reflect");
    assert_eq!(json["rounds"][0]["reflection"]["by"], "agent");
    assert_eq!(serde_json::from_value::<Orchestration>(json).unwrap(), result);
    let facts =
        ClosingFacts { agent_calls: 1, resume_command: Some("go on".to_owned()), ..ClosingFacts::default() };
    assert_eq!(
        closing_block(&result, &facts),
        "PARTIAL after 1 round: 1 of 1 criteria met\n  \
           missing    the docs are missing\n  \
           task type  Development (the agent said Operations; the task asks for tests)\n  \
           cost       1 agent call; not published (not requested)\n  \
           continue   go on"
    );
}
