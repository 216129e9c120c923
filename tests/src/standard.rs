//! Programs of a standard's names, OpenSHMEM's or NVSHMEM's, and the tests that both have.

use crate::compile::compile_as;
use crate::hosts::{host, mpirun};
use crate::{HANG, Output, bin, launcher, program, run};
use std::path::PathBuf;
use std::process::Command;

/// A standard whose names a library of the project has.
pub struct Standard {
    /// The prefix of the functions, which is also the folder of the programs and a part of the library's name.
    pub prefix: &'static str,
    /// Variables that jobs of these programs get.
    pub variables: &'static [(&'static str, &'static str)],
}

/// A mistake that `names/misuse.c` makes, the function that the report names, and words of the reason. `*` stands for the prefix.
pub type Mistake = (&'static str, &'static str, &'static str);

/// Mistakes in functions that both standards have.
#[rustfmt::skip]
const MISTAKES: &[Mistake] = &[
    ("before init", "*_long_p", "it was called before `*_init`"),
    ("my_pe before init", "*_my_pe", "it was called before `*_init`"),
    ("finalize before init", "*_finalize", "it was called before `*_init`"),
    ("after finalize", "*_long_put", "it was called after `*_finalize`"),
    ("once more", "*_finalize", "once more than `*_init`"),
    ("pe", "*_long_put", "`pe` is PE 2"),
    ("stack collective", "*_long_sum_reduce", "outside the symmetric heap"),
    ("bounds", "*_long_put", "past the end of the allocation"),
    ("overflow", "*_long_put", "18446744073709551615 bytes"),
    ("null", "*_long_get", "`NULL`"),
    ("alignment", "*_int_atomic_inc", "multiple of 4"),
    ("destroyed team", "*_team_n_pes", "it was destroyed"),
    ("predefined team", "*_team_destroy", "WORLD"),
    ("free", "*_free", "the start of a live symmetric allocation"),
];

/// Every PE reports that all was as expected.
#[track_caller]
pub fn same(output: &Output, n_pes: u32) {
    output.assert_success();
    assert_eq!(reports(output), n_pes as usize, "{}", output.describe());
}

/// The number of PEs that report that all was as expected.
pub fn reports(output: &Output) -> usize {
    let lines = output.stdout.lines();
    lines.filter(|line| line.ends_with(": same")).count()
}

impl Standard {
    /// How programs are linked with the library.
    #[track_caller]
    pub fn linked(&self) -> [String; 2] {
        let library = bin(&format!("libnvshmemrs_{}.so", self.prefix));
        ["-Wl,--no-as-needed".into(), library.display().to_string()]
    }

    /// Compiles a program of the standard's folder under a name of its own, with further options.
    #[track_caller]
    pub fn compiled(&self, name: &str, as_name: &str, options: &[&str]) -> PathBuf {
        let linked = self.linked();
        let options = [options, &linked.each_ref().map(String::as_str)].concat();
        let source = program(&format!("{}/{name}", self.prefix));
        compile_as(&source, &format!("{}-{as_name}", self.prefix), &options)
    }

    fn configured(&self, mut command: Command) -> Command {
        command.envs(self.variables.iter().copied());
        command
    }

    /// A job under the launcher.
    #[track_caller]
    pub fn job(&self, n_pes: u32, options: &[&str]) -> Command {
        self.configured(launcher(n_pes, options))
    }

    /// A program passes with one to four PEs.
    #[track_caller]
    pub fn conforms(&self, name: &str) {
        let program = self.compiled(&format!("{name}.c"), name, &[]);
        for n_pes in 1..=4 {
            same(&run(self.job(n_pes, &[]).arg(&program), HANG), n_pes);
        }
    }

    /// Programs pass with three PEs on two hosts, where every operation to a remote PE is a message.
    #[track_caller]
    pub fn conform_on_two_hosts(&self, names: &[&str]) {
        for name in names {
            let program = self.compiled(&format!("{name}.c"), &format!("{name}-hosts"), &[]);
            let hosts = [host("a", 2), host("b", 1)];
            let mut command = self.configured(mpirun(&[], &hosts, &[program.into()]));
            same(&run(&mut command, HANG * 3), 3);
        }
    }

    /// A program that no launcher has started is one PE.
    #[track_caller]
    pub fn conforms_without_a_launcher(&self) {
        let program = self.compiled("teams.c", "teams-alone", &[]);
        let mut command = self.configured(Command::new(program));
        same(&run(&mut command, HANG), 1);
    }

    /// Runs `names/misuse.c` with this mistake.
    #[track_caller]
    pub fn misuse(&self, mistake: &str, n_pes: u32) -> Output {
        run(&mut self.misusing(mistake, n_pes), HANG)
    }

    #[track_caller]
    fn misusing(&self, mistake: &str, n_pes: u32) -> Command {
        let mut command = self.job(n_pes, &[]);
        command.arg(self.misuse_program("misuse", &[])).arg(mistake);
        command
    }

    /// Compiles `names/misuse.c` under a name of its own, with further options.
    #[track_caller]
    pub fn misuse_program(&self, as_name: &str, options: &[&str]) -> PathBuf {
        let standard = format!("-DIN_{}", self.prefix);
        let options = [options, &[&standard, "-g"]].concat();
        self.compiled("../names/misuse.c", as_name, &options)
    }

    /// Each of the mistakes that both standards know, and of `more`, ends the job with a report of the function, the line and the reason.
    #[track_caller]
    pub fn reports_mistakes(&self, more: &[Mistake]) {
        for (mistake, function, reason) in MISTAKES.iter().chain(more) {
            let output = self.misuse(mistake, 2);
            let [function, reason] = [function, reason].map(|text| text.replace('*', self.prefix));
            output.assert_code(1);
            output.assert_stderr(&format!("{function} at "));
            output.assert_stderr("misuse.c:").assert_stderr(&reason);
            // Once in a process.
            let reports = output.stderr.lines();
            let reports = reports.filter(|line| line.starts_with("nvshmemrs: "));
            assert!((1..=2).contains(&reports.count()), "{}", output.describe());
        }
    }

    /// With `NVSHMEMRS_ON_ERROR=return` a program goes on after each of these mistakes, and `nvshmemrs_last_error` has these words.
    #[track_caller]
    pub fn goes_on_after(&self, mistakes: &[(&str, &str)]) {
        let function = format!("{}_", self.prefix);
        for (mistake, words) in mistakes {
            let mut command = self.misusing(mistake, 2);
            let output = run(command.env("NVSHMEMRS_ON_ERROR", "return"), HANG).succeeded();
            let mut lines = output.stdout.lines();
            let has_words = |line: &str| line.contains(" goes on: ") && line.contains(words);
            assert!(lines.any(has_words), "{words}: {}", output.describe());
            output.assert_no_stderr(&function);
        }
    }

    /// `global_exit` ends all processes, with the output that they have written.
    #[track_caller]
    pub fn global_exit_ends_all(&self) {
        let output = self.misuse("global_exit", 3);
        output.assert_code(7);
        output.assert_each(0..3, |pe| format!("PE {pe} has something to say"));
    }
}
