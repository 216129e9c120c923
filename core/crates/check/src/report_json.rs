//! Findings as objects of JSON, for the launcher's report file.

use crate::Pe;
use crate::report::{AccessInfo, Finding, FindingPlace, Keys, Names};
use std::fmt::Write as _;

impl Finding {
    /// The finding for programs: an object of JSON.
    pub(super) fn json(&self, me: Pe, seed: u64, keys: Keys, names: &dyn Names) -> String {
        let place = match self.place {
            FindingPlace::Symmetric { .. } => "symmetric",
            FindingPlace::Private { .. } => "private",
            FindingPlace::Team { .. } => "team",
        };
        let party = |party: &AccessInfo| {
            let name = names.site(party.pe, party.site);
            let (operation, place) = name.split_once(" at ").unwrap_or((&name, ""));
            format!(
                "{{\"pe\":{},\"does\":{},\"bytes\":{},\"operation\":{},\"place\":{}}}",
                party.pe,
                quoted(party.does.trim_end_matches(',')),
                party.bytes,
                quoted(operation),
                quoted(place)
            )
        };
        format!(
            "{{\"problem\":\"{}\",\"title\":{},\"pe\":{me},\"seed\":{seed},\"accesses\":[{},{}],\"memory\":\"{place}\",\
             \"where\":{},\"why\":{},\"remedy\":{},\"keys\":{keys:?}}}",
            self.problem.id(),
            quoted(&self.title(names)),
            party(&self.now),
            party(&self.other),
            quoted(&names.place(self.place)),
            quoted(&self.why),
            quoted(self.helps()),
        )
    }
}

/// A string of JSON.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for one in text.chars() {
        match one {
            '"' | '\\' => quoted.extend(['\\', one]),
            one if one.is_control() => {
                let _ = write!(quoted, "\\u{:04x}", one as u32);
            }
            one => quoted.push(one),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_quoted() {
        assert_eq!(quoted("a"), r#""a""#);
        assert_eq!(
            quoted("a \"b\" \\ \n \u{1b} é"),
            r#""a \"b\" \\ \u000a \u001b é""#
        );
    }
}
