//! Reductions over tasks, as clang asks libomp: a task finds the copy of the thread that runs it in a group of libomp's. libomp looks in those of
//! its own task, and knows nothing of ours, which say what group that is.

use core::ffi::{c_int, c_void};

use super::tasks::await_group;
use super::{Data, Place};
use crate::inside::{enter, enter_point};
use crate::interpose::hook;
use crate::interpose::openmp::{current, team};
use crate::real::real;

/// What a group of tasks reduces into.
type Items = *mut c_void;

/// Notes the group of libomp's that has what the tasks of the innermost group of ours reduce into.
fn note_group(group: Data) {
    if let Some(inside) = enter()
        && let Some(task) = current(&inside)
    {
        // SAFETY: a group is there as long as it is a task's.
        if let Some(own) = unsafe { task.group.get().as_ref() } {
            own.reductions.set(group.cast());
        }
    }
}

/// The reductions of tasks that a whole region has, or a loop in it.
macro_rules! of_regions {
    ($($name:ident)*) => {
        hook! {
            $(
                fn $name(place: Place, number: c_int, is_loop: c_int, count: c_int, items: Items; _pc in "r9") -> Data {
                    // libomp opens a group of its own meanwhile, which is ours as well.
                    let inside = enter();
                    let group = real!($name(
                        place => Place, number => c_int, is_loop => c_int, count => c_int, items => Items
                    ) -> Data);
                    if let Some(inside) = inside
                        && let Some(task) = current(&inside)
                    {
                        task.open_group(&inside);
                        drop(inside);
                        note_group(group);
                    }
                    group
                }
            )*
        }
    };
}

of_regions! {
    __kmpc_taskred_modifier_init __kmpc_task_reduction_modifier_init
}

hook! {
    fn __kmpc_taskred_init(number: c_int, count: c_int, items: Items; _pc in "rcx") -> Data {
        let group = real!(__kmpc_taskred_init(number => c_int, count => c_int, items => Items) -> Data);
        note_group(group);
        group
    }
    fn __kmpc_task_reduction_init(number: c_int, count: c_int, items: Items; _pc in "rcx") -> Data {
        let group = real!(__kmpc_task_reduction_init(number => c_int, count => c_int, items => Items) -> Data);
        note_group(group);
        group
    }
    fn __kmpc_task_reduction_get_th_data(number: c_int, group: Data, item: Data; _pc in "rcx") -> Data {
        let inside = enter();
        let own = inside.as_ref().and_then(current).and_then(|task| task.group.get().as_ref());
        let group = match own {
            Some(own) if group.is_null() => own.reductions.get().cast(),
            _ => group,
        };
        drop(inside);
        real!(__kmpc_task_reduction_get_th_data(number => c_int, group => Data, item => Data) -> Data)
    }
    fn __kmpc_task_reduction_modifier_fini(place: Place, number: c_int, is_loop: c_int; pc in "rcx") {
        let libomp = || real!(__kmpc_task_reduction_modifier_fini(place => Place, number => c_int, is_loop => c_int));
        let Some(inside) = enter_point() else { return libomp() };
        let (Some(team), Some(current)) = (team(&inside), current(&inside)) else {
            drop(inside);
            return libomp();
        };
        let _inside = await_group(inside, team, current, pc);
        libomp();
    }
}
