#!/bin/bash
# The values that are known once there is a worktree. Members of large values come as arguments.
exec "$(dirname "$0")"/names.sh \
  TASK_DESCRIPTION RECIPE_VAR_task_description REPO_PATH BRANCH_PREFIX TARGET_BRANCH REVIEWERS PREFLIGHT REQUIREMENTS \
  KIND RECIPE_VAR_kind ESTIMATE ISSUE_BODY ISSUE_URL RECIPE_VAR_issue_url ISSUE_NUMBER RECIPE_VAR_issue_number \
  WORKTREE_SETUP WORKTREE_SETUP_WORKTREE_PATH WORKTREE_SETUP_BRANCH_NAME WORKTREE_SETUP_BASE_REF WORKTREE_SETUP_CREATED \
  RECIPE_VAR_worktree_setup__worktree_path RECIPE_VAR_worktree_setup__branch_name "$@"
