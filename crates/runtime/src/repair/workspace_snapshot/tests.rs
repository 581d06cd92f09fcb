//! Which changes are noticed, and how they are restored. Starts no process except git.

use std::process::Command;

use super::*;

/// A directory with a recipe in it, a home beside it, and some files.
struct World {
    dir: tempfile::TempDir,
}

impl World {
    fn new() -> World {
        let world = World { dir: tempfile::tempdir().unwrap() };
        for name in ["work/recipe.yaml", "work/kept", "work/changed", "work/gone", "work/below/file"] {
            world.write(name, name);
        }
        for name in ["state", "home", "work/empty"] {
            fs::create_dir_all(world.path(name)).unwrap();
        }
        symlink("kept", world.path("work/link")).unwrap();
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn shell(&self, script: &str) {
        let mut command = Command::new("bash");
        command.args(["-ec", script]).current_dir(self.path("work")).env("HOME", self.path("home"));
        for name in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
            command.env(name, "x");
        }
        assert!(command.status().unwrap().success(), "{script}");
    }

    fn take(&self, recipe: &str) -> WorkspaceSnapshot {
        WorkspaceSnapshot::take(&Place {
            working_dir: &self.path("work"),
            recipe: &self.path(recipe),
            root: &self.path(recipe),
            state: &self.path("state"),
            home: Some(&self.path("home")),
        })
    }

    /// A listing of everything, with modes, contents and links; without git's objects and times.
    fn listing(&self) -> String {
        let script = "find . -name objects -prune -o -printf '%p %y %m %l\\n' | sort; \
                      find . -name objects -prune -o -name index -prune -o -type f -print0 | sort -z | xargs -0 sha256sum; \
                      ! [ -d work/.git ] || git -C work ls-files --stage";
        let output = Command::new("bash").args(["-c", script]).current_dir(self.dir.path()).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

#[test]
fn what_is_put_back_is_kept_aside() {
    let world = World::new();
    let aside = tempfile::tempdir().unwrap();
    let mut surface = world.take("work/recipe.yaml");
    world.shell("echo mine > changed; rm gone; mkdir -p new/deep; echo also mine > new/deep/file; ln -s kept new/link");
    surface.restore(aside.path());
    assert_eq!(world.read("work/changed"), "work/changed");
    let kept = |name: &str| fs::read_to_string(aside.path().join(name)).unwrap_or_default();
    assert_eq!((kept("changed").as_str(), kept("new/deep/file").as_str()), ("mine\n", "also mine\n"));
    assert!(fs::read_link(aside.path().join("new/link")).is_ok());
}

/// Checks which changes of a script are noticed; everything is restored afterwards.
fn check(world: &World, script: &str, expected: &[&str]) {
    let before = world.listing();
    let mut surface = world.take("work/recipe.yaml");
    world.shell(script);
    let changes = surface.restore(tempfile::tempdir().unwrap().path());
    assert!(changes.iter().all(|change| change.is_put_back), "{script}: {changes:?}");
    let names: Vec<&str> = changes.iter().map(|change| change.name.as_str()).collect();
    for name in expected {
        assert!(names.contains(name), "{script}: {names:?}");
    }
    assert_eq!(names.is_empty(), expected.is_empty(), "{script}: {names:?}");
    assert_eq!(world.listing(), before, "{script}");
}

#[test]
fn everything_but_the_recipe_is_put_back() {
    for (script, expected) in [
        ("true", &[][..]),
        ("echo repaired > recipe.yaml", &[]),
        ("sed -i s/work/x/ recipe.yaml; chmod 600 recipe.yaml", &[]),
        ("rm recipe.yaml; ln -s kept recipe.yaml", &[]),
        ("echo x > changed; rm gone; echo x > new", &["changed", "gone", "new"]),
        ("ln -s /etc/passwd new", &["new"]),
        ("ln -sf gone link", &["link"]),
        ("rm link", &["link"]),
        ("chmod +x kept", &["kept"]),
        ("chmod 500 below", &["below"]),
        ("chmod 444 changed; echo x > below/file", &["changed", "below/file"]),
        ("rm changed; ln -s kept changed", &["changed"]),
        ("rm changed; mkdir changed; touch changed/x", &["changed"]),
        ("mv below ../elsewhere; ln -s ../elsewhere below; rm -r ../elsewhere", &["below"]),
        ("rmdir empty", &["empty"]),
        ("mkdir -p new/deep; touch new/deep/file", &["new"]),
        ("git init -q", &[".git"]),
    ] {
        check(&World::new(), script, expected);
    }
}

#[test]
fn git_is_watched() {
    for (script, expected) in [
        ("touch kept; git status > /dev/null; git log > /dev/null; git diff > /dev/null", &[][..]),
        ("git commit -qm more --allow-empty", &[".git/refs/heads/main"]),
        ("git commit -qam more", &[".git/refs/heads/main", ".git/index"]),
        ("git branch other", &[".git/refs/heads/other"]),
        ("git checkout -qb other", &[".git/HEAD"]),
        ("git tag v1", &[".git/refs/tags/v1"]),
        ("git config user.name evil", &[".git/config"]),
        ("printf '#!/bin/sh' > .git/hooks/pre-commit", &[".git/hooks/pre-commit"]),
        ("git add changed", &[".git/index"]),
        ("git rm -q --cached kept", &[".git/index"]),
        ("git pack-refs --all", &[".git/packed-refs"]),
        ("echo evil > .git/info/exclude", &[".git/info/exclude"]),
        ("rm -rf .git/hooks", &[".git/hooks/sample"]),
    ] {
        let world = World::new();
        world.shell(
            "git init -qb main; mkdir -p .git/hooks .git/info; echo > .git/hooks/sample; git add .; git commit -qm first; \
             echo edited > changed",
        );
        check(&world, script, expected);
    }
}

#[test]
fn the_work_of_others_stays() {
    let world = World::new();
    world.shell("git init -qb main; git add .; git commit -qm first; git worktree add -qb mine ../mine");
    world.shell("git worktree add -qb theirs ../theirs; cp recipe.yaml ../mine");
    let place = |name: &str| world.path(name);
    let mut surface = WorkspaceSnapshot::take(&Place {
        working_dir: &place("mine"),
        recipe: &place("mine/recipe.yaml"),
        root: &place("mine/recipe.yaml"),
        state: &place("state"),
        home: None,
    });
    world.shell("git commit -qm main --allow-empty; git -C ../theirs commit -qm theirs --allow-empty");
    assert_eq!(surface.restore(tempfile::tempdir().unwrap().path()), []);
    world.shell("git -C ../mine commit -qm mine --allow-empty; git branch other");
    let names: Vec<String> =
        surface.restore(tempfile::tempdir().unwrap().path()).into_iter().map(|change| change.name).collect();
    let ends = |name: &str| names.iter().any(|found| found.ends_with(name));
    assert!(ends("refs/heads/mine") && ends("refs/heads/other"), "{names:?}");
    assert!(!ends("refs/heads/theirs") && !ends("refs/heads/main"), "{names:?}");
    world.shell(
        "[ $(git rev-parse mine) != $(git rev-parse theirs) ]; [ $(git rev-list --count theirs) = 2 ]",
    );
}

#[test]
fn what_lies_beside_the_recipe_is_watched_where_it_works_elsewhere() {
    let world = World::new();
    for name in
        ["recipes/r.yaml", "recipes/child.yaml", "recipes/scripts/x.sh", "shared/r.yaml", "shared/child.yaml"]
    {
        world.write(name, name);
    }
    let mut surface = world.take("recipes/r.yaml");
    world.shell("cd ../recipes; echo x > child.yaml; echo x > scripts/x.sh; echo x > new; echo x > r.yaml");
    assert_eq!(surface.restore(tempfile::tempdir().unwrap().path()).len(), 3);
    assert_eq!(
        (world.read("recipes/child.yaml").as_str(), world.path("recipes/new").exists()),
        ("recipes/child.yaml", false)
    );

    world.shell("chmod 1777 ../shared");
    let mut surface = world.take("shared/r.yaml");
    world.shell("cd ../shared; echo x > child.yaml; echo x > new.yaml");
    let names: Vec<String> =
        surface.restore(tempfile::tempdir().unwrap().path()).into_iter().map(|change| change.name).collect();
    assert!(
        names.len() == 1 && names[0].ends_with("shared/child.yaml"),
        "others may have made the new one: {names:?}"
    );
    assert!(world.path("shared/new.yaml").exists());
}

#[test]
fn the_runs_are_not_a_part_of_it() {
    let world = World::new();
    world.write("work/state/journal", "1");
    let mut surface = WorkspaceSnapshot::take(&Place {
        working_dir: &world.path("work"),
        recipe: &world.path("work/recipe.yaml"),
        root: &world.path("work/recipe.yaml"),
        state: &world.path("work/state"),
        home: None,
    });
    world.shell("echo 2 > state/journal; echo 3 > state/new");
    assert_eq!(surface.restore(tempfile::tempdir().unwrap().path()), []);
    assert_eq!(world.read("work/state/journal"), "2\n");
}

#[test]
fn what_is_too_much_to_keep_is_noticed_all_the_same() {
    let world = World::new();
    let large = fs::File::create(world.path("work/large")).unwrap();
    large.set_len(MAX_BYTES + 1).unwrap();
    let mut surface = world.take("work/recipe.yaml");
    assert_eq!(surface.restore(tempfile::tempdir().unwrap().path()), []);
    world.shell("printf x | dd of=large conv=notrunc status=none; echo x > kept");
    let mut changes = surface.restore(tempfile::tempdir().unwrap().path());
    changes.sort_by(|a, b| a.name.cmp(&b.name));
    let found: Vec<(&str, bool)> =
        changes.iter().map(|change| (change.name.as_str(), change.is_put_back)).collect();
    assert_eq!(found, [("kept", true), ("large", false)]);
}
