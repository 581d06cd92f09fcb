//! Agent references: `namespace:category:name` and the files that they may lead to.
//!
//! Never touches the file system; every segment is a safe name, so no candidate can leave its base directory.

/// A reference to an agent file, made of safe segments only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRef {
    segments: Vec<String>,
}

impl AgentRef {
    /// Reads a reference; `None` if a segment is not a safe name.
    pub fn parse(text: &str) -> Option<AgentRef> {
        let segments: Vec<String> = text.trim().split(':').map(str::to_owned).collect();
        segments.iter().all(|segment| is_safe(segment)).then_some(AgentRef { segments })
    }

    /// The last segment.
    pub fn name(&self) -> &str {
        self.segments.last().map_or("", String::as_str)
    }

    /// Paths below a base directory, in the order in which they are tried.
    pub fn candidates(&self) -> Vec<String> {
        let name = self.name();
        let mut paths = Vec::new();
        for length in (2..=self.segments.len().min(3)).rev() {
            paths.push(format!("{}.md", self.segments[self.segments.len() - length..].join("/")));
        }
        paths.extend([format!("core/{name}.md"), format!("specialized/{name}.md"), format!("{name}.md")]);
        paths.dedup();
        paths
    }

    /// More paths below a base directory. They are tried after [`AgentRef::candidates`] of all base directories.
    pub fn late_candidates(&self) -> Vec<String> {
        let namespace = match self.segments.as_slice() {
            [.., namespace, _, _] | [namespace, _] => namespace,
            _ => return Vec::new(),
        };
        ["core", "specialized"].map(|category| format!("{namespace}/{category}/{}.md", self.name())).into()
    }
}

impl std::fmt::Display for AgentRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.segments.join(":"))
    }
}

fn is_safe(segment: &str) -> bool {
    !segment.is_empty()
        && segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_lead_to_candidates_or_are_refused() {
        for (text, expected) in [
            ("ns:cat:name", Some("ns/cat/name.md cat/name.md core/name.md specialized/name.md name.md")),
            (
                "extra:ns:cat:name",
                Some("ns/cat/name.md cat/name.md core/name.md specialized/name.md name.md"),
            ),
            ("ns:name", Some("ns/name.md core/name.md specialized/name.md name.md")),
            ("name", Some("core/name.md specialized/name.md name.md")),
            ("ns:core:name", Some("ns/core/name.md core/name.md specialized/name.md name.md")),
            ("../../etc/passwd", None),
            ("ns:..:name", None),
            ("ns::name", None),
            ("a/b", None),
            ("", None),
        ] {
            let found = AgentRef::parse(text).map(|reference| reference.candidates().join(" "));
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn late_candidates_need_a_namespace() {
        for (text, expected) in [
            ("ns:cat:name", "ns/core/name.md ns/specialized/name.md"),
            ("extra:ns:cat:name", "ns/core/name.md ns/specialized/name.md"),
            ("ns:name", "ns/core/name.md ns/specialized/name.md"),
            ("name", ""),
        ] {
            let found = AgentRef::parse(text).map(|reference| reference.late_candidates().join(" "));
            assert_eq!(found.as_deref(), Some(expected), "{text}");
        }
    }
}
