//! The tuning file: a table for each GPU model, link and size of team, in JSON.
//!
//! ```json
//! {
//!   "version": 1,
//!   "tables": [
//!     {"gpu": "NVIDIA H200", "link": "nvlink", "n_pes": 2, "rows": [
//!       {"collective": "reduce", "up_to": 524288, "algorithm": "flags", "blocks": 64, "threads": 256},
//!       {"collective": "reduce", "algorithm": "direct", "blocks": 64, "threads": 512, "chunk": 65536}
//!     ]}
//!   ]
//! }
//! ```
//!
//! The rows of a collective are ordered by `up_to`. The last row has no `up_to`: it holds for all larger sizes, and is not `flags` or `lamport`,
//! as staging memory is limited.

use super::{Algorithm, COLLECTIVES, Choice, Link};
use crate::operation::Operation;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// The version of the format.
const VERSION: u32 = 1;

/// A tuning file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TuningFile {
    /// The tables, for different GPU models, links or team sizes.
    pub tables: Vec<Table>,
}

/// The choices for teams of up to `n_pes` PEs.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// The name of the GPU model, as `nvidia-smi -L` prints it.
    pub gpu: String,
    /// How the GPUs are linked.
    pub link: Link,
    /// The largest team that the table holds for.
    #[serde(deserialize_with = "n_pes")]
    pub n_pes: u32,
    /// The table's author and date, for readers.
    pub written: Option<String>,
    /// The choices.
    #[serde(deserialize_with = "rows")]
    pub rows: Vec<Row>,
}

/// A choice for a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The collective.
    pub collective: Operation,
    /// The choice.
    pub choice: Choice,
}

/// A row in the format of the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RowText {
    collective: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    up_to: Option<u64>,
    algorithm: Algorithm,
    blocks: u32,
    threads: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    chunk: u32,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl TryFrom<RowText> for Row {
    type Error = String;

    fn try_from(text: RowText) -> Result<Row, String> {
        let named = |one: &&Operation| one.name() == text.collective;
        let Some(&collective) = COLLECTIVES.iter().find(named) else {
            let names = COLLECTIVES.map(Operation::name).join(", ");
            return Err(format!(
                "`collective` is \"{}\", not one of {names}",
                text.collective
            ));
        };
        if !text.algorithm.does(collective) {
            return Err(format!(
                "{} has no algorithm {}",
                collective.name(),
                word(&text.algorithm)
            ));
        }
        let chunks = matches!(collective, Operation::Reduce | Operation::Broadcast);
        if text.chunk != 0 && !(chunks && text.algorithm == Algorithm::Direct) {
            return Err(format!(
                "`chunk` is {}, but only reduce and broadcast with the algorithm \"direct\" have chunks",
                text.chunk
            ));
        }
        let choice = Choice {
            up_to: text.up_to.unwrap_or(u64::MAX),
            algorithm: text.algorithm,
            blocks: text.blocks,
            threads: text.threads,
            chunk: text.chunk,
        };
        match choice.out_of_range() {
            None => Ok(Row { collective, choice }),
            Some((name, value, range)) => Err(format!("`{name}` is {value}, not {range}")),
        }
    }
}

impl From<Row> for RowText {
    fn from(row: Row) -> RowText {
        let Choice {
            up_to,
            algorithm,
            blocks,
            threads,
            chunk,
        } = row.choice;
        RowText {
            collective: row.collective.name().into(),
            up_to: (up_to != u64::MAX).then_some(up_to),
            algorithm,
            blocks,
            threads,
            chunk,
        }
    }
}

fn n_pes<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    match u32::deserialize(from)? {
        n_pes @ 2..=4096 => Ok(n_pes),
        other => Err(D::Error::custom(format!(
            "`n_pes` is {other}, not a number from 2 to 4096"
        ))),
    }
}

/// Reads rows. Each row is checked while the parser is at it, so that an error names its line.
fn rows<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Row>, D::Error> {
    struct Rows;

    impl<'de> Visitor<'de> for Rows {
        type Value = Vec<Row>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of rows")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<Row>, A::Error> {
            let mut rows: Vec<Row> = Vec::new();
            while let Some(row) = list.next_element_seed(RowAfter(&rows))? {
                rows.push(row);
            }
            for collective in COLLECTIVES {
                let ends = |last: &Row| {
                    last.choice.up_to == u64::MAX && last.choice.algorithm.has_no_limit()
                };
                if last_of(&rows, collective).is_some_and(|last| !ends(&last)) {
                    return Err(A::Error::custom(format!(
                        "the last row of {} must have no `up_to` and an algorithm that holds for any size: not \"flags\" or \"lamport\"",
                        collective.name()
                    )));
                }
            }
            Ok(rows)
        }
    }

    from.deserialize_seq(Rows)
}

fn last_of(rows: &[Row], collective: Operation) -> Option<Row> {
    let mut back = rows.iter().rev();
    back.find(|row| row.collective == collective).copied()
}

/// Reads the row that follows the given rows.
struct RowAfter<'a>(&'a [Row]);

impl<'de> DeserializeSeed<'de> for RowAfter<'_> {
    type Value = Row;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Row, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for RowAfter<'_> {
    type Value = Row;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a row")
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Row, A::Error> {
        let text = RowText::deserialize(MapAccessDeserializer::new(fields))?;
        let row = Row::try_from(text).map_err(A::Error::custom)?;
        let name = row.collective.name();
        match last_of(self.0, row.collective) {
            Some(before) if before.choice.up_to == u64::MAX => Err(A::Error::custom(format!(
                "a row of {name} follows the one without `up_to`, which is the last"
            ))),
            Some(before) if before.choice.up_to >= row.choice.up_to => {
                Err(A::Error::custom(format!(
                    "`up_to` is {}, not more than {} of the row of {name} before it",
                    row.choice.up_to, before.choice.up_to
                )))
            }
            _ => Ok(row),
        }
    }
}

/// The beginning of a file in every version of the format.
#[derive(Deserialize)]
struct Head {
    version: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    #[serde(rename = "version")]
    _version: u32,
    tables: Vec<Table>,
}

impl TuningFile {
    /// Parses the text of a file; an error names the line and the reason.
    pub fn parse(text: &str) -> Result<TuningFile, String> {
        let at = |error: serde_json::Error| {
            let text = error.to_string();
            let place = format!(" at line {} column {}", error.line(), error.column());
            let why = text.strip_suffix(&place).unwrap_or(&text);
            format!("line {}: {why}", error.line())
        };
        let Head { version } = serde_json::from_str(text).map_err(at)?;
        if version != VERSION {
            let found = text.lines().position(|line| line.contains("\"version\""));
            return Err(format!(
                "line {}: its format has version {version}, and this library reads version {VERSION}",
                found.map_or(1, |line| line + 1)
            ));
        }
        let Body { tables, .. } = serde_json::from_str(text).map_err(at)?;
        for (index, table) in tables.iter().enumerate() {
            if tables[..index].iter().any(|other| other.is_like(table)) {
                return Err(format!(
                    "two tables are for {}, link {}, {} PEs",
                    table.gpu,
                    word(&table.link),
                    table.n_pes
                ));
            }
        }
        Ok(TuningFile { tables })
    }

    /// The text of the file, one row per line.
    pub fn text(&self) -> String {
        let tables = self.tables.iter().map(Table::text);
        let tables: Vec<String> = tables.collect();
        format!(
            "{{\n  \"version\": {VERSION},\n  \"tables\": [\n{}\n  ]\n}}\n",
            tables.join(",\n")
        )
    }

    /// Adds a table; it replaces a table for the same GPU model, link and team size.
    pub fn put(&mut self, table: Table) {
        self.tables.retain(|other| !other.is_like(&table));
        self.tables.push(table);
    }

    /// The tables for a GPU model and a link.
    pub(crate) fn tables_for(&self, gpu: &str, link: Link) -> impl Iterator<Item = &Table> {
        let gpu = gpu.to_owned();
        let tables = self.tables.iter();
        tables.filter(move |table| table.gpu == gpu && table.link == link)
    }
}

impl Table {
    fn is_like(&self, other: &Table) -> bool {
        (&self.gpu, self.link, self.n_pes) == (&other.gpu, other.link, other.n_pes)
    }

    fn text(&self) -> String {
        let rows = self.rows.iter().map(|row| word(&RowText::from(*row)));
        let rows: Vec<String> = rows.map(|row| format!("      {row}")).collect();
        let written = self.written.as_ref();
        let written = written.map(|text| format!("\"written\": {}, ", word(text)));
        format!(
            "    {{\"gpu\": {}, \"link\": {}, \"n_pes\": {}, {}\"rows\": [\n{}\n    ]}}",
            word(&self.gpu),
            word(&self.link),
            self.n_pes,
            written.unwrap_or_default(),
            rows.join(",\n")
        )
    }
}

/// A value in JSON; the values here cannot fail to serialize.
fn word(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// The tables that come with the library.
pub(super) fn shipped() -> TuningFile {
    // A test parses this file.
    TuningFile::parse(include_str!("defaults.json")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_rows(rows: &[&str]) -> String {
        let table = r#"{"gpu": "G", "link": "nvlink", "n_pes": 2, "rows": ["#;
        format!(
            "{{\n\"version\": 1,\n\"tables\": [\n{table}\n{}\n]}}\n]}}\n",
            rows.join(",\n")
        )
    }

    const LAST: &str = r#"{"collective": "reduce", "algorithm": "direct", "blocks": 64, "threads": 512, "chunk": 32768}"#;

    fn row(collective: &str, up_to: u64, algorithm: &str, rest: &str) -> String {
        format!(
            r#"{{"collective": "{collective}", "up_to": {up_to}, "algorithm": "{algorithm}", {rest}}}"#
        )
    }

    #[test]
    fn a_file_goes_there_and_back() {
        let flags = row("reduce", 512, "flags", r#""blocks": 1, "threads": 32"#);
        let file = TuningFile::parse(&of_rows(&[&flags, LAST])).unwrap();
        let rows = &file.tables[0].rows;
        assert_eq!((rows[0].choice.up_to, rows[0].choice.chunk), (512, 0));
        assert_eq!(
            (rows[1].choice.up_to, rows[1].choice.chunk),
            (u64::MAX, 32768)
        );
        assert_eq!(TuningFile::parse(&file.text()), Ok(file.clone()));
        let mut more = file.clone();
        let mut other = file.tables[0].clone();
        other.n_pes = 4;
        other.written = Some("now, by \"somebody\"".into());
        more.put(other);
        more.put(file.tables[0].clone());
        assert_eq!(more.tables.len(), 2);
        assert_eq!(TuningFile::parse(&more.text()), Ok(more));
        assert_eq!(
            TuningFile::parse(&TuningFile::default().text()),
            Ok(TuningFile::default())
        );
        let engines =
            r#"{"collective": "fcollect", "algorithm": "engines", "blocks": 64, "threads": 512}"#;
        let file = TuningFile::parse(&of_rows(&[engines])).unwrap();
        assert_eq!(file.tables[0].rows[0].choice.algorithm, Algorithm::Engines);
        assert_eq!(TuningFile::parse(&file.text()), Ok(file));
    }

    #[test]
    fn errors_have_their_line() {
        let good = r#""blocks": 64, "threads": 256"#;
        let first = |text: &str| of_rows(&[text, LAST]);
        let of = |rest: &str| first(&row("reduce", 512, "flags", rest));
        let (blocks, threads) = (r#""blocks": 64"#, r#""threads": 256"#);
        #[rustfmt::skip]
        let cases = [
            (first(&row("reduse", 512, "flags", good)), "line 5: `collective` is \"reduse\", not one of broadcast, "),
            (first(&row("barrier", 512, "flags", good)), "line 5: `collective` is \"barrier\""),
            (first(&row("reduce", 512, "ring", good)), "line 5: unknown variant `ring`"),
            (first(&row("alltoalls", 512, "flags", good)), "line 5: alltoalls has no algorithm \"flags\""),
            (first(&row("reduce", 512, "engines", good)), "line 5: reduce has no algorithm \"engines\""),
            (
                first(&row(
                    "broadcast",
                    512,
                    "engines",
                    &format!("{good}, \"chunk\": 1024"),
                )),
                "line 5: `chunk` is 1024, but only",
            ),
            (of(&format!("{threads}, \"blocks\": 0")), "line 5: `blocks` is 0"),
            (of(&format!("{threads}, \"blocks\": 129")), "line 5: `blocks` is 129"),
            (of(&format!("{threads}, \"blocks\": -1")), "line 5: invalid value"),
            (of(&format!("{threads}, \"blocks\": 1e3")), "line 5: invalid type"),
            (of(threads), "line 5: missing field `blocks`"),
            (of(&format!("{blocks}, \"threads\": 33")), "line 5: `threads` is 33, not a multiple of 32"),
            (of(&format!("{blocks}, \"threads\": 1024")), "line 5: `threads` is 1024"),
            (of(&format!("{good}, \"chunk\": 2048")), "line 5: `chunk` is 2048, but only"),
            (of(&format!("{good}, \"chunks\": 2048")), "line 5: unknown field `chunks`"),
            (
                first(&row(
                    "reduce",
                    512,
                    "direct",
                    &format!("{good}, \"chunk\": 1000"),
                )),
                "line 5: `chunk` is 1000",
            ),
            (
                first(&row(
                    "fcollect",
                    512,
                    "direct",
                    &format!("{good}, \"chunk\": 1024"),
                )),
                "line 5: `chunk` is 1024, but only",
            ),
            (first(LAST), "line 6: a row of reduce follows"),
            (of_rows(&[&row("reduce", 8, "flags", good), &row("reduce", 8, "flags", good), LAST]), "line 6: `up_to` is 8, not more than 8"),
            (of_rows(&[&row("reduce", 8, "direct", good)]), "line 6: the last row of reduce"),
            (of_rows(&[LAST]).replace("direct", "flags").replace(", \"chunk\": 32768", ""), "line 6: the last row of reduce"),
            (of_rows(&[LAST]).replace("\"n_pes\": 2", "\"n_pes\": 1"), "line 4: `n_pes` is 1"),
            (of_rows(&[LAST]).replace("nvlink", "wire"), "line 4: unknown variant `wire`"),
            (of_rows(&[LAST]).replace("\"version\": 1", "\"version\": 3"), "line 2: its format has version 3"),
            (of_rows(&[LAST]).replace("\"version\": 1,", ""), "line 7: missing field `version`"),
            ("[]".into(), "line 1: "),
            (String::new(), "line 1: EOF"),
            (of_rows(&[LAST]).replacen("]}", "", 2), "line 8: EOF"),
        ];
        for (text, words) in cases {
            let why = TuningFile::parse(&text).unwrap_err();
            assert!(why.starts_with(words), "{why}, not {words}: {text}");
        }
        let mut twice = TuningFile::parse(&of_rows(&[LAST])).unwrap();
        twice.tables.push(twice.tables[0].clone());
        let why = TuningFile::parse(&twice.text()).unwrap_err();
        assert!(why.contains("two tables are for G"), "{why}");
    }

    #[test]
    fn the_tables_that_come_with_the_library_are_read() {
        let text = include_str!("defaults.json");
        assert_eq!(TuningFile::parse(text), Ok(shipped()));
        assert!(
            shipped()
                .tables_for("no GPU", Link::Nvlink)
                .next()
                .is_none()
        );
    }
}
