//! What agents that repair a recipe add to the sums of a run, also those whose end nobody saw.

use engine::{
    Event, RunSettings,
    run::event::{NameChange, RepairBegan, Spawned, Usage},
};

use crate::run::{LEAF, Run};

fn began() -> Event {
    let [file, digest, original] = ["r.yaml", "d", "o"].map(str::to_owned);
    Event::RepairBegan(RepairBegan { number: 1, file, digest, original })
}

fn spawned(purpose: &str) -> Event {
    Event::Spawned(Spawned {
        path: "repair".to_owned(),
        attempt: 1,
        pid: 1,
        start_time: 1,
        argv: Vec::new(),
        cwd: String::new(),
        purpose: Some(purpose.to_owned()),
        env: NameChange::default(),
        prompt: None,
    })
}

fn used() -> Event {
    let usage = Usage { runs: 1, cost_usd: Some(0.5), ..Usage::default() };
    Event::AgentUsed { purpose: "repair".to_owned(), usage }
}

fn ended() -> Event {
    Event::RepairEnded { number: 1, accepted: false }
}

#[test]
fn a_repair_whose_end_nobody_saw_has_run_too() {
    for (events, expected) in [
        (vec![began(), spawned("repair"), used(), ended()], (1, 0)),
        (vec![began(), spawned("repair")], (1, 1)),
        (vec![began(), spawned("repair"), ended()], (1, 1)),
        (vec![began(), spawned("repair"), ended(), began(), spawned("repair"), used(), ended()], (2, 1)),
        (vec![began(), ended()], (0, 0)),
        // what else is started meanwhile is no agent, and no repair has begun here
        (vec![began(), spawned("pre_step"), ended()], (0, 0)),
        (vec![spawned("repair")], (0, 0)),
    ] {
        let recipe = "name: r\nsteps:\n- {id: a, command: x}\n";
        let mut run = Run::new(recipe, LEAF, RunSettings::default(), &[]);
        events.into_iter().for_each(|event| run.record(event, None));
        run.resume();
        run.resume();
        assert_eq!((run.state.used.runs, run.state.used.runs_without_cost), expected);
    }
}
