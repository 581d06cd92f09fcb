//! Steps of one parallel group that failed beside each other: each has its own producers, and its own diagnosis.

use engine::resume::Resumer;

use crate::{
    planning::{AGAIN, Ask, USUAL, asked, shown},
    run::{LEAF, Run, parallel, plan},
};

const AUTOMATIC: Ask = automatic(0);
/// An agent whose work is checked.
const WORK: &str = "name: leaf\nsteps:\n- {id: k, prompt: x}\n- {id: l, command: 'grep {{k}}'}\n";

const fn automatic(level: usize) -> Ask {
    Ask { resumer: Resumer::Automatic { level }, unblaming: &["g", "h", "s/l", "s1/l", "s2/l"], ..USUAL }
}

#[track_caller]
fn check_edited(
    (before, after): (&str, &str),
    child: &'static str,
    fails: &[&'static str],
    ask: &Ask,
    expected: &str,
) {
    let mut run = Run::new(&format!("name: top\nsteps:\n{before}"), child, parallel(4), fails);
    run.go();
    let made = asked(&run, &plan(&format!("name: top\nsteps:\n{after}"), child), ask);
    let kept = match made.kept_producers.as_slice() {
        [] => String::new(),
        kept => format!(", kept {}", kept.join(" ")),
    };
    assert_eq!(format!("{}{kept}", shown(&made)), expected, "{after}");
}

#[track_caller]
fn check(steps: &str, child: &'static str, fails: &[&'static str], ask: &Ask, expected: &str) {
    check_edited((steps, steps), child, fails, ask, expected);
}

const P1: &str = "- {id: p1, prompt: x}\n";
const P2: &str = "- {id: p2, prompt: x}\n";
const G: &str = "- {id: g, command: 'grep {{p1}}', parallel_group: x}\n";
const H: &str = "- {id: h, command: 'grep {{p2}}', parallel_group: x}\n";

#[test]
fn all_that_failed_have_their_producers_done_again() {
    let flat = [P1, P2, G, H].concat();
    for ask in [USUAL, AUTOMATIC, Ask { resumer: AGAIN, ..AUTOMATIC }] {
        check(&flat, LEAF, &["g", "h"], &ask, "*p1 *p2 *g *h at p2");
        check(&flat, LEAF, &["g"], &ask, "*p1 =p2 *g =h at p1");
        check(&flat, LEAF, &["h"], &ask, "=p1 *p2 =g *h at p2");
        // the anchor is the producer that was declared last, whoever needs it
        check(&[P1, P2, H, G].concat(), LEAF, &["g", "h"], &ask, "*p1 *p2 *h *g at p2");
        check(&[P2, P1, G, H].concat(), LEAF, &["g", "h"], &ask, "*p2 *p1 *g *h at p1");
    }
    // with what lies between
    let far = "- {id: g, command: 'grep {{p1}}', parallel_group: x}\n- {id: h, command: 'grep {{m}}', parallel_group: x}\n";
    let far = format!("{P1}{P2}- {{id: m, command: 'echo {{{{p2}}}}'}}\n{far}");
    check(&far, LEAF, &["g", "h"], &USUAL, "*p1 *p2 *m *g *h at p2");
}

#[test]
fn a_person_has_each_judged_by_what_it_failed_of() {
    let g_is_not = Ask { unblaming: &["g"], ..USUAL };
    let h_is_not = Ask { unblaming: &["h"], ..USUAL };
    for steps in [[P1, P2, G, H], [P1, P2, H, G]] {
        let members = if steps[2] == G { "*g *h" } else { "*h *g" };
        let steps = steps.concat();
        check(&steps, LEAF, &["g", "h"], &g_is_not, &format!("=p1 *p2 {members} at p2, kept p1"));
        check(&steps, LEAF, &["g", "h"], &h_is_not, &format!("*p1 =p2 {members} at p1, kept p2"));
    }
    // over mere order it is kept, unless another one that failed uses its value
    let order = format!("{P1}- {{id: g, command: grep, parallel_group: x}}\n");
    let uses = "- {id: h, command: 'grep {{p1}}', parallel_group: x}\n";
    let other = "- {id: h, command: grep, parallel_group: x}\n";
    check(&format!("{order}{uses}"), LEAF, &["g", "h"], &USUAL, "*p1 *g *h at p1");
    check(&format!("{order}{uses}"), LEAF, &["g", "h"], &h_is_not, "=p1 *g *h at g, kept p1");
    check(&format!("{order}{other}"), LEAF, &["g", "h"], &USUAL, "=p1 *g *h at g, kept p1");
    check(&format!("{order}{other}"), LEAF, &["g", "h"], &AUTOMATIC, "*p1 *g *h at p1");
}

#[test]
fn steps_without_producers_of_their_own_do_not_hide_those_of_others() {
    let none = "- {id: g, command: x, parallel_group: x, depends_on: [c]}\n";
    let bare = format!("- {{id: c, command: x}}\n{P2}{none}{H}");
    check(&bare, LEAF, &["g", "h"], &USUAL, "=c *p2 *g *h at p2");
    let agent = "- {id: g, prompt: '{{p1}}', parallel_group: x}\n";
    check(&[P1, P2, agent, H].concat(), LEAF, &["g", "h"], &AUTOMATIC, "=p1 *p2 *g *h at p2");
    // repaired
    let (before, after) = ([P1, P2, G, H].concat(), [P1, P2, &G.replace("grep", "grep -q"), H].concat());
    check_edited((&before, &after), LEAF, &["g", "h"], &AUTOMATIC, "=p1 *p2 *g *h at p2");
    // gone
    check_edited((&before, &[P1, P2, H].concat()), LEAF, &["g", "h"], &AUTOMATIC, "=p1 *p2 *h at p2");
    // tolerated
    let tolerated = G.replace("x}", "x, continue_on_error: true}");
    check(&[P1, P2, &tolerated, H].concat(), LEAF, &["g", "h"], &AUTOMATIC, "=p1 *p2 =g *h at p2");
}

#[test]
fn streams_have_agents_of_their_own() {
    let streams =
        "- {id: s1, recipe: leaf, parallel_group: x}\n- {id: s2, recipe: leaf, parallel_group: x}\n";
    let both = ["s1/l", "s2/l"];
    for ask in [USUAL, AUTOMATIC] {
        check(streams, WORK, &both, &ask, "*s1 *s1/k *s1/l *s2 *s2/k *s2/l at s2/k");
        check(streams, WORK, &both[..1], &ask, "*s1 *s1/k *s1/l =s2 =s2/k =s2/l at s1/k");
    }
    for (unblaming, expected) in [
        (&["s1/l"], "*s1 =s1/k *s1/l *s2 *s2/k *s2/l at s2/k, kept s1/k"),
        (&["s2/l"], "*s1 *s1/k *s1/l *s2 =s2/k *s2/l at s1/k, kept s2/k"),
    ] {
        check(streams, WORK, &both, &Ask { unblaming, ..USUAL }, expected);
    }
    let mixed = "- {id: p, prompt: x}\n- {id: s, recipe: leaf, parallel_group: x}\n- {id: h, command: 'grep {{p}}', parallel_group: x}\n";
    for ask in [USUAL, AUTOMATIC] {
        check(mixed, WORK, &["s/l", "h"], &ask, "*p *s *s/k *s/l *h at s/k");
    }
}

#[test]
fn going_further_up_takes_each_as_far_as_it_can_go() {
    let steps = "- {id: p, prompt: x}\n- {id: a, prompt: x}\n- {id: b, prompt: '{{a}}'}\n\
                 - {id: g, command: 'grep {{b}}', parallel_group: x}\n- {id: h, command: 'grep {{p}}', parallel_group: x}\n";
    for (level, expected) in [
        (0, "*p =a *b *g *h at b"),
        (1, "*p *a *b *g *h at a"),
        (2, "*p *a *b *g *h at p"),
        (3, "=p =a =b *g *h at g"),
    ] {
        check(steps, LEAF, &["g", "h"], &automatic(level), expected);
    }
}

#[test]
fn a_recipe_that_is_not_over_does_not_keep_what_it_made_of_the_old() {
    const READS: &str = "name: leaf\nsteps:\n- {id: k, command: 'echo {{p}}'}\n- {id: u, command: x}\n- {id: v, command: 'echo {{k}}'}\n- {id: l, command: x}\n";
    const GIVEN: &str = "name: leaf\nsteps:\n- {id: k, command: 'echo {{a}}'}\n- {id: u, command: x}\n- {id: v, command: 'echo {{k}}'}\n- {id: l, command: x}\n";
    const OWN: &str = "name: leaf\nsteps:\n- {id: k, command: x, output: p}\n- {id: u, command: x}\n- {id: v, command: 'echo {{p}}'}\n- {id: l, command: x}\n";
    const DEEP: &str = "name: mid\nsteps:\n- {id: k, command: x}\n- {id: i, recipe: leaf}\n---\nname: leaf\nsteps:\n- {id: u, command: 'echo {{p}}'}\n- {id: l, command: x}\n";
    let ask = Ask { unblaming: &["s/l", "s/i/l"], ..USUAL };
    for (step, child, failed, expected) in [
        ("recipe: leaf", READS, "s/l", "*s/k =s/u *s/v *s/l"),
        ("recipe: leaf, context: {a: '{{p}}'}", GIVEN, "s/l", "*s/k =s/u *s/v *s/l"),
        ("recipe: leaf, context: {a: '1'}", GIVEN, "s/l", "=s/k =s/u =s/v *s/l"),
        ("recipe: leaf, context: {p: '1'}", READS, "s/l", "=s/k =s/u =s/v *s/l"),
        ("recipe: leaf", OWN, "s/l", "=s/k =s/u =s/v *s/l"),
        ("recipe: leaf, env: {E: '{{p}}'}", OWN, "s/l", "*s/k *s/u *s/v *s/l"),
        ("recipe: leaf, depends_on: [p]", OWN, "s/l", "*s/k *s/u *s/v *s/l"),
        ("recipe: mid", DEEP, "s/i/l", "=s/k *s/i *s/i/u *s/i/l"),
    ] {
        let steps = format!(
            "- {{id: p, prompt: x}}\n- {{id: s, {step}, parallel_group: x}}\n- {{id: h, command: 'grep {{{{p}}}}', parallel_group: x}}\n"
        );
        check(&steps, child, &[failed, "h"], &ask, &format!("*p *s {expected} *h at p"));
    }
}
