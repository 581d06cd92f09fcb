//! Paths of steps: `build/test` is a step of a sub-recipe, `review[2]` an instance of a step with a loop.

/// The path of an instance.
pub fn instance(looped: &str, at: usize) -> String {
    format!("{looped}[{at}]")
}

/// The step and the number of the instance that a path ends with.
pub fn split_instance(path: &str) -> Option<(&str, usize)> {
    let (looped, number) = path.strip_suffix(']')?.rsplit_once('[')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let is_plain = number == "0" || !number.starts_with('0');
    (is_number && is_plain && !looped.is_empty()).then_some((looped, number.parse().ok()?))
}

/// The step that a path ends with an instance of.
pub fn instance_of(path: &str) -> Option<&str> {
    split_instance(path).map(|(looped, _)| looped)
}

/// The path of the step around a step: the recipe step that it belongs to, or the step that it is an instance of.
pub fn around(path: &str) -> Option<&str> {
    match split_instance(path) {
        Some((looped, _)) => Some(looped),
        None => path.rsplit_once('/').map(|(around, _)| around),
    }
}

/// A step and the steps around it, the innermost first.
pub fn outward(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| around(path))
}

/// Whether a step is inside another one: in its recipe, or one of its instances.
pub fn is_below(path: &str, around: &str) -> bool {
    match path.strip_prefix(around) {
        Some(rest) => around.is_empty() || rest.starts_with('/') || is_index(rest),
        None => false,
    }
}

/// Whether a text begins with the number of an instance.
fn is_index(rest: &str) -> bool {
    let Some((number, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) else {
        return false;
    };
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number && (after.is_empty() || after.starts_with('/'))
}

/// A path in which `review.2` means `review[2]`, for shells in which brackets have a meaning.
pub fn with_brackets(path: &str) -> String {
    let bracketed = |segment: &str| match segment.rsplit_once('.') {
        Some((name, number)) if !name.is_empty() && number.parse::<usize>().is_ok() => {
            format!("{name}[{number}]")
        }
        _ => segment.to_owned(),
    };
    path.split('/').map(bracketed).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_know_what_is_around_them() {
        assert_eq!(around("a/b[2]/c"), Some("a/b[2]"));
        assert_eq!(around("a/b[2]"), Some("a/b"));
        assert_eq!(around("a/b"), Some("a"));
        assert_eq!(around("a"), None);
        assert_eq!(split_instance("a[02]"), None, "no path is written like this");
        assert_eq!(split_instance("[2]"), None);
    }

    #[test]
    fn an_instance_is_inside_its_step() {
        for (path, outer, expected) in [
            ("a[0]", "a", true),
            ("a[0]/b", "a", true),
            ("a[0]/b", "a[0]", true),
            ("a/b", "a", true),
            ("ab", "a", false),
            ("a[x]", "a", false),
            ("a[10]", "a[1]", false),
            ("a", "a", false),
            ("a", "", true),
        ] {
            assert_eq!(is_below(path, outer), expected, "{path} in {outer}");
        }
    }

    #[test]
    fn dots_name_instances_too() {
        assert_eq!(with_brackets("a.2/b/c.10"), "a[2]/b/c[10]");
        assert_eq!(with_brackets("v1.x/b"), "v1.x/b");
    }
}
