//! How much memory there is, and how much this process has: as Linux tells.

use std::fs::read_to_string;

/// The memory that this process has for itself, in bytes: files that are mapped can be read again, so their pages do not count. On a
/// system that does not tell, none.
pub fn resident() -> Option<u64> {
    let statm = read_to_string("/proc/self/statm").ok()?;
    let mut pages = statm.split(' ').skip(1).map_while(|pages| pages.parse::<u64>().ok());
    let (all, shared) = (pages.next()?, pages.next()?);
    // Linux reports pages; x86-64, the only platform recorded, has pages of 4 KiB.
    Some(all.saturating_sub(shared) * 4096)
}

/// The memory of the machine, or as much of it as a control group allows this process, in bytes.
pub fn installed() -> Option<u64> {
    let meminfo = read_to_string("/proc/meminfo").ok()?;
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let machine = line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024;
    let group = read_to_string("/sys/fs/cgroup/memory.max").ok();
    let group = group.and_then(|most| most.trim().parse::<u64>().ok());
    Some(group.map_or(machine, |group| group.min(machine)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_touched_is_resident() {
        let before = resident().unwrap_or_default();
        let touched = vec![1u8; 64 << 20];
        let after = resident().unwrap_or_default();
        assert!(after >= before + (48 << 20), "{before} {after}");
        assert!(installed() > Some(after));
        drop(touched);
    }
}
