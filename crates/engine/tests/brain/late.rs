//! Recipes whose names are templates: what is asked about each of them, and what a plan makes of the answer.

use engine::{
    Outcome, StepStatus,
    resume::{Blame, Entered, Late, Now, ResumePlan, late},
    run::event::Ended,
};
use recipe::plan::UnitId;

use crate::{
    folding::ended,
    planning::{Ask, USUAL, asked, asked_late, shown},
    run::{Run, parallel, plan},
};

const TEXT: &str = "name: top\ncontext: {which: leaf}\nsteps:\n- {id: n, recipe: '{{which}}'}\n\
                    - {id: m, recipe: mid}\n- {id: g, command: x}\n- {id: z, recipe: leaf}\n";
const CHILD: &str = "name: mid\nsteps:\n- {id: i, recipe: '{{which}}', context: {own: v}}\n---\n\
                     name: leaf\nsteps:\n- {id: k, command: x}\n";

fn done(run: &mut Run, path: &str) {
    run.finish(path, StepStatus::Completed, ended(Outcome::Ok));
}

/// A run that entered `leaf` twice by a name that was a template, and failed behind that.
fn failed() -> Run {
    let mut run = Run::new(TEXT, CHILD, parallel(4), &["g"]);
    for (path, unit) in [("n", "leaf"), ("m", "mid"), ("m/i", "leaf")] {
        run.begin(path, 1);
        run.enter(path, unit);
        if unit == "leaf" {
            let inner = format!("{path}/k");
            run.begin(&inner, 1);
            done(&mut run, &inner);
            done(&mut run, path);
        }
    }
    done(&mut run, "m");
    run.go();
    run
}

fn unit(run: &Run, name: &str) -> UnitId {
    let at = run.plan.units.iter().position(|unit| unit.name == name).unwrap();
    UnitId(u32::try_from(at).unwrap())
}

/// What is asked, as `path: recipe from file in path`, and what comes out.
fn looked(run: &Run, answer: Now) -> (Vec<String>, Late) {
    let mut said = Vec::new();
    let found = late(&run.state, &mut run.plan.clone(), &mut |_, entered: &Entered<'_>| {
        let Entered { path, unit, from, around, handed } = entered;
        let handed = handed.iter().map(|name| format!(" with {name}")).collect::<String>();
        said.push(format!("{path}: {} from {from} in {:?}{handed}", unit.name, around.path));
        answer
    });
    (said, found)
}

#[test]
fn every_such_recipe_is_asked_about() {
    let run = failed();
    let both = ["n: leaf from top in \"\"", "m/i: leaf from mid in \"m\" with own"];
    for answer in [Now::Gone, Now::Unknown, Now::Recipe(unit(&run, "leaf"))] {
        let (said, found) = looked(&run, answer);
        assert_eq!(said, both, "{answer:?}");
        let expected = [("m/i".to_owned(), answer), ("n".to_owned(), answer)];
        assert_eq!(found.into_iter().collect::<Vec<_>>(), expected);
    }
}

#[test]
fn what_it_runs_now_is_looked_into() {
    // `n` would run `mid` now, and has nothing of its `i`; in `k` of `leaf` is nothing to ask about
    let run = failed();
    assert_eq!(looked(&run, Now::Recipe(unit(&run, "mid"))).0.len(), 2);
    let mut run = Run::new(&TEXT.replace("which: leaf", "which: mid"), CHILD, parallel(4), &["n/i/k"]);
    run.begin("n", 1);
    run.enter("n", "mid");
    run.begin("n/i", 1);
    run.enter("n/i", "leaf");
    run.go();
    let (said, found) = looked(&run, Now::Recipe(unit(&run, "mid")));
    assert_eq!(said, ["n: mid from top in \"\"", "n/i: leaf from mid in \"n\" with own"]);
    assert!(found.contains_key("n/i"));
    assert_eq!(looked(&run, Now::Gone).0[0], said[0]);
    assert!(!looked(&run, Now::Gone).1.contains_key("n/i"));
}

fn reason<'a>(plan: &'a ResumePlan, path: &str) -> &'a str {
    &plan.steps.iter().find(|step| step.path == path).unwrap().reason
}

const OTHER: Ask = Ask { blame: Blame::Other, ..USUAL };

#[test]
fn a_recipe_that_is_gone_is_out_of_date() {
    let run = failed();
    let leaf = unit(&run, "leaf");
    for (now, expected, because) in [
        (Now::Recipe(leaf), "=n =n/k =m =m/i *g .z at g", "it is done"),
        (Now::Unknown, "=n =m =m/i *g .z at g", "it is done"),
        (Now::Gone, "*n *m *m/i *g .z at g", "its recipe is no longer found, or is invalid"),
    ] {
        let late = Late::from([("n".to_owned(), now)]);
        let plan = asked_late(&run, &run.plan, &late, &OTHER);
        assert_eq!((shown(&plan).as_str(), reason(&plan, "n")), (expected, because), "{now:?}");
    }
}

#[test]
fn a_recipe_that_nobody_knows_any_more_is_kept_with_what_it_left() {
    let mut run = failed();
    let end = Ended { left_running: true, ..ended(Outcome::Ok) };
    run.finish("n/k", StepStatus::Completed, end);
    let known = plan(TEXT, CHILD);
    assert_eq!(shown(&asked(&run, &known, &OTHER)), "*n =m =m/i *g .z at g");
    let without = plan(&TEXT.replace("- {id: z, recipe: leaf}\n", ""), CHILD);
    assert_eq!(shown(&asked(&run, &without, &OTHER)), "=n =m =m/i *g at g");
}
