//! Programs that are run side by side, where nothing is timed.

use std::sync::Mutex;

/// How many at a time: as many as there are cores, unless `FORETELL_BENCH_JOBS` says otherwise.
fn jobs() -> usize {
    let asked = std::env::var("FORETELL_BENCH_JOBS").ok().and_then(|jobs| jobs.parse().ok());
    asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// What comes of each item, in the order of the items.
pub(crate) fn map<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R, String> + Sync,
) -> Result<Vec<R>, String> {
    let left = Mutex::new(items.iter().enumerate());
    let done = Mutex::new(Vec::new());
    let worker = || -> Result<(), String> {
        loop {
            let next = left.lock().map_err(|_| "a worker failed")?.next();
            let Some((index, item)) = next else { return Ok(()) };
            let result = work(item)?;
            done.lock().map_err(|_| "a worker failed")?.push((index, result));
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs().max(1)).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| "a worker failed".to_owned())?)
    })?;
    let mut done = done.into_inner().map_err(|_| "a worker failed".to_owned())?;
    done.sort_by_key(|(index, _)| *index);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use super::map;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..100).collect();
        assert_eq!(map(&items, |item| Ok(item * 2)), Ok(items.iter().map(|item| item * 2).collect()));
    }

    #[test]
    fn an_error_is_the_answer() {
        let fail = |item: &u64| if *item == 7 { Err("seven".to_owned()) } else { Ok(*item) };
        assert_eq!(map(&[1, 7, 2], fail), Err("seven".to_owned()));
    }
}
