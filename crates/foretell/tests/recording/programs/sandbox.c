// Ends by a system call of its own, in a sandbox if asked to, ignores what should end it, or leaves a child behind.
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static int shared;

static void *work(void *unused)
{
    shared++;
    return unused;
}

static void end(long number, long status)
{
    __asm__ volatile("syscall" : : "a"(number), "D"(status) : "rcx", "r11", "memory");
}

int main(int count, char **words)
{
    pthread_t thread, other;
    const char *how = count > 1 ? words[1] : "";

    pthread_create(&thread, NULL, work, NULL);
    shared++;
    pthread_join(thread, NULL);
    if (!strcmp(how, "stubborn")) {
        signal(SIGINT, SIG_IGN);
        signal(SIGTERM, SIG_IGN);
        pthread_create(&other, NULL, work, NULL);
        if (write(1, "s", 1) == 1)
            for (;;)
                pause();
    }
    if (!strcmp(how, "family") || !strcmp(how, "orphan")) {
        pid_t child = fork();
        while (child == 0 || !strcmp(how, "family"))
            pause();
        return 0;
    }
    if (!strcmp(how, "strict"))
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    shared++;
    if (!strcmp(how, "exit_group"))
        syscall(SYS_exit_group, 5);
    if (!strcmp(how, "unseen"))
        end(SYS_exit, 6);
    if (!strcmp(how, "unseen_group"))
        end(SYS_exit_group, 7);
    syscall(SYS_exit, 3);
}
