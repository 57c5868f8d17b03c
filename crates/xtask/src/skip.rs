//! Chores that something missing on this machine prevents.

use crate::Outcome;

/// Reports that a chore is skipped, and why. In CI (where the environment variable `CI` is set) everything is installed, so there it is an
/// error: a step that is skipped would look like one that passed.
pub fn skipped(why: &str) -> Outcome {
    let in_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false");
    unless(in_ci, why)
}

fn unless(in_ci: bool, why: &str) -> Outcome {
    if in_ci {
        return Err(format!("{why}, and in CI nothing is skipped"));
    }
    println!("skipped: {why}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::unless;

    #[test]
    fn what_is_missing_is_an_error_in_ci_alone() {
        assert_eq!(unless(false, "no nightly toolchain"), Ok(()));
        assert!(unless(true, "no nightly toolchain").unwrap_err().starts_with("no nightly toolchain"));
    }
}
