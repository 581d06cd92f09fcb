//! Plans for recipes below recipes, and for runs that were resumed before and did not come to everything.

use engine::resume::{Blame, Effects};

use crate::{
    frames::{PAIR, PLAIN, Resume, resume},
    planning::{Ask, USUAL, asked, shown},
    run::{Run, parallel, plan},
};

const OTHER: Ask = Ask { blame: Blame::Other, ..USUAL };

const STEPS: &str =
    "- {id: a, command: x}\n- {id: n, recipe: leaf}\n- {id: y, command: x}\n- {id: z, command: x}\n";

fn top(steps: &str) -> String {
    format!("name: top\nsteps:\n{steps}")
}

fn ended(steps: &str, child: &'static str, fails: &[&'static str]) -> Run {
    let mut run = Run::new(&top(steps), child, parallel(4), fails);
    run.go();
    run
}

/// The plan, where it goes on, and what is said to be done again.
fn told(run: &Run, steps: &str, child: &'static str, ask: &Ask) -> String {
    let plan = asked(run, &plan(&top(steps), child), ask);
    format!("{}, {}: {}", shown(&plan), plan.goes_on_at.unwrap_or_default(), plan.rerun.join(" "))
}

#[test]
fn a_recipe_that_changed_is_entered_again() {
    let run = ended(STEPS, PAIR, &["z"]);
    let told = |steps: &str, child| told(&run, steps, child, &OTHER);
    assert_eq!(told(STEPS, PAIR), "=a =n =n/k =n/l =y *z at z, z: z");
    let first = "name: leaf\nsteps:\n- {id: k, command: y}\n- {id: l, command: x}\n";
    assert_eq!(told(STEPS, first), "=a *n *n/k *n/l *y *z at z, n/k: n n/k n/l y z");
    // what was done in it stays
    let more = "name: leaf\nsteps:\n- {id: k, command: x}\n- {id: l, command: x}\n- {id: m, command: 'echo {{a}}'}\n";
    assert_eq!(told(STEPS, more), "=a *n =n/k =n/l .n/m *y *z at z, n/m: n y z");
    let longer = format!("{STEPS}- {{id: end, command: x}}\n");
    assert_eq!(told(&longer, more), "=a *n =n/k =n/l .n/m *y *z .end at z, n/m: n y z");
    // all of it is done again where the step itself is
    let other = STEPS.replace("recipe: leaf", "recipe: leaf, context: {q: 1}");
    assert_eq!(told(&other, PAIR), "=a *n *n/k *n/l *y *z at z, n: n y z");
}

#[test]
fn a_default_counts_where_it_is_in_force() {
    const READS: &str = "name: leaf\ncontext: {own: o}\nsteps:\n- {id: k, command: 'echo {{own}}'}\n";
    const OTHERS: &str = "name: leaf\ncontext: {own: p}\nsteps:\n- {id: k, command: 'echo {{own}}'}\n";
    for (step, expected) in [
        ("{id: n, recipe: leaf}", "*n *n/k *z at z, n/k: n n/k z"),
        ("{id: n, recipe: leaf, context: {own: g}}", "*n =n/k *z at z, n: n z"),
    ] {
        let steps = format!("- {step}\n- {{id: z, command: x}}\n");
        assert_eq!(told(&ended(&steps, READS, &["z"]), &steps, OTHERS, &OTHER), expected);
    }
}

#[test]
fn work_goes_on_inside_of_a_recipe() {
    let run = ended(STEPS, PAIR, &["n/l"]);
    assert_eq!(told(&run, STEPS, PAIR, &OTHER), "=a *n =n/k *n/l .y .z at n/l, n/l: n n/l");
    let from = |from| Ask { from: Some(from), ..OTHER };
    let run = ended(STEPS, PAIR, &["z"]);
    assert_eq!(told(&run, STEPS, PAIR, &from("n/l")), "=a *n =n/k *n/l *y *z at n/l, n/l: n n/l y z");
    assert_eq!(told(&run, STEPS, PAIR, &from("n")), "=a *n *n/k *n/l *y *z at n, n: n y z");
}

#[test]
fn what_a_resume_took_over_can_be_done_again() {
    let mut run = ended(STEPS, PAIR, &["z"]);
    resume(&mut run, &Resume { again: &["z"], ..PLAIN });
    let from = |from| Ask { from: Some(from), ..OTHER };
    assert_eq!(told(&run, STEPS, PAIR, &OTHER), "=a =n =n/k =n/l =y *z at z, z: z");
    assert_eq!(told(&run, STEPS, PAIR, &from("n/l")), "=a *n =n/k *n/l *y *z at n/l, n/l: n n/l y z");
}

const DEEP: &str = "name: mid\nsteps:\n- {id: i, recipe: leaf}\n- {id: j, command: x}\n---\n\
                    name: leaf\nsteps:\n- {id: k, command: x}\n- {id: l, command: x}\n";
const DEEP_STEPS: &str =
    "- {id: a, command: x}\n- {id: m, recipe: mid}\n- {id: y, command: x}\n- {id: z, command: x}\n";

#[test]
fn what_a_resume_had_not_come_to_stands_as_it_was() {
    let from = |from| Ask { from: Some(from), ..OTHER };
    for again in ["a", "z"] {
        // with `a`, everything behind it was only kept; with `z`, it was taken over
        let mut run = ended(DEEP_STEPS, DEEP, &["z"]);
        resume(
            &mut run,
            &Resume { rerun: &["a"], again: if again == "a" { &["a"] } else { &["z"] }, ..PLAIN },
        );
        let ends = if again == "a" { ["*a", "*z"] } else { ["=a", "*z"] };
        let told = |ask: &Ask| {
            let plan = asked(&run, &plan(&top(DEEP_STEPS), DEEP), ask);
            let all = shown(&plan);
            let (steps, _) = all.split_once(" at ").unwrap();
            let inner = steps.strip_prefix(ends[0]).unwrap();
            inner.replace(" =z", "").replace(ends[1], "").replace(" .z", "").trim().to_owned()
        };
        assert_eq!(told(&OTHER), "=m =m/i =m/i/k =m/i/l =m/j =y", "{again}");
        assert_eq!(told(&from("m/i/l")), "*m *m/i =m/i/k *m/i/l *m/j *y", "{again}");
        assert_eq!(told(&from("m/j")), "*m =m/i =m/i/k =m/i/l *m/j *y", "{again}");
    }
}

#[test]
fn what_was_kept_of_an_unfinished_recipe_stands_too() {
    let mut run = ended(STEPS, PAIR, &["n/l"]);
    resume(&mut run, &Resume { rerun: &["a"], again: &["a"], ..PLAIN });
    assert_eq!(told(&run, STEPS, PAIR, &OTHER), "*a .n =n/k .n/l .y .z at a, a: a");
    let first = "name: leaf\nsteps:\n- {id: k, command: y}\n- {id: l, command: x}\n";
    assert_eq!(told(&run, STEPS, first, &OTHER), "*a *n *n/k .n/l .y .z at a, a: a n n/k");
}

#[test]
fn an_agent_in_a_recipe_is_spared_though_the_recipe_was_cut_off() {
    let child = "name: leaf\nsteps:\n- {id: j, command: x}\n- {id: k, prompt: x}\n- {id: l, command: x}\n";
    let mut run = ended(STEPS, child, &["n/l"]);
    resume(&mut run, &Resume { rerun: &["n/j"], again: &["n/j"], ..PLAIN });
    let edited = STEPS.replacen("command: x", "command: y", 1);
    let plan = asked(&run, &plan(&top(&edited), child), &OTHER);
    assert_eq!(shown(&plan), "*a *n *n/j =n/k .n/l .y .z at n/j");
}

#[test]
fn an_effect_is_not_repeated_unasked_though_a_resume_had_not_come_to_it() {
    let child = "name: leaf\nsteps:\n- {id: k, command: x, effects: [deploy]}\n";
    let other = STEPS.replace("recipe: leaf", "recipe: leaf, context: {q: 1}");
    for again in [&["a"], &["z"]] {
        let mut run = ended(STEPS, child, &["z"]);
        resume(&mut run, &Resume { rerun: &["a"], again, ..PLAIN });
        let blocked =
            |effects| asked(&run, &plan(&top(&other), child), &Ask { effects, ..OTHER }).blocked_effects;
        assert_eq!(blocked(Effects::Once), ["n"]);
        assert!(blocked(Effects::Again).is_empty());
    }
}

const TOLERANT: &str =
    "- {id: n, recipe: leaf, continue_on_error: true}\n- {id: y, command: x}\n- {id: z, command: x}\n";
const THREE: &str =
    "name: leaf\nsteps:\n- {id: j, command: x}\n- {id: k, command: x}\n- {id: l, command: x}\n";

#[test]
fn what_failed_in_a_recipe_that_has_its_result_stays_unless_it_is_asked_for() {
    let run = ended(TOLERANT, THREE, &["n/k", "z"]);
    let plan = |from| asked(&run, &run.plan, &Ask { from, ..OTHER });
    let kept = plan(None);
    assert_eq!(shown(&kept), "=n =n/j =n/k =n/l =y *z at z");
    let reasons: Vec<&str> = kept.steps[1..4].iter().map(|step| step.reason.as_str()).collect();
    let around = "the recipe around it has its result";
    assert_eq!(reasons, ["it is done", around, around]);
    let again = plan(Some("n/k"));
    assert_eq!(shown(&again), "*n =n/j *n/k .n/l *y *z at n/k");
    assert_eq!(
        (again.redo, again.steps[2].reason.as_str()),
        (vec!["n/k".to_owned(), "y".to_owned()], "asked for")
    );
}

#[test]
fn what_failed_is_not_given_up_though_it_is_asked_for() {
    let run = ended(STEPS, PAIR, &["n/k"]);
    for from in ["n/k", "n"] {
        let plan = asked(&run, &run.plan, &Ask { from: Some(from), ..OTHER });
        assert_eq!((shown(&plan), plan.redo.len()), (format!("=a *n *n/k .n/l .y .z at {from}"), 0));
    }
}

#[test]
fn a_tolerated_failure_stands_though_a_resume_had_not_come_to_it() {
    let steps =
        "- {id: a, command: x}\n- {id: b, command: x, continue_on_error: true}\n- {id: z, command: x}\n";
    let mut run = ended(steps, PAIR, &["b", "z"]);
    resume(&mut run, &Resume { rerun: &["a"], again: &["a"], ..PLAIN });
    assert_eq!(told(&run, steps, PAIR, &OTHER), "*a =b .z at a, a: a");
    assert_eq!(resume(&mut run, &PLAIN).1, "+a -a +z -z end");
}

#[test]
fn instances_that_are_kept_do_not_repeat_their_effects() {
    let text = |more: &str| {
        format!(
            "name: top\ninputs: [{{name: items, type: list, default: [p, q]}}, {{name: other, default: o}}]\nsteps:\n\
             - {{id: first, command: 'echo {{{{other}}}}'}}\n\
             - {{id: e, for_each: '{{{{items}}}}', keep_going: true, effects: [push], command: 'x {{{{item}}}} {more}'}}\n"
        )
    };
    let blocked = |more: &str, given| {
        let mut run = Run::new(&text(more), "", parallel(1), &["e[1]"]);
        run.go();
        asked(&run, &plan(&text(more), ""), &Ask { given, ..OTHER }).blocked_effects
    };
    assert!(blocked("", &[("items", "p,r")]).is_empty());
    // another input of the instances, or of a step that they read, changes: then a completed push would run again
    assert_eq!(blocked("{{other}}", &[("other", "n")]), ["e"]);
    assert_eq!(blocked("{{first}}", &[("other", "n")]), ["e"]);
}
