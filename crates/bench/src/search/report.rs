//! The tables of what was measured.

use std::fmt::Write as _;

use super::{Bench, HUNTS, Row, SEEDS, STRESS_LIMIT, STRESS_RUNS, Way};
use crate::measure::median;
use crate::nidhugg::{Ended, Nidhugg};

impl Way {
    /// The median over all seeds; none: with most of them the program did not fail.
    fn median(&self) -> Option<u64> {
        let mut runs: Vec<u64> = self.failed.iter().map(|&(runs, _)| runs).collect();
        runs.sort_unstable();
        runs.get(self.seeds as usize / 2).copied()
    }

    /// Whether the program fails within this number of runs with most seeds.
    fn fails_within(&self, runs: u64) -> bool {
        self.median().is_some_and(|median| median <= runs)
    }

    /// The medians of those seeds with which the program failed, and with how many it did.
    fn shown(&self) -> String {
        let failed = self.failed.len() as u64;
        let seeds = match (failed, self.seeds) {
            (0, SEEDS) | (SEEDS, SEEDS) => String::new(),
            (0, seeds) => format!(" ({seeds} seeds)"),
            (some, seeds) => format!(" ({some} of {seeds} seeds)"),
        };
        if failed == 0 {
            return format!("-{seeds} | -");
        }
        let runs = median(self.failed.iter().map(|&(runs, _)| runs as f64).collect());
        let cpu = median(self.failed.iter().map(|&(_, cpu)| cpu).collect());
        format!("{runs}{seeds} | {cpu:.2}")
    }
}

pub(super) fn introduction(bench: &Bench<'_>) -> String {
    let policy_runs = bench.policy_runs;
    format!(
        "\n`FORETELL_SUITES=.. cargo xtask bench search`: programs that are known to fail, fetched and not kept, built as their suites do (-O0). *Hunt* is `foretell hunt` of {} s, \
         and of {} s with the seeds that do not fail in that time, up to the first run that crashes, aborts, fails an assertion or hangs; *random* and *pct* are runs under these policies alone, up to {policy_runs}, each with the next seed; *stress* is \
         the plain program, up to {STRESS_RUNS} runs or {} s. Runs, and CPU seconds of everything including the tool, until the first failure: medians of those of {SEEDS} seeds with which it failed, and how many these are if not all, or of how many if there were fewer. A dash: it did not fail. *Nidhugg* is {}: the traces that it ran until one failed; *none of N* means that it ran all N, and none fails.\n\n",
        HUNTS[0],
        HUNTS[1],
        STRESS_LIMIT.as_secs(),
        Nidhugg::described(),
    )
}

pub(super) fn table(rows: &[Row], bench: &Bench<'_>) -> String {
    let mut text = String::new();
    let mut group = "";
    for row in rows {
        if row.group != group {
            group = &row.group;
            let _ = write!(
                text,
                "\n{group}:\n\n| program | hunt: runs | CPU s | random: runs | CPU s | pct: runs | CPU s | stress: runs | CPU s | Nidhugg: traces | CPU s | confirmed instead of a failure |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n"
            );
        }
        let stress = row.stress.map_or("- | -".to_owned(), |(runs, cpu)| format!("{runs} | {cpu:.2}"));
        let nidhugg = row.nidhugg.as_ref().map_or("not measured | -".to_owned(), Ended::shown);
        let (hunt, random, pct) = (row.hunt.shown(), row.random.shown(), row.pct.shown());
        let _ = writeln!(
            text,
            "| {} | {hunt} | {random} | {pct} | {stress} | {nidhugg} | {} |",
            row.name, row.confirmed
        );
    }
    let failed = |way: fn(&Row) -> bool| rows.iter().filter(|row| way(row)).count();
    let _ = writeln!(
        text,
        "\nOf {} programs, at least one seed fails: hunt {}, random {}, pct {}; stress fails {}.",
        rows.len(),
        failed(|row| !row.hunt.failed.is_empty()),
        failed(|row| !row.random.failed.is_empty()),
        failed(|row| !row.pct.failed.is_empty()),
        failed(|row| row.stress.is_some()),
    );
    text.push_str(&within(rows, bench.policy_runs));
    text.push_str(&compared(rows, bench.policy_runs));
    text.push_str(&beside_nidhugg(rows));
    text
}

/// How many programs fail within how many runs, with most seeds.
fn within(rows: &[Row], policy_runs: u64) -> String {
    let numbers: Vec<u64> = [1, 10, 100, 1000].into_iter().filter(|&runs| runs <= policy_runs).collect();
    let of = |name: &str, way: fn(&Row) -> &Way| {
        let fails = |runs: &u64| rows.iter().filter(|row| way(row).fails_within(*runs)).count().to_string();
        format!("{name} {}", numbers.iter().map(fails).collect::<Vec<_>>().join(", "))
    };
    format!(
        "\nPrograms that fail with most seeds within {} runs: {}; {}; {}.\n",
        numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
        of("hunt", |row| &row.hunt),
        of("random", |row| &row.random),
        of("pct", |row| &row.pct),
    )
}

/// The medians over all programs, and how often the hunt needs a tenth of the runs that random priorities do.
fn compared(rows: &[Row], policy_runs: u64) -> String {
    let of = |way: fn(&Row) -> &Way| {
        let mut medians: Vec<u64> = rows.iter().map(|row| way(row).median().unwrap_or(u64::MAX)).collect();
        medians.sort_unstable();
        match medians[medians.len() / 2] {
            u64::MAX => format!("more than {policy_runs}"),
            median => median.to_string(),
        }
    };
    let hard = rows.iter().filter(|row| row.pct.median().is_none_or(|runs| runs >= 10));
    let pairs: Vec<(Option<u64>, Option<u64>)> =
        hard.map(|row| (row.hunt.median(), row.pct.median())).collect();
    let tenth = |&&(hunt, pct): &&(Option<u64>, Option<u64>)| {
        hunt.is_some_and(|hunt| 10 * hunt <= pct.unwrap_or(policy_runs))
    };
    let fewer = |&&(hunt, pct): &&(Option<u64>, Option<u64>)| {
        hunt.is_some_and(|hunt| pct.is_none_or(|pct| hunt < pct))
    };
    format!(
        "\nMedian over the programs of the median runs of each, a seed that does not fail counted as endless: hunt {}, random {}, pct {}. Of the {} programs for which pct needs ten runs \
         or more, the hunt needs fewer for {}, and a tenth at most for {} (where pct does not fail, a tenth of {policy_runs}).\n",
        of(|row| &row.hunt),
        of(|row| &row.random),
        of(|row| &row.pct),
        pairs.len(),
        pairs.iter().filter(fewer).count(),
        pairs.iter().filter(tenth).count(),
    )
}

/// What Nidhugg comes to in the programs that it accepts, and the hunt in the same.
fn beside_nidhugg(rows: &[Row]) -> String {
    let fails = |row: &Row| matches!(row.nidhugg, Some(Ended::Failed { .. }));
    let refused = |row: &&Row| matches!(row.nidhugg, Some(Ended::Refused { .. }));
    let measured: Vec<&Row> = rows.iter().filter(|row| row.nidhugg.is_some()).collect();
    if measured.is_empty() {
        return "\nNidhugg was not measured.\n".to_owned();
    }
    let both: Vec<(f64, f64)> = measured
        .iter()
        .filter_map(|row| match &row.nidhugg {
            Some(Ended::Failed { cpu, .. }) if row.hunt.median().is_some() => {
                Some((median(row.hunt.failed.iter().map(|&(_, cpu)| cpu).collect()), *cpu))
            }
            _ => None,
        })
        .collect();
    let of = |way: fn(&(f64, f64)) -> f64| match both.is_empty() {
        true => "-".to_owned(),
        false => format!("{:.2}", median(both.iter().map(way).collect())),
    };
    format!(
        "\nNidhugg was tried with {} programs. It does not take {}, and of the others it finds an error in {}. In the {} in which the hunt finds a failure, too, the median of the CPU seconds is {} for the hunt and {} for Nidhugg.\n",
        measured.len(),
        measured.iter().copied().filter(refused).count(),
        measured.iter().filter(|row| fails(row)).count(),
        both.len(),
        of(|&(hunt, _)| hunt),
        of(|&(_, nidhugg)| nidhugg),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(hunt: &[u64], pct: &[u64]) -> Row {
        let way = |runs: &[u64]| Way { failed: runs.iter().map(|&runs| (runs, 0.1)).collect(), seeds: 3 };
        let (name, group, confirmed) = ("p".to_owned(), "g".to_owned(), String::new());
        let (hunt, random, pct) = (way(hunt), way(&[]), way(pct));
        Row { name, group, hunt, confirmed, random, pct, stress: None, nidhugg: None }
    }

    #[test]
    fn most_seeds_say_within_how_many_runs_a_program_fails() {
        let rows = [row(&[1, 2, 9], &[300, 40]), row(&[8, 1], &[700])];
        assert_eq!(
            within(&rows, 1000),
            "\nPrograms that fail with most seeds within 1, 10, 100, 1000 runs: hunt 0, 2, 2, 2; random 0, 0, 0, 0; pct 0, 0, 0, 1.\n"
        );
        assert!(within(&rows, 100).contains("within 1, 10, 100 runs: hunt 0, 2, 2;"));
    }
}
