//! System calls that a program makes by hand and announces (`sanitizer/linux_syscall_hooks.h`): a call before and one after each. Those that move data
//! or change files are recorded as the C library's functions are; all others have nothing to record, but must be there to be linked.

use core::ffi::{c_int, c_long};

use wire::Kind;

use super::children;
use super::descriptors::made_pair;
use super::files::{Use, closing, log_access, log_use};
use super::passages::passage;
use super::ranges::log_ranges;
use super::safe_hook;

/// The file is about to be read; what comes is recorded afterwards.
fn receive(file: c_long, pc: u64) {
    log_access(Kind::Read1, file as c_int, pc);
}

fn received(result: c_long, file: c_long, bytes: c_long, pc: u64) {
    if result > 0 {
        log_use(Use::Takes, passage(file as c_int), pc);
        log_ranges(pc, &[], &[(bytes as u64, result as usize)]);
    }
}

fn send(file: c_long, bytes: c_long, size: c_long, pc: u64) {
    log_access(Kind::Read1, file as c_int, pc);
    log_ranges(pc, &[(bytes as u64, size.max(0) as usize)], &[]);
    log_use(Use::Sends, passage(file as c_int), pc);
}

fn opened(result: c_long, files: c_long, pc: u64) {
    // SAFETY: the kernel has written both numbers if it says so.
    unsafe { made_pair(result as c_int, files as *mut c_int, pc) };
}

fn forked(result: c_long) {
    if result == 0 {
        children::in_child();
    }
}

safe_hook! {
    fn __sanitizer_syscall_pre_impl_read(file: c_long, _bytes: c_long, _size: c_long; pc in "rcx") {
        receive(file, pc);
    }
    fn __sanitizer_syscall_post_impl_read(result: c_long, file: c_long, bytes: c_long, _size: c_long; pc in "r8") {
        received(result, file, bytes, pc);
    }
    fn __sanitizer_syscall_pre_impl_pread64(file: c_long, _bytes: c_long, _size: c_long, _offset: c_long; pc in "r8") {
        receive(file, pc);
    }
    fn __sanitizer_syscall_post_impl_pread64(result: c_long, file: c_long, bytes: c_long, _size: c_long, _offset: c_long; pc in "r9") {
        received(result, file, bytes, pc);
    }
    fn __sanitizer_syscall_pre_impl_write(file: c_long, bytes: c_long, size: c_long; pc in "rcx") {
        send(file, bytes, size, pc);
    }
    fn __sanitizer_syscall_pre_impl_pwrite64(file: c_long, bytes: c_long, size: c_long, _offset: c_long; pc in "r8") {
        send(file, bytes, size, pc);
    }
    fn __sanitizer_syscall_post_impl_pipe(result: c_long, files: c_long; pc in "rdx") {
        opened(result, files, pc);
    }
    fn __sanitizer_syscall_post_impl_pipe2(result: c_long, files: c_long, _flags: c_long; pc in "rcx") {
        opened(result, files, pc);
    }
    fn __sanitizer_syscall_pre_impl_close(file: c_long; pc in "rsi") {
        closing(file as c_int, pc);
    }
}

/// Functions that are there to be linked.
macro_rules! nothing {
    ($start:literal $($name:ident)*) => {
        $(
            const _: () = {
                #[unsafe(export_name = concat!($start, stringify!($name)))]
                extern "C" fn nothing() {}
            };
        )*
    };
}

nothing! { "__sanitizer_syscall_pre_impl_" fork vfork pipe pipe2 }
nothing! { "__sanitizer_syscall_post_impl_" vfork write pwrite64 close }

#[unsafe(no_mangle)]
extern "C" fn __sanitizer_syscall_post_impl_fork(result: c_long) {
    forked(result);
}

/// The system calls that nothing is known of but their names.
macro_rules! unknown {
    ($($name:ident)*) => {
        nothing! { "__sanitizer_syscall_pre_impl_" $($name)* }
        nothing! { "__sanitizer_syscall_post_impl_" $($name)* }
    };
}

unknown! {
    accept accept4 access acct add_key adjtimex alarm bdflush bind brk capget capset chdir chmod
    chown chown16 chroot clock_adjtime clock_getres clock_gettime clock_nanosleep clock_settime
    connect creat delete_module dup dup2 dup3 epoll_create epoll_create1 epoll_ctl epoll_pwait
    epoll_pwait2 epoll_wait eventfd eventfd2 exit exit_group faccessat fanotify_init
    fanotify_mark fchdir fchmod fchmodat fchown fchown16 fchownat fcntl fcntl64 fdatasync
    fgetxattr flistxattr flock fremovexattr fsetxattr fstat fstat64 fstatat64 fstatfs fstatfs64
    fsync ftruncate futex futimesat get_mempolicy get_robust_list getcpu getcwd getdents
    getdents64 getegid getegid16 geteuid geteuid16 getgid getgid16 getgroups getgroups16
    gethostname getitimer getpeername getpgid getpgrp getpid getppid getpriority getresgid
    getresgid16 getresuid getresuid16 getrlimit getrusage getsid getsockname getsockopt gettid
    gettimeofday getuid getuid16 getxattr init_module inotify_add_watch inotify_init
    inotify_init1 inotify_rm_watch io_cancel io_destroy io_getevents io_setup io_submit ioctl
    ioperm ioprio_get ioprio_set ipc kexec_load keyctl kill lchown lchown16 lgetxattr link
    linkat listen listxattr llistxattr llseek lookup_dcookie lremovexattr lseek lsetxattr lstat
    lstat64 madvise mbind migrate_pages mincore mkdir mkdirat mknod mknodat mlock mlockall
    mmap_pgoff mount move_pages mprotect mq_getsetattr mq_notify mq_open mq_timedreceive
    mq_timedsend mq_unlink mremap msgctl msgget msgrcv msgsnd msync munlock munlockall munmap
    name_to_handle_at nanosleep newfstat newfstatat newlstat newstat newuname ni_syscall nice
    old_getrlimit old_mmap old_readdir old_select oldumount olduname open open_by_handle_at
    openat pause pciconfig_iobase pciconfig_read pciconfig_write perf_event_open personality
    pivot_root poll ppoll preadv prlimit64 process_vm_readv process_vm_writev pselect6 ptrace
    pwritev quotactl readlink readlinkat readv reboot recv recvfrom recvmmsg recvmsg
    remap_file_pages removexattr rename renameat request_key restart_syscall rmdir rt_sigaction
    rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigtimedwait rt_tgsigqueueinfo
    sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getparam
    sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setparam sched_setscheduler
    sched_yield select semctl semget semop semtimedop send sendfile sendfile64 sendmmsg sendmsg
    sendto set_mempolicy set_robust_list set_tid_address setdomainname setfsgid setfsgid16
    setfsuid setfsuid16 setgid setgid16 setgroups setgroups16 sethostname setitimer setns
    setpgid setpriority setregid setregid16 setresgid setresgid16 setresuid setresuid16 setreuid
    setreuid16 setrlimit setsid setsockopt settimeofday setuid setuid16 setxattr sgetmask shmat
    shmctl shmdt shmget shutdown sigaction sigaltstack signal signalfd signalfd4 sigpending
    sigprocmask socket socketcall socketpair splice spu_create spu_run ssetmask stat stat64
    statfs statfs64 stime swapoff swapon symlink symlinkat sync syncfs sysctl sysfs sysinfo
    syslog tee tgkill time timer_create timer_delete timer_getoverrun timer_gettime
    timer_settime timerfd_create timerfd_gettime timerfd_settime times tkill truncate umask
    umount uname unlink unlinkat unshare uselib ustat utime utimensat utimes vhangup vmsplice
    wait4 waitid waitpid writev
}
