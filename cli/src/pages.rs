//! Shell completions and a manual page of a tool, generated from the same table as `--help`.

use crate::console;
use anyhow::Context;
use clap::{Arg, ArgAction, Command, Parser, value_parser};
use clap_complete::{Shell, generate};
use std::ffi::OsString;
use std::process::ExitCode;

const COMPLETIONS: &str = "completions";
const MAN: &str = "man";

/// The command line of a tool, with the options that print its pages.
pub fn command<A: Parser>() -> Command {
    let completions = Arg::new(COMPLETIONS)
        .long(COMPLETIONS)
        .value_name("SHELL")
        .value_parser(value_parser!(Shell))
        .exclusive(true)
        .help("Print shell completions of this command, and exit");
    let man = Arg::new(MAN)
        .long(MAN)
        .action(ArgAction::SetTrue)
        .exclusive(true)
        .help("Print the manual page, and exit; `| man -l -` shows it");
    A::command().args([completions, man])
}

/// Parses the command line; returns an exit status if it only asked for help or pages.
pub fn parse<A: Parser>(words: impl IntoIterator<Item = OsString>) -> Result<A, ExitCode> {
    let mut command = command::<A>();
    let matches = command.try_get_matches_from_mut(words);
    let matches = matches.unwrap_or_else(|error| error.exit());
    let name = command.get_name().to_string();
    let mut text = Vec::new();
    if let Some(&shell) = matches.get_one::<Shell>(COMPLETIONS) {
        generate(shell, &mut command, &name, &mut text);
    } else if matches.get_flag(MAN) {
        // Writing to a Vec cannot fail.
        let _ = clap_mangen::Man::new(command).render(&mut text);
    } else {
        return Ok(
            A::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut command).exit())
        );
    }
    let printed = console::print(&String::from_utf8_lossy(&text));
    match printed.context("cannot write to standard output") {
        Ok(()) => Err(ExitCode::SUCCESS),
        Err(error) => {
            console::error(format_args!("{name}: {error:#}"));
            Err(ExitCode::FAILURE)
        }
    }
}
