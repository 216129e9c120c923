//! `nvshmemrs-top`: the jobs of this machine in a terminal, and the wait board, the traffic and the heaps of a selected job.
//!
//! * [`app`]: the jobs, the selected job and the keys. [`draw`]: the screen.

pub mod app;
pub mod draw;

use crate::{console, pages};
use anyhow::{Context, Result, ensure};
use app::App;
use clap::Parser;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Shows the jobs of this machine, and of one of them the waits, the traffic and the heaps.
#[derive(Debug, Parser)]
#[command(name = "nvshmemrs-top", version)]
struct Args {
    /// The job to begin with: its launcher or any of its PEs; else the first job.
    #[arg(value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pid: Option<u32>,

    /// How often to look, in seconds, from 0.1 to 3600.
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = interval)]
    interval: Duration,
}

fn interval(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.1..=3600.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("must be from 0.1 to 3600 seconds".into()),
    }
}

/// The program `nvshmemrs-top`.
pub fn main() -> ExitCode {
    console::survive_writes();
    let args = match pages::parse(std::env::args_os()) {
        Ok(args) => args,
        Err(status) => return status,
    };
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console::error(format_args!("nvshmemrs-top: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<()> {
    ensure!(
        std::io::stdin().is_terminal() && std::io::stdout().is_terminal(),
        "standard input and output must be a terminal; `nvshmemrs-info --jobs` and `nvshmemrs-info --job PID` print the same once"
    );
    let mut app = App::new(args.pid)?;
    let mut terminal = ratatui::try_init().context("cannot use the terminal")?;
    let result = show(&mut app, &mut terminal, args.interval);
    ratatui::try_restore().context("cannot give the terminal back")?;
    result
}

fn show(app: &mut App, terminal: &mut ratatui::DefaultTerminal, interval: Duration) -> Result<()> {
    loop {
        app.refresh();
        let next = Instant::now() + interval;
        loop {
            terminal
                .draw(|frame| draw::draw(app, frame))
                .context("cannot write to the terminal")?;
            let left = next.saturating_duration_since(Instant::now());
            if !event::poll(left).context("cannot read from the terminal")? {
                break;
            }
            let event = event::read().context("cannot read from the terminal")?;
            if let Event::Key(key) = event
                && key.kind == KeyEventKind::Press
            {
                if app.leaves(key) {
                    return Ok(());
                }
                app.press(key.code);
            }
        }
    }
}
