//! The scenarios after paper 3: every error is foretold from one recording and confirmed, and the programs without one have
//! none.

use std::path::Path;

use crate::judging::Program;

fn family(name: &str, programs: usize) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/scenarios");
    let entries =
        std::fs::read_dir(directory).expect("the scenarios").map(|entry| entry.expect("a file").file_name());
    let mut files: Vec<String> = entries.map(|file| file.to_string_lossy().into_owned()).collect();
    files.retain(|file| file.starts_with(name) && file.ends_with(".c"));
    files.sort();
    assert_eq!(files.len(), programs, "{files:?}");
    for file in files {
        Program::new(&format!("scenarios/{file}")).judge(1);
    }
}

macro_rules! families {
    ($($test:ident $name:literal $programs:literal;)*) => {
        $(
            #[test]
            fn $test() {
                family($name, $programs);
            }
        )*
    };
}

families! {
    critical_sections "cs_" 9;
    condition_variables "cv_" 6;
    barriers "ba_" 5;
    semaphores "se_" 6;
    flags "fl_" 6;
    fork_and_join "fj_" 4;
    reader_writer_locks "rw_" 4;
    try_locks "tl_" 2;
    initialisation "on_" 3;
    atomics "at_" 3;
    lock_orders "dl_" 4;
}
