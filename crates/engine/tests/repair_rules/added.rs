//! Steps that a repair adds: one that may make a check pass without the work is a question.

use super::{plan, verdict};

fn recipe(steps: &[&str]) -> String {
    let lines: String = steps.iter().map(|step| format!("  - {{{step}}}\n")).collect();
    format!("name: r\ncontext: {{a: 1, b: 2}}\nsteps:\n{lines}")
}

#[test]
fn a_new_step_touches_nothing_that_a_check_looks_at() {
    let looks = [
        "id: s, prompt: a, ensure: [{file: out/report.md}]",
        "id: s, prompt: a, ensure: [{file: 'out/*.md'}]",
        "id: s, prompt: a, ensure: [{changed: ['out/**']}]",
        "id: s, prompt: a, ensure: [{changed: [out]}]",
        "id: s, prompt: a, ensure: [{command: test -s out/report.md}]",
        "id: s, command: test -f out/report.md",
        "id: s, command: '[ -f \"out/report.md\" ]'",
    ];
    let writers = [
        "echo done > out/report.md",
        "cd out && touch report.md",
        "mkdir -p out && cp other.md ./out/report.md",
        "mkdir -p out && echo x | tee out/report.md",
        "python3 -c \"open('out/report.md', 'w').write('x')\"",
        "d=out; echo x > $d/report.md",
        "cp -r template/. out",
    ];
    for look in looks {
        for writer in writers {
            let new = format!("id: n, command: {writer:?}");
            let found = verdict(&plan(&recipe(&[look]), 9), &plan(&recipe(&[&new, look]), 9), "s");
            assert_eq!(found, "ask", "{look}\n{writer}");
        }
        for harmless in ["mkdir -p build", "echo out/report.md", "npm ci", "cp a.txt b.txt"] {
            let new = format!("id: n, command: {harmless}");
            let found = verdict(&plan(&recipe(&[look]), 9), &plan(&recipe(&[&new, look]), 9), "s");
            assert_eq!(found, "", "{look}\n{harmless}");
        }
    }
    // the path is a value of the context
    let look = "id: s, prompt: x, ensure: [{file: 'out/{{name}}'}]";
    for (name, expected) in [("name: report.md", "ask"), ("other: 1", "ask")] {
        let with = |steps: &[&str]| recipe(steps).replace("a: 1", name);
        let new = "id: n, command: 'touch out/report.md'";
        assert_eq!(verdict(&plan(&with(&[look]), 9), &plan(&with(&[new, look]), 9), "s"), expected, "{name}");
    }
}
