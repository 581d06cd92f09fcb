//! Which agents work again: those whose work a failed step checks, level by level, and never on a guess.

use std::sync::Arc;

use engine::{
    RunState,
    resume::{Blame, ResumePlan, Resumer, asks_an_agent},
};
use recipe::plan::StepKind;

use crate::{
    planning::{AGAIN, Ask, LINKED, USUAL, asked, shown},
    run::{LEAF, Run, parallel, plan},
};

const OTHER: Ask = Ask { blame: Blame::Other, ..USUAL };

fn automatic(level: usize) -> Ask {
    Ask { resumer: Resumer::Automatic { level }, ..OTHER }
}

fn planned(
    (before, child): (&str, &'static str),
    (after, child_after): (&str, &'static str),
    fails: &[&'static str],
    ask: &Ask,
) -> ResumePlan {
    let mut run = Run::new(&format!("name: top\n{before}"), child, parallel(4), fails);
    run.go();
    asked(&run, &plan(&format!("name: top\n{after}"), child_after), ask)
}

#[track_caller]
fn check(steps: &str, child: &'static str, fails: &[&'static str], ask: &Ask, expected: &str) {
    let all = format!("steps:\n{steps}");
    let plan = planned((&all, child), (&all, child), fails, ask);
    assert_eq!(format!("{}, kept {:?}", shown(&plan), plan.kept_producers), expected, "{steps}");
}

/// Commands alone, then an agent whose work is checked.
const PLAIN: &str = "name: leaf\nsteps:\n- {id: k, command: x}\n- {id: l, command: x}\n";
const WORK: &str = "name: leaf\nsteps:\n- {id: k, prompt: x}\n- {id: l, command: 'grep {{k}}'}\n";

#[test]
fn each_level_goes_one_agent_further_up() {
    let chain = "- {id: p, prompt: x}\n- {id: q, prompt: '{{p}}'}\n- {id: t, command: 'echo {{q}}'}\n\
                 - {id: check, command: 'grep {{q}} {{t}}'}\n";
    check(chain, LEAF, &["check"], &automatic(0), "=p *q *t *check at q, kept []");
    check(chain, LEAF, &["check"], &automatic(1), "*p *q *t *check at p, kept []");
    check(chain, LEAF, &["check"], &automatic(2), "=p =q =t *check at check, kept []");
    // out of the recipe, too
    let outside = "- {id: p, prompt: x}\n- {id: n, recipe: leaf, context: {a: '{{p}}'}}\n";
    check(outside, WORK, &["n/l"], &automatic(0), "=p *n *n/k *n/l at n/k, kept []");
    check(outside, WORK, &["n/l"], &automatic(1), "*p *n =n/k *n/l at p, kept []");
}

#[test]
fn a_value_is_a_reason_and_an_order_is_a_guess() {
    let person = USUAL;
    let direct = "- {id: ask, prompt: x}\n- {id: check, command: 'grep {{ask}}'}\n";
    check(direct, LEAF, &["check"], &person, "*ask *check at ask, kept []");
    let order = "- {id: ask, prompt: x}\n- {id: check, command: grep}\n";
    check(order, LEAF, &["check"], &person, "=ask *check at check, kept [\"ask\"]");
    check(order, LEAF, &["check"], &Ask { resumer: AGAIN, ..person }, "*ask *check at ask, kept []");
    // a value behind an order is a guess as well
    let far = "- {id: ask, prompt: x}\n- {id: s, command: 'echo {{ask}}'}\n- {id: check, command: grep}\n";
    check(far, LEAF, &["check"], &person, "=ask =s *check at check, kept [\"ask\"]");
    // of two ways, the one by value counts
    let both = "- {id: ask, prompt: x}\n- {id: u, command: x}\n- {id: s, command: 'echo {{ask}}'}\n\
                - {id: check, command: 'grep {{u}} {{s}}'}\n";
    check(both, LEAF, &["check"], &person, "*ask *u *s *check at ask, kept []");
}

#[test]
fn a_recipe_with_an_agent_makes_something_and_one_without_does_not() {
    let nested = "- {id: n, recipe: leaf}\n- {id: check, command: 'grep {{n}}'}\n";
    check(nested, WORK, &["check"], &automatic(0), "*n *n/k *n/l *check at n, kept []");
    check(nested, PLAIN, &["check"], &automatic(0), "=n =n/k =n/l *check at check, kept []");
    let deep = "name: mid\nsteps:\n- {id: i, recipe: leaf}\n---\nname: leaf\nsteps:\n- {id: k, prompt: x}\n";
    let nested = nested.replace("recipe: leaf", "recipe: mid");
    check(&nested, deep, &["check"], &automatic(0), "*n *n/i *n/i/k *check at n, kept []");
    // one that could not be entered is judged by what it would run, and one that nobody knows is suspected
    let tolerant = "- {id: n, recipe: leaf, condition: five.lower(), continue_on_error: true}\n\
                    - {id: check, command: 'grep {{n}}'}\n";
    let refused = |child| {
        let text = format!("context: {{five: 5}}\nsteps:\n{tolerant}");
        shown(&planned((&text, child), (&text, child), &["check"], &automatic(0)))
    };
    assert_eq!(refused(WORK), "*n *check at n");
    assert_eq!(refused(PLAIN), "=n *check at check");
    let dynamic = "- {id: n, recipe: '{{which}}'}\n- {id: check, command: 'grep {{n}}'}\n";
    let text = format!("context: {{which: leaf}}\nsteps:\n{dynamic}");
    let plan = planned((&text, PLAIN), (&text, PLAIN), &["check"], &automatic(0));
    assert_eq!(shown(&plan), "*n *check at n");
}

#[test]
fn only_an_agent_that_ran_works_again() {
    let tolerant =
        "- {id: ask, prompt: x, continue_on_error: true}\n- {id: check, command: 'grep {{ask}}'}\n";
    check(tolerant, LEAF, &["ask", "check"], &automatic(0), "*ask *check at ask, kept []");
    let skipped = "- {id: p, prompt: x}\n- {id: ask, prompt: '{{p}}', condition: 'false'}\n\
                   - {id: check, command: 'grep {{ask}} {{p}}'}\n";
    check(skipped, LEAF, &["check"], &automatic(0), "*p .ask *check at p, kept []");
    let before = "steps:\n- {id: make, prompt: x}\n- {id: check, command: y}\n";
    let after = before.replace("- {id: check", "- {id: fresh, prompt: z}\n- {id: check");
    let plan = planned((before, LEAF), (&after, LEAF), &["check"], &automatic(0));
    assert_eq!(shown(&plan), "*make .fresh *check at make");
}

const ORDER: &str = "steps:
- {id: a, command: x}
- {id: ask, prompt: p}
- {id: s, command: y}
- {id: t, command: 'echo {{ask}}'}
- {id: last, prompt: q}
";

#[test]
fn a_finished_agent_is_not_asked_again_over_mere_order() {
    let edited = ORDER.replace("command: x", "command: z");
    for (resumer, expected, kept) in [
        (LINKED, "*a =ask *s =t *last at last", vec!["ask".to_owned()]),
        (AGAIN, "*a *ask *s *t *last at last", vec![]),
        (Resumer::Automatic { level: 0 }, "*a *ask *s *t *last at last", vec![]),
    ] {
        let plan = planned((ORDER, LEAF), (&edited, LEAF), &["last"], &Ask { resumer, ..OTHER });
        assert_eq!((shown(&plan).as_str(), plan.kept_producers), (expected, kept));
    }
    // unless it was changed itself, or failed
    let own = edited.replace("prompt: p", "prompt: r");
    let plan = planned((ORDER, LEAF), (&own, LEAF), &["last"], &OTHER);
    assert_eq!((shown(&plan).as_str(), plan.kept_producers.len()), ("*a *ask *s *t *last at last", 0));
    let plan = planned((ORDER, LEAF), (&edited, LEAF), &["ask"], &OTHER);
    assert_eq!((shown(&plan).as_str(), plan.kept_producers.len()), ("*a *ask .s .t .last at ask", 0));
    // it is named once, and not at all if it works again for another reason
    let check = |text: &str| text.replace("{id: last, prompt: q}", "{id: last, command: 'grep {{t}}'}");
    for (blame, expected, kept) in [
        (Blame::Other, "*a =ask *s =t *last at last", vec!["ask".to_owned()]),
        (Blame::Work, "*a *ask *s *t *last at ask", vec![]),
    ] {
        let (before, after) = (check(ORDER), check(&edited));
        let plan = planned((&before, LEAF), (&after, LEAF), &["last"], &Ask { blame, ..USUAL });
        assert_eq!((shown(&plan).as_str(), plan.kept_producers), (expected, kept));
    }
}

#[test]
fn an_agent_is_asked_again_if_what_it_reads_comes_from_elsewhere() {
    let before = "context: {v: d}\nsteps:\n- {id: a, command: x, output: v}\n- {id: ask, prompt: '{{v}}'}\n- {id: last, prompt: q}\n";
    let after = before.replace("{id: a, command: x, output: v}", "{id: b, command: x}");
    let plan = planned((before, LEAF), (&after, LEAF), &["last"], &OTHER);
    assert_eq!((shown(&plan).as_str(), plan.kept_producers.len()), (".b *ask *last at last", 0));
    // also where a recipe below no longer writes it
    let writes = "name: leaf\nsteps:\n- {id: k, command: x, output: v}\n";
    let silent = "name: leaf\nsteps:\n- {id: k, command: x, output: w}\n";
    let text = before.replace("{id: a, command: x, output: v}", "{id: n, recipe: leaf}");
    let plan = planned((&text, writes), (&text, silent), &["last"], &OTHER);
    assert_eq!(shown(&plan), "*n *n/k *ask *last at last");
    // what stands before the one that wrote it never saw that
    let before = "context: {v: d}\nsteps:\n- {id: b, command: 'echo {{v}}'}\n- {id: a, command: x, output: v}\n- {id: last, prompt: q}\n";
    let after = before.replace("- {id: a, command: x, output: v}\n", "");
    let plan = planned((before, LEAF), (&after, LEAF), &["last"], &OTHER);
    assert_eq!(shown(&plan), "=b *last at last");
}

#[test]
fn an_agent_is_asked_by_its_step_and_by_a_recipe_that_has_one() {
    const AGENT: &str = "name: leaf\nsteps:\n- {id: k, prompt: q}\n";
    for (step, leaf, expected) in [
        ("prompt: q", LEAF, true),
        ("command: x", LEAF, false),
        ("recipe: leaf", LEAF, false),
        ("recipe: leaf", AGENT, true),
        ("recipe: '{{which}}'", LEAF, true),
    ] {
        let plan = plan(&format!("name: top\ncontext: {{which: leaf}}\nsteps:\n- {{id: s, {step}}}\n"), leaf);
        assert_eq!(asks_an_agent(&plan, &plan.root().steps[0]), expected, "{step}");
    }
}

#[test]
fn a_plan_says_whether_the_failed_step_has_producers_done_again() {
    let linked = "steps:\n- {id: ask, prompt: x}\n- {id: check, command: 'grep {{ask}}'}\n";
    let plain = "steps:\n- {id: a, command: x}\n- {id: check, command: 'grep {{a}}'}\n";
    for (text, ask, expected) in [
        (linked, USUAL, true),
        (linked, automatic(0), true),
        (linked, OTHER, false),
        (linked, automatic(1), false),
        (linked, Ask { from: Some("ask"), ..USUAL }, false),
        (plain, USUAL, false),
        (plain, automatic(0), false),
    ] {
        let plan = planned((text, LEAF), (text, LEAF), &["check"], &ask);
        assert_eq!(plan.takes_producers, expected, "{}", shown(&plan));
    }
}

#[test]
fn an_agent_whose_file_changed_works_again() {
    let text = "name: top\nsteps:\n- {id: ask, prompt: x}\n- {id: t, command: 'echo {{ask}}'}\n- {id: check, command: y}\n";
    let filed = |file: Option<&str>| {
        let mut plan = plan(text, LEAF);
        let step = Arc::make_mut(&mut Arc::make_mut(&mut plan.units[0]).steps[0]);
        if let StepKind::Agent(agent) = &mut step.kind {
            agent.system_prompt = file.map(Arc::from);
        }
        plan
    };
    for (before, now, is_changed) in [
        (None, None, false),
        // a run that did not keep the file knows nothing of it
        (None, Some("new"), false),
        (Some("old"), Some("old"), false),
        (Some("old"), Some("new"), true),
        (Some("old"), None, true),
    ] {
        let mut run = Run::new(text, LEAF, parallel(4), &["check"]);
        run.plan = filed(before);
        run.state = RunState::new(&run.plan, parallel(4));
        run.go();
        let plan = asked(&run, &filed(now), &OTHER);
        let (shows, reason) = match is_changed {
            true => ("*ask *t *check at check", "the file of its agent changed"),
            false => ("=ask =t *check at check", "it is done"),
        };
        assert_eq!(
            (shown(&plan).as_str(), plan.steps[0].reason.as_str()),
            (shows, reason),
            "{before:?} {now:?}"
        );
    }
}
