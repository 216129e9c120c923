//! Draws the state of `nvshmemrs-top`.

use super::app::{App, View};
use crate::info::print::{duration, size};
use nvshmemrs_inspect::{Allocation, Details, Heap, Pe, Snapshot, State};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Style, Stylize};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Block, Paragraph, Row, Table, Wrap};

/// The maximum number of rows of the job list.
const MOST_JOBS: u16 = 6;

/// The widths of the first column of the traffic matrix, and of the others.
const HEAD_COLUMN: u16 = 9;
const COLUMN: u16 = 13;

/// Draws the screen.
pub fn draw(app: &App, frame: &mut Frame<'_>) {
    let rows = (app.listing.jobs.len() + app.listing.others.len()).max(1) as u16;
    let [jobs, body, keys] = Layout::vertical([
        Constraint::Length(rows.min(MOST_JOBS) + 3),
        Constraint::Min(3),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    draw_jobs(app, frame, jobs);
    draw_job(app, frame, body);
    let help = " ↑↓ job   b board   t traffic   h heap   ←→ PE   PgUp PgDn allocations   q quit";
    frame.render_widget(Line::from(help).dim(), keys);
}

fn draw_jobs(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let chosen = app.position();
    let jobs = app.listing.jobs.iter().enumerate().map(|(place, job)| {
        let state = if job.forming { "in init" } else { "running" };
        let row = Row::new([
            job.pid.to_string(),
            job.user.to_string(),
            job.n_pes.to_string(),
            state.to_string(),
            duration(job.seconds),
            job.command.clone(),
        ]);
        match chosen == Some(place) {
            true => row.reversed(),
            false => row,
        }
    });
    let hidden = app.listing.others.iter().map(|(pid, user)| {
        let (pid, user) = (pid.to_string(), user.to_string());
        let why = "(only this user and an administrator can look into it)";
        Row::new([
            pid,
            user,
            String::new(),
            String::new(),
            String::new(),
            why.into(),
        ])
        .dim()
    });
    // The selected job stays on the screen.
    let skipped = chosen.map_or(0, |place| (place + 1).saturating_sub(MOST_JOBS.into()));
    let mut rows: Vec<Row<'_>> = jobs.chain(hidden).skip(skipped).collect();
    if rows.is_empty() {
        rows.push(Row::new(["no job runs on this machine"]));
    }
    let lone = app.listing.jobs.is_empty() && app.listing.others.is_empty();
    let widths = match lone {
        true => vec![Constraint::Fill(1)],
        false => [8, 6, 5, 8, 9]
            .map(Constraint::Length)
            .into_iter()
            .chain([Constraint::Fill(1)])
            .collect(),
    };
    let head = Row::new(["PID", "USER", "PEs", "STATE", "TIME", "COMMAND"]).bold();
    let table = Table::new(rows, widths).block(Block::bordered().title(" nvshmemrs jobs "));
    frame.render_widget(if lone { table } else { table.header(head) }, area);
}

fn draw_job(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let mut title = vec![" ".into()];
    for view in View::ALL {
        let name = view.name();
        title.push(if view == app.view {
            name.reversed()
        } else {
            name.into()
        });
        title.push(" ".into());
    }
    if let Some(pid) = app.chosen {
        title.push(format!("of job {pid} ").into());
    }
    let block = Block::bordered().title(Line::from(title));
    let mut inner = block.inner(area);
    frame.render_widget(block, area);
    if let Some(why) = &app.why {
        let [line, rest] =
            Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(inner);
        frame.render_widget(Line::from(why.as_str()).bold(), line);
        inner = rest;
    }
    let Some(seen) = &app.seen else {
        return;
    };
    match app.view {
        View::Board => draw_board(seen, app.pe, frame, inner),
        View::Traffic => draw_traffic(seen, app.pe, frame, inner),
        View::Heap => draw_heap(seen, app, frame, inner),
    }
}

/// The number of rows that are scrolled out below a header, so that the row of the selected PE is visible.
fn rows_left_out(chosen: usize, height: u16) -> usize {
    (chosen + 2).saturating_sub(height.into())
}

/// Highlights the row of the selected PE.
fn mark(row: Row<'_>, chosen: bool) -> Row<'_> {
    if chosen { row.reversed() } else { row }
}

fn draw_board(seen: &Snapshot, chosen: usize, frame: &mut Frame<'_>, area: Rect) {
    let height = seen.summary.len().min(4) as u16;
    let [summary, table] =
        Layout::vertical([Constraint::Length(height), Constraint::Min(0)]).areas(area);
    let lines: Vec<Line<'_>> = seen
        .summary
        .iter()
        .map(|line| Line::from(line.as_str()))
        .collect();
    frame.render_widget(
        Paragraph::new(Text::from(lines))
            .bold()
            .wrap(Wrap { trim: true }),
        summary,
    );
    let rows = seen.pes.iter().enumerate().map(|(place, pe)| {
        let waits_for: Vec<String> = pe.waits_for.iter().map(i32::to_string).collect();
        let row = Row::new([
            pe.pe.to_string(),
            pe.pid.to_string(),
            state(pe.state).to_string(),
            waits_for.join(","),
            pe.doing.clone(),
        ]);
        let row = match seen.culprits.contains(&pe.pe) {
            true => row.style(Style::new().bold().yellow()),
            false => row,
        };
        mark(row, place == chosen)
    });
    let widths = [
        Constraint::Length(4),
        Constraint::Length(8),
        Constraint::Length(10),
        Constraint::Length(10),
        Constraint::Fill(1),
    ];
    let head = Row::new(["PE", "PID", "STATE", "WAITS FOR", "DOING"]).bold();
    let rows = rows.skip(rows_left_out(chosen, table.height));
    frame.render_widget(Table::new(rows, widths).header(head), table);
}

fn state(state: State) -> &'static str {
    match state {
        State::Absent => "absent",
        State::Active => "active",
        State::Finalizing => "finalizing",
        State::Finalized => "finalized",
        State::Left => "left",
        State::Dead => "dead",
    }
}

/// The bytes that each PE has put to and got from each other PE.
fn draw_traffic(seen: &Snapshot, chosen: usize, frame: &mut Frame<'_>, area: Rect) {
    let counted = |pe: &Pe| {
        pe.details
            .as_ref()
            .is_some_and(|details| details.traffic.is_some())
    };
    if !seen.pes.iter().any(counted) {
        let line = "Nothing is counted: NVSHMEMRS_TRAFFIC=1 at the start of the job counts puts, gets, atomics and signals.";
        frame.render_widget(Paragraph::new(line).wrap(Wrap { trim: true }), area);
        return;
    }
    let cell = |from: &Pe, to: i32| {
        let traffic = from.details.as_ref()?.traffic.as_ref()?;
        let one = traffic.iter().find(|one| one.pe == to)?;
        let words = one.atomics + one.signals;
        let data = size(one.put_bytes + one.get_bytes);
        Some(if words > 0 {
            format!("{data} +{words}")
        } else {
            data
        })
    };
    let [lines, about] = Layout::vertical([Constraint::Min(0), Constraint::Length(1)]).areas(area);
    // The column of the selected PE is visible, as its row is.
    let columns = (lines.width.saturating_sub(HEAD_COLUMN) / (COLUMN + 1)).max(1);
    let left_out = (chosen + 1).saturating_sub(columns.into());
    let numbers = || seen.pes.iter().map(|pe| pe.pe).skip(left_out);
    let head =
        std::iter::once("from \\ to".to_string()).chain(numbers().map(|pe| format!("PE {pe}")));
    let rows = seen.pes.iter().enumerate().map(|(place, from)| {
        let cells = numbers().map(|to| cell(from, to).unwrap_or_else(|| "-".into()));
        let row = Row::new(std::iter::once(format!("PE {}", from.pe)).chain(cells));
        mark(row, place == chosen)
    });
    let widths = std::iter::once(Constraint::Length(HEAD_COLUMN))
        .chain(numbers().map(|_| Constraint::Length(COLUMN)));
    let rows = rows.skip(rows_left_out(chosen, lines.height));
    let table = Table::new(rows, widths).header(Row::new(head).bold());
    frame.render_widget(table, lines);
    frame.render_widget(
        Line::from("bytes put and got, + atomic operations and signals").dim(),
        about,
    );
}

fn draw_heap(seen: &Snapshot, app: &App, frame: &mut Frame<'_>, area: Rect) {
    let chosen = app.pe;
    let height = (seen.pes.len() as u16 + 1).min(area.height / 2);
    let [heaps, list] =
        Layout::vertical([Constraint::Length(height), Constraint::Min(0)]).areas(area);
    let rows = seen.pes.iter().enumerate().map(|(place, pe)| {
        let row = match &pe.details {
            Some(Details { heap, .. }) => Row::new([
                pe.pe.to_string(),
                bar(heap),
                size(heap.used_bytes),
                size(heap.bytes),
                size(heap.largest_free_bytes),
                heap.allocations.to_string(),
                heap.memory.clone(),
            ]),
            None => Row::new([pe.pe.to_string(), pe.silence.clone()]),
        };
        mark(row, place == chosen)
    });
    let widths = [4, 22, 9, 9, 13, 11]
        .map(Constraint::Length)
        .into_iter()
        .chain([Constraint::Fill(1)]);
    let head = Row::new([
        "PE",
        "HEAP",
        "USED",
        "OF",
        "LARGEST FREE",
        "ALLOCATIONS",
        "MEMORY",
    ])
    .bold();
    let table = Table::new(rows.skip(rows_left_out(chosen, height)), widths).header(head);
    frame.render_widget(table, heaps);
    let Some(Details {
        allocations,
        tracked,
        ..
    }) = seen.pes.get(chosen).and_then(|pe| pe.details.as_ref())
    else {
        return;
    };
    let first = app
        .first_allocation
        .min(allocations.len().saturating_sub(1));
    let rows = allocations.iter().skip(first).map(|one| {
        Row::new([
            one.offset.to_string(),
            size(one.bytes),
            place_of(one, *tracked),
        ])
    });
    let head = Row::new(["OFFSET", "BYTES", "MADE BY"]).bold();
    let widths = [
        Constraint::Length(14),
        Constraint::Length(9),
        Constraint::Fill(1),
    ];
    let title = format!(" allocations of PE {} ", seen.pes[chosen].pe);
    frame.render_widget(
        Table::new(rows, widths)
            .header(head)
            .block(Block::new().title(title)),
        list,
    );
}

fn place_of(allocation: &Allocation, tracked: bool) -> String {
    let mut text = match (&allocation.place, tracked) {
        (Some(place), _) => place.clone(),
        (None, true) => String::new(),
        (None, false) => "(NVSHMEMRS_TRACK=1 shows the line)".into(),
    };
    if allocation.released {
        text += " (released)";
    }
    if allocation.registered {
        text += " (registered buffer)";
    }
    text
}

/// A bar of 20 characters.
fn bar(heap: &Heap) -> String {
    let full = (heap.used_bytes as f64 / heap.bytes.max(1) as f64).clamp(0.0, 1.0);
    let filled = (full * 20.0).ceil() as usize;
    format!("{}{}", "█".repeat(filled), "░".repeat(20 - filled))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nvshmemrs_inspect::list::{Listed, Listing};
    use nvshmemrs_inspect::{Stage, Traffic};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::crossterm::event::KeyCode;

    fn pe(number: i32, traffic: Option<Vec<Traffic>>) -> Pe {
        let heap = Heap {
            memory: "host".into(),
            bytes: 64 << 20,
            used_bytes: 16 << 20,
            free_bytes: 48 << 20,
            largest_free_bytes: 40 << 20,
            allocations: 1,
            released: 0,
        };
        let allocation = Allocation {
            offset: 4096,
            bytes: 1536,
            place: Some("malloc at heat.c:31 (main)".into()),
            released: false,
            registered: false,
        };
        Pe {
            pe: number,
            pid: 100 + number as u32,
            state: State::Active,
            progress: 0,
            doing: format!("doing {number}"),
            waits_for: vec![1 - number],
            details: Some(Details {
                library: "0".into(),
                age: 0.0,
                fresh: true,
                settings: Vec::new(),
                heap,
                allocations: vec![allocation],
                allocations_left_out: 0,
                streams: Vec::new(),
                checker: None,
                traffic,
                tracked: true,
            }),
            silence: String::new(),
        }
    }

    fn app(traffic: Option<Vec<Traffic>>) -> App {
        let job = Listed {
            pid: 99,
            pes: vec![100, 101],
            n_pes: 2,
            forming: false,
            command: "./heat 7".into(),
            seconds: 75.0,
            user: 1000,
        };
        App {
            listing: Listing {
                jobs: vec![job],
                others: vec![(500, 1001)],
            },
            chosen: Some(101),
            seen: Some(Snapshot {
                stage: Stage::Running,
                n_pes: 2,
                summary: vec!["PE 1 holds the others up".into()],
                culprits: vec![1],
                circles: Vec::new(),
                pes: vec![pe(0, traffic), pe(1, None)],
                waits: Vec::new(),
                teams: Vec::new(),
                took: 0.0,
            }),
            ..App::default()
        }
    }

    /// The screen as text.
    fn screen(app: &App) -> String {
        let mut terminal = Terminal::new(TestBackend::new(100, 20)).expect("a screen");
        terminal.draw(|frame| draw(app, frame)).expect("to draw");
        terminal.backend().to_string()
    }

    #[track_caller]
    fn assert_shows(app: &App, words: &[&str]) {
        let text = screen(app);
        for word in words {
            assert!(text.contains(word), "no {word:?} in\n{text}");
        }
    }

    #[test]
    fn each_view_shows_the_chosen_job() {
        let moved = Traffic {
            pe: 1,
            puts: 3,
            put_bytes: 2000,
            gets: 1,
            get_bytes: 48,
            atomics: 4,
            signals: 1,
        };
        let mut app = app(Some(vec![moved]));
        assert_shows(
            &app,
            &[
                "99",
                "./heat 7",
                "1 min",
                "500",
                "only this user",
                "PE 1 holds",
                "doing 0",
                "doing 1",
            ],
        );
        app.press(KeyCode::Char('t'));
        assert_shows(&app, &["from \\ to", "2.0 KiB +5", "PE 1"]);
        app.press(KeyCode::Tab);
        assert_eq!(app.view, View::Heap);
        assert_shows(
            &app,
            &[
                "█████░",
                "16.0 MiB",
                "allocations of PE 0",
                "1.5 KiB",
                "heat.c:31",
            ],
        );
        app.press(KeyCode::Right);
        app.press(KeyCode::Right);
        assert_shows(&app, &["allocations of PE 1"]);
        // Both rows are of the selected job: its launcher and a PE.
        assert_eq!(app.position(), Some(0));
    }

    #[test]
    fn rows_and_columns_below_the_screen_come_with_the_chosen_pe() {
        let mut app = app(Some(Vec::new()));
        let seen = app.seen.as_mut().expect("a job");
        seen.pes = (0..40).map(|number| pe(number, Some(Vec::new()))).collect();
        for view in View::ALL {
            app.view = view;
            app.pe = 0;
            assert!(!screen(&app).contains("39"), "{view:?}");
            app.pe = 39;
            assert!(screen(&app).contains("39"), "{view:?}");
        }
        app.view = View::Heap;
        let seen = app.seen.as_mut().expect("a job");
        let allocations = &mut seen.pes[39].details.as_mut().expect("details").allocations;
        let second = Allocation {
            place: Some("malloc at heat.c:77 (main)".into()),
            ..allocations[0].clone()
        };
        allocations.push(second);
        assert_shows(&app, &["heat.c:31", "heat.c:77"]);
        app.press(KeyCode::PageDown);
        assert_shows(&app, &["heat.c:77"]);
        assert!(!screen(&app).contains("heat.c:31"));
        for _ in 0..2 {
            app.press(KeyCode::PageUp);
        }
        assert_shows(&app, &["heat.c:31"]);
        app.press(KeyCode::PageDown);
        app.press(KeyCode::Left);
        assert_shows(&app, &["allocations of PE 38", "heat.c:31"]);
    }

    #[test]
    fn a_job_that_counts_nothing_or_has_ended_says_so() {
        let mut ended = app(None);
        ended.view = View::Traffic;
        assert_shows(&ended, &["NVSHMEMRS_TRAFFIC=1"]);
        ended.why = Some("the job has ended; these are its last values".into());
        ended.listing = Listing::default();
        ended.view = View::Board;
        assert_shows(
            &ended,
            &[
                "no job runs on this machine",
                "the job has ended",
                "doing 1",
            ],
        );
        assert_shows(&App::default(), &["no job runs"]);
    }
}
