//! The recipes that are part of the program. They are files in `recipes/`, so users can copy and change them.

/// Name and text of each.
pub(crate) const RECIPES: &[(&str, &str)] = &[
    ("cascade-workflow", include_str!("../../../recipes/cascade-workflow.yaml")),
    ("consensus-workflow", include_str!("../../../recipes/consensus-workflow.yaml")),
    ("debate-workflow", include_str!("../../../recipes/debate-workflow.yaml")),
    ("default-workflow", include_str!("../../../recipes/default-workflow.yaml")),
    ("develop-cycle", include_str!("../../../recipes/develop-cycle.yaml")),
    ("investigation-workflow", include_str!("../../../recipes/investigation-workflow.yaml")),
    ("n-version-workflow", include_str!("../../../recipes/n-version-workflow.yaml")),
    ("orchestrator-round", include_str!("../../../recipes/orchestrator-round.yaml")),
    ("parallel-workstreams", include_str!("../../../recipes/parallel-workstreams.yaml")),
    ("qa-workflow", include_str!("../../../recipes/qa-workflow.yaml")),
    ("quality-audit-cycle", include_str!("../../../recipes/quality-audit-cycle.yaml")),
    ("smart-orchestrator", include_str!("../../../recipes/smart-orchestrator.yaml")),
    ("verification-workflow", include_str!("../../../recipes/verification-workflow.yaml")),
    ("worktree-setup", include_str!("../../../recipes/worktree-setup.yaml")),
];
