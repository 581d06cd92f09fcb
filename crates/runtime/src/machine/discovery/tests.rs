//! Which file a name means, in small trees of real files.

use std::{fs, os::unix::fs::symlink};

use super::*;

/// A directory tree and its library: `home/` is the home, `cwd/` the current directory.
struct Tree {
    root: tempfile::TempDir,
    setup: Setup,
}

impl Tree {
    fn new(files: &[(&str, &str)]) -> Tree {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().canonicalize().unwrap().join(path);
        for dir in ["home", "cwd"] {
            fs::create_dir_all(at(dir)).unwrap();
        }
        for (path, text) in files {
            fs::create_dir_all(at(path).parent().unwrap()).unwrap();
            fs::write(at(path), text).unwrap();
        }
        let setup = Setup {
            cwd: at("cwd"),
            working_dir: at("cwd"),
            home: Some(at("home")),
            reuse: Duration::from_secs(60),
            ..Setup::default()
        };
        Tree { root, setup }
    }

    fn library(&self) -> Library {
        Library::new(self.setup.clone())
    }

    /// A path without the part that varies between runs.
    fn short(&self, path: &str) -> String {
        let root = self.root.path().canonicalize().unwrap();
        path.replace(&format!("{}/", root.display()), "")
    }

    fn root_of(&self, asked: &str) -> String {
        self.shown(self.library().root(asked))
    }

    fn named(&self, name: &str, from: &str) -> String {
        self.shown(self.library().recipe(name, from))
    }

    fn shown(&self, found: Result<Loaded, LoadError>) -> String {
        match found {
            Ok(loaded) => self.short(&loaded.path),
            Err(LoadError::NotFound { .. }) => "not found".to_owned(),
            Err(LoadError::Unreadable { .. }) => "unreadable".to_owned(),
        }
    }
}

#[test]
fn a_file_that_exists_is_meant_before_a_name() {
    let tree = Tree::new(&[
        ("cwd/build.yaml", ""),
        ("cwd/only.yaml", ""),
        ("cwd/sub/x.yaml", ""),
        ("cwd/.claude/recipes/build.yaml", ""),
    ]);
    for (asked, expected) in [
        ("build.yaml", "build.yaml"),
        ("./build.yaml", "build.yaml"),
        ("sub/../build.yaml", "build.yaml"),
        ("sub/x.yaml", "sub/x.yaml"),
        ("build", ".claude/recipes/build.yaml"),
        ("only", "only.yaml"),
        ("sub", "not found"),
        ("", "not found"),
        ("x", "not found"),
    ] {
        assert_eq!(tree.root_of(asked), expected, "{asked}");
    }
}

#[test]
fn directories_are_searched_in_order() {
    let dirs = [
        "cwd/one",
        "cwd/two",
        "cwd/recipes",
        "cwd/three",
        "home/.amplihack/.claude/recipes",
        "cwd/amplifier-bundle/recipes",
        "cwd/src/amplihack/amplifier-bundle/recipes",
        "cwd/.claude/recipes",
        "installed/amplifier-bundle/recipes",
        "home/.amplihack/amplifier-bundle/recipes",
        "package",
    ];
    for first in 0..dirs.len() {
        let files: Vec<String> = dirs[first..].iter().map(|dir| format!("{dir}/a.yaml")).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|file| (file.as_str(), "name: a")).collect();
        let mut tree = Tree::new(&files);
        tree.setup.recipe_dirs = vec!["one".into(), "two".into()];
        tree.setup.more_dirs = Some(":three:~/nowhere".to_owned());
        let root = tree.root.path().canonicalize().unwrap();
        (tree.setup.installation, tree.setup.package_dir) =
            (Some(root.join("installed")), Some(root.join("package")));
        let expected = files[0].0.trim_start_matches("cwd/");
        assert_eq!(tree.root_of("a"), expected);
        assert_eq!(tree.short(&tree.library().list()[0].path), expected, "list and run agree");
    }
}

#[test]
fn a_recipe_is_found_by_stem_then_by_the_name_inside() {
    let tree = Tree::new(&[
        ("cwd/.claude/recipes/a.yaml", "name: other\nsteps: []"),
        ("cwd/.claude/recipes/b.yml", "description: x\nname: 'a'\nsteps: []\n"),
        ("cwd/.claude/recipes/c.yaml", "name: \"deep name\"\nextends: a"),
        ("cwd/.claude/recipes/d.yaml", "steps:\n  - name: hidden\n"),
        ("cwd/.claude/recipes/compose.yaml", "name: project\nservices: {}\n"),
    ]);
    for (asked, expected) in [
        ("a", ".claude/recipes/a.yaml"),
        ("b", ".claude/recipes/b.yml"),
        ("b.yml", ".claude/recipes/b.yml"),
        ("other", ".claude/recipes/a.yaml"),
        ("deep name", ".claude/recipes/c.yaml"),
        ("hidden", "not found"),
        ("project", "not found"),
        ("compose", ".claude/recipes/compose.yaml"),
    ] {
        assert_eq!(tree.root_of(asked), expected, "{asked}");
    }
}

#[test]
fn a_nested_recipe_is_searched_beside_its_caller_first() {
    let tree = Tree::new(&[
        ("cwd/main.yaml", ""),
        ("cwd/child.yaml", "beside"),
        ("cwd/sub/x.yaml", ""),
        ("cwd/sub/y.yaml", "name: why\nsteps: []"),
        ("cwd/.claude/recipes/child.yaml", "default"),
        ("cwd/.claude/recipes/far.yaml", ""),
        ("lib/lone.yaml", ""),
        ("lib/child.yaml", ""),
    ]);
    let lone = tree.root.path().canonicalize().unwrap().join("lib/lone.yaml");
    for (name, from, expected) in [
        ("child", "main.yaml", "child.yaml"),
        ("child", ".claude/recipes/far.yaml", ".claude/recipes/child.yaml"),
        ("child", lone.to_str().unwrap(), "lib/child.yaml"),
        ("far", "main.yaml", ".claude/recipes/far.yaml"),
        ("far", lone.to_str().unwrap(), ".claude/recipes/far.yaml"),
        ("sub/x.yaml", "main.yaml", "sub/x.yaml"),
        ("sub/x", "main.yaml", "sub/x.yaml"),
        ("./sub/x.yaml", lone.to_str().unwrap(), "sub/x.yaml"),
        ("../child.yaml", "sub/x.yaml", "child.yaml"),
        ("y.yaml", "sub/x.yaml", "sub/y.yaml"),
        ("why", "sub/x.yaml", "sub/y.yaml"),
        ("why", "main.yaml", "not found"),
        (lone.to_str().unwrap(), "main.yaml", "lib/lone.yaml"),
        ("", "main.yaml", "not found"),
    ] {
        assert_eq!(tree.named(name, from), expected, "{name} in {from}");
    }
}

#[test]
fn a_nested_recipe_is_searched_up_to_the_root_of_the_repository() {
    let bundle = "amplifier-bundle/recipes";
    let outside = format!("repo/{bundle}/top.yaml");
    let mut tree = Tree::new(&[
        (&format!("{bundle}/outside.yaml"), ""),
        (&outside, ""),
        (&format!("repo/a/{bundle}/middle.yaml"), ""),
        (&format!("repo/a/{bundle}/child.yaml"), "further away"),
        ("repo/a/b/main.yaml", ""),
        ("repo/a/b/child.yaml", "beside"),
        ("repo/.git/HEAD", ""),
        ("plain/main.yaml", ""),
    ]);
    let root = tree.root.path().canonicalize().unwrap();
    let main = |dir: &str| root.join(dir).join("main.yaml").display().to_string();
    for (name, expected) in [
        ("top", outside.as_str()),
        ("middle", "repo/a/amplifier-bundle/recipes/middle.yaml"),
        ("child", "repo/a/b/child.yaml"),
        ("outside", "not found"),
    ] {
        assert_eq!(tree.named(name, &main("repo/a/b")), expected, "{name}");
    }
    assert_eq!(tree.root_of("top"), "not found", "only recipes that another one names");
    assert_eq!(tree.named("top", &main("plain")), "not found");
    tree.setup.working_dir = root.join("repo/a/b");
    assert_eq!(tree.named("top", &main("plain")), outside, "the working directory is in the repository");
    let Err(LoadError::NotFound { searched }) = tree.library().recipe("nowhere", &main("repo/a/b")) else {
        panic!("found")
    };
    let place = root.join("repo").join(bundle).display().to_string();
    assert!(searched.contains(&place), "{searched:?}");
}

#[test]
fn the_working_directory_counts_too() {
    let mut tree = Tree::new(&[("repo/.claude/recipes/a.yaml", ""), ("repo/b.yaml", ""), ("cwd/b.yaml", "")]);
    tree.setup.working_dir = tree.root.path().canonicalize().unwrap().join("repo");
    for (asked, expected) in [("a", "repo/.claude/recipes/a.yaml"), ("b.yaml", "b.yaml")] {
        assert_eq!(tree.root_of(asked), expected, "{asked}");
    }
}

#[test]
fn one_file_has_one_path() {
    let tree = Tree::new(&[("cwd/real.yaml", "")]);
    symlink("real.yaml", tree.setup.cwd.join("link.yaml")).unwrap();
    assert_eq!(tree.root_of("link.yaml"), "real.yaml");
    assert_eq!(tree.named("link", "real.yaml"), "real.yaml");
}

#[test]
fn a_link_has_its_own_neighbours_first() {
    let tree = Tree::new(&[
        ("cwd/real/r.yaml", "name: r"),
        ("cwd/real/both.yaml", ""),
        ("cwd/real/there.yaml", ""),
        ("cwd/real/agents/there.md", "there"),
        ("cwd/link/both.yaml", ""),
        ("cwd/link/here.yaml", ""),
        ("cwd/link/agents/here.md", "here"),
    ]);
    symlink("../real/r.yaml", tree.setup.cwd.join("link/r.yaml")).unwrap();
    let (linked, direct) = (tree.library(), tree.library());
    let path = |library: &Library, name: &str| tree.shown(library.recipe(name, "real/r.yaml"));
    assert_eq!(tree.shown(linked.root("link/r.yaml")), "real/r.yaml");
    assert_eq!(tree.shown(direct.root("real/r.yaml")), "real/r.yaml");
    for (name, by_link, itself) in [
        ("both", "link/both.yaml", "real/both.yaml"),
        ("there", "real/there.yaml", "real/there.yaml"),
        ("here", "link/here.yaml", "not found"),
        ("./here.yaml", "link/here.yaml", "not found"),
    ] {
        assert_eq!((path(&linked, name).as_str(), path(&direct, name).as_str()), (by_link, itself), "{name}");
    }
    for name in ["here", "there"] {
        let agent = linked.agent(&AgentRef::parse(name).unwrap(), "real/r.yaml");
        assert_eq!(agent.as_deref(), Some(name));
    }
    assert_eq!(linked.named_dirs(), [tree.setup.cwd.join("link")]);
    assert_eq!(direct.named_dirs(), [] as [PathBuf; 0]);
}

#[test]
fn broken_and_shadowed_files_are_listed() {
    let mut tree = Tree::new(&[
        ("cwd/one/a.yaml", "name: same\nversion: 1.10\ndescription: first\nsteps: []"),
        ("cwd/two/b.yaml", "name: same\nsteps: []"),
        ("cwd/two/broken.yaml", "name: [unclosed"),
        ("cwd/two/empty.yaml", ""),
        ("cwd/two/notes.txt", ""),
        ("cwd/two/.hidden.yaml", "name: hidden"),
    ]);
    fs::write(tree.setup.cwd.join("two/binary.yaml"), [0xff, 0xfe]).unwrap();
    symlink("nowhere", tree.setup.cwd.join("two/dangling.yaml")).unwrap();
    tree.setup.recipe_dirs = vec!["one".into(), "two".into()];
    let found = tree.library().list();
    let names: Vec<&str> = found.iter().map(|found| found.name.as_str()).collect();
    assert_eq!(names, ["binary", "broken", "dangling", "empty", "same", "same"]);
    let problems: Vec<bool> = found.iter().map(|found| found.problem.is_some()).collect();
    assert_eq!(problems, [true, true, true, true, false, false]);
    assert_eq!((found[4].version.as_str(), found[4].description.as_str()), ("1.10", "first"));
    assert_eq!(found[4].shadowed_by, None);
    assert_eq!(found[5].shadowed_by.as_deref(), Some("one/a.yaml"));
}

#[test]
fn recipes_in_the_program_come_last() {
    let mut tree = Tree::new(&[("cwd/.claude/recipes/a.yaml", "")]);
    tree.setup.built_in = vec![("a", "name: a"), ("b", "name: b")];
    assert_eq!(tree.root_of("a"), ".claude/recipes/a.yaml");
    assert_eq!(tree.root_of("b"), "built-in:b");
    assert_eq!(tree.named("a", "built-in:b"), ".claude/recipes/a.yaml");
}

#[test]
fn what_was_seen_is_reused_only_for_a_while() {
    let mut tree = Tree::new(&[("cwd/.claude/recipes/a.yaml", "name: old")]);
    for (seconds, expected) in [(60, "old"), (0, "new")] {
        tree.setup.reuse = Duration::from_secs(seconds);
        let file = tree.setup.cwd.join(".claude/recipes/a.yaml");
        fs::write(&file, "name: old").unwrap();
        let library = tree.library();
        assert_eq!(library.list()[0].name, "old");
        fs::write(&file, "name: new").unwrap();
        assert_eq!(library.list()[0].name, expected);
    }
}

#[test]
fn agents_are_found_in_order_and_never_outside() {
    let tree = Tree::new(&[
        ("cwd/agents/core/beside.md", "beside"),
        ("cwd/.claude/agents/ns/core/builder.md", "project"),
        ("home/.amplihack/.claude/agents/core/builder.md", "home"),
        ("home/.amplihack/.claude/agents/only.md", "home only"),
        ("secret.md", "secret"),
    ]);
    symlink(tree.root.path().join("secret.md"), tree.setup.cwd.join("agents/leak.md")).unwrap();
    symlink("core/beside.md", tree.setup.cwd.join("agents/inner.md")).unwrap();
    let library = tree.library();
    for (reference, expected) in [
        ("ns:core:beside", Some("beside")),
        ("beside", Some("beside")),
        ("ns:core:builder", Some("project")),
        ("x:ns:core:builder", Some("project")),
        ("other:builder", Some("home")),
        ("only", Some("home only")),
        ("inner", Some("beside")),
        ("leak", None),
        ("nobody", None),
    ] {
        let found = library.agent(&AgentRef::parse(reference).unwrap(), "main.yaml");
        assert_eq!(found.as_deref(), expected, "{reference}");
    }
}

#[test]
fn late_places_of_agents_come_after_all_others() {
    let mut tree = Tree::new(&[
        ("cwd/recipes/main.yaml", ""),
        ("cwd/agents/core/near.md", "in the parent"),
        ("cwd/agents/ns/core/builder.md", "namespace in the parent"),
        ("cwd/.claude/agents/ns/core/builder.md", "namespace in the project"),
        ("cwd/.claude/agents/ns/core/tester.md", "namespace in the project"),
        ("cwd/.claude/agents/ns/specialized/expert.md", "expert"),
        ("home/.amplihack/.claude/agents/core/builder.md", "home"),
        ("installed/amplifier-bundle/agents/core/near.md", "installed"),
        ("installed/amplifier-bundle/agents/core/far.md", "installed"),
        ("installed/amplifier-bundle/agents/ns/core/farther.md", "installed"),
    ]);
    tree.setup.installation = Some(tree.root.path().join("installed"));
    let library = tree.library();
    for (reference, expected) in [
        ("near", Some("in the parent")),
        ("far", Some("installed")),
        ("ns:farther", Some("installed")),
        ("ns:builder", Some("home")),
        ("ns:tester", Some("namespace in the project")),
        ("ns:any:expert", Some("expert")),
        ("tester", None),
        ("other:tester", None),
    ] {
        let found = library.agent(&AgentRef::parse(reference).unwrap(), "recipes/main.yaml");
        assert_eq!(found.as_deref(), expected, "{reference}");
    }
}
