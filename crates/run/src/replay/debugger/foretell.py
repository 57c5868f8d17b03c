"""Commands of gdb to go through the schedule of a finding: see `help foretell`.

The runtime inside the program stops in `foretell_stopped` after each step of the schedule that is not before
`foretell_stop_at`. From there the selected frame is the user's line, and the runtime's frames are hidden.
"""

import json
import os

import gdb

DIRECTORY = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(DIRECTORY, "schedule.json"), encoding="utf-8") as file:
    SCHEDULE = json.load(file)
STEPS = SCHEDULE["steps"]
BUG = SCHEDULE["bug"]
RUNTIME = os.path.basename(SCHEDULE["runtime"])
# Sources that are not the user's, by a part of their paths.
FOREIGN = ("/usr/include/", "/usr/lib/", "/rustc/", "/rustlib/src/", "/.cargo/registry/")
# Where libraries are that are not the user's.
SYSTEM = ("/lib", "/usr/lib")
NEVER = 2**64 - 1


class State:
    """What is known of the program between two commands."""

    # Whether it stands after a step of the schedule.
    at_step = False
    # The exit status, once it has ended.
    status = None
    # How often it has stopped, and for which stop and thread the user's frame was selected.
    stops = 0
    settled = None
    # Why it stopped where no step is.
    reason = None


def is_runtime(frame):
    """Whether a frame is the runtime's."""
    return os.path.basename(gdb.solib_name(frame.pc()) or "") == RUNTIME


def is_users(frame):
    """Whether a frame has a source line of the user's."""
    line = frame.find_sal()
    library = gdb.solib_name(frame.pc()) or ""
    if line.symtab is None or line.line == 0 or is_runtime(frame) or library.startswith(SYSTEM):
        return False
    return not any(part in line.symtab.fullname() for part in FOREIGN)


def frames():
    """The frames of the selected thread, the newest first."""
    frame = gdb.newest_frame()
    while frame is not None:
        yield frame
        try:
            frame = frame.older()
        except gdb.error:
            return


def users_frame():
    """The newest frame of the selected thread that has the user's source; none before the thread has come to it."""
    return next((frame for frame in frames() if is_users(frame)), None)


def is_alive():
    return gdb.selected_inferior().pid != 0


def evaluate(expression):
    """The value of an expression in C, whatever the program's language."""
    language = gdb.parameter("language")
    gdb.execute("set language c", to_string=True)
    try:
        return int(gdb.parse_and_eval(expression))
    finally:
        gdb.execute("set language " + language, to_string=True)


def position():
    """How many steps of the schedule were performed."""
    return evaluate("*(unsigned long *)&foretell_step")


def resume(command):
    """Lets all threads run until the program stops; its own output is printed, gdb's is not."""
    if is_alive():
        gdb.execute("set scheduler-locking off")
    try:
        gdb.execute(command, to_string=True)
    finally:
        if is_alive():
            gdb.execute("set scheduler-locking on")


def restart():
    """Starts the program anew: it stops before the first step."""
    resume("run")
    if not is_alive():
        raise gdb.GdbError("the program ended before the first step of its schedule")


def go_to(step, silently=False):
    """Goes to where so many steps are performed, and shows it unless it is to be silent."""
    if step < 0 or step > len(STEPS) and step != NEVER:
        raise gdb.GdbError("there are %d steps" % len(STEPS))
    if not is_alive() or not State.at_step or step < position():
        restart()
    if step > position():
        evaluate("*(unsigned long *)&foretell_stop_at = %dul" % step)
        resume("continue")
    if not silently:
        show()


def in_words(step):
    where = " at " + step["location"] if step["location"] else ""
    return "%s: %s%s" % (step["thread"], step["operation"], where)


def name_of(thread):
    """The name of a thread. A thread that has not begun still has that of its creator, who is older."""
    older = (other for other in gdb.selected_inferior().threads() if other.num < thread.num)
    return "new thread" if any(other.name == thread.name for other in older) else thread.name


def select_thread(name):
    """Selects the thread with this name, if there is one."""
    for thread in gdb.selected_inferior().threads():
        if name_of(thread) == name:
            thread.switch()
            return


def show():
    """Selects the thread whose step is next, and prints where it stands."""
    if not is_alive():
        if State.status == SCHEDULE["over"]:
            print("The program left the schedule, or has come to its end.")
        else:
            print("The program ended. `foretell goto N` starts it again.")
        return
    if not State.at_step:
        print_stop()
        return
    at = position()
    print("Step %d of %d." % (at, len(STEPS)))
    if at == BUG:
        print("Here %s." % SCHEDULE["goal"])
        for event in SCHEDULE["events"]:
            print("  " + in_words(event))
    if at < len(STEPS):
        following = STEPS[at]
        print("Next: " + in_words(following))
        select_thread(following["thread"])
    elif SCHEDULE["events"]:
        select_thread(SCHEDULE["events"][0]["thread"])
    settle(True)


def print_stop():
    """Prints why the program stopped where no step is."""
    reason = State.reason or "The program stopped."
    print(reason)
    if users_frame() is None:
        # Found by a thread of the runtime's own.
        for thread in gdb.selected_inferior().threads():
            thread.switch()
            if users_frame() is not None:
                break
    settle(True)


def settle(always=False):
    """Selects the user's frame of a thread that was selected, or stopped, since the last time."""
    thread = gdb.selected_thread()
    if thread is None or not thread.is_valid() or not thread.is_stopped():
        return
    settled = (State.stops, thread.ptid)
    if settled == State.settled and not always:
        return
    State.settled = settled
    frame = users_frame()
    if frame is None:
        if always:
            print("%s is not in the program's code." % name_of(thread))
    elif always or not is_users(gdb.newest_frame()):
        frame.select()
        gdb.execute("frame")


def stopped(event):
    """A thread stopped, by us or by the user."""
    State.stops += 1
    State.at_step = False
    State.reason = None
    if isinstance(event, gdb.SignalEvent):
        State.reason = "The program received %s." % event.stop_signal
        return
    name = gdb.newest_frame().name() or ""
    if name == "foretell_stopped":
        State.at_step = True
    elif name == "foretell_deadlocked":
        State.reason = "Deadlock: no thread can go on."
    elif name.endswith("rust_panic"):
        State.reason = "The program panics."
    elif isinstance(event, gdb.BreakpointEvent):
        State.reason = "The program stopped at a breakpoint."
    elif SCHEDULE["fails"]:
        State.reason = "The program is about to end."


def exited(event):
    State.at_step = False
    State.status = getattr(event, "exit_code", None)


def before_prompt():
    try:
        settle()
    except gdb.error:
        # A thread that cannot be looked at is shown as gdb does.
        pass


class WithoutRuntime:
    """Hides the runtime's frames in backtraces; `backtrace -no-filters` shows them."""

    name = "foretell"
    priority = 100
    enabled = True

    def __init__(self):
        gdb.frame_filters[self.name] = self

    def filter(self, iterator):
        return (frame for frame in iterator if not is_runtime(frame.inferior_frame()))


class Foretell(gdb.Command):
    """Go through the schedule of the finding: one step is one event of one thread."""

    def __init__(self):
        super().__init__("foretell", gdb.COMMAND_RUNNING, prefix=True)

    def invoke(self, argument, from_tty):
        if argument:
            raise gdb.GdbError("no such command: try `help foretell`")
        show()


def number(argument, otherwise):
    if not argument:
        return otherwise
    try:
        return int(argument)
    except ValueError:
        raise gdb.GdbError("`%s` is not the number of a step" % argument) from None


class Step(gdb.Command):
    """Go one step of the schedule forward; with a number, to that step.
Usage: foretell step [STEP]"""

    def __init__(self):
        super().__init__("foretell step", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        if argument or not is_alive():
            go_to(number(argument, 1))
            return
        if not State.at_step:
            raise gdb.GdbError("the schedule is over: `continue` goes on, `foretell back` goes back")
        at = position()
        # From the last step on there is nothing to wait for: a failure, or the program's end.
        go_to(at + 1 if at < len(STEPS) else NEVER)


class GoTo(gdb.Command):
    """Go to where so many steps of the schedule are performed; the program is started again if it is past that.
Usage: foretell goto STEP"""

    def __init__(self):
        super().__init__("foretell goto", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        go_to(number(argument, BUG))


class Back(gdb.Command):
    """Go back one step of the schedule, by running the program again up to there.
Usage: foretell back"""

    def __init__(self):
        super().__init__("foretell back", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        if not is_alive():
            go_to(len(STEPS))
        elif State.at_step:
            go_to(max(position() - 1, 0))
        else:
            # The last step before what the program did since.
            go_to(position())


class Steps(gdb.Command):
    """List the schedule around where the program stands; with two numbers, those steps.
Usage: foretell steps [FIRST LAST]"""

    def __init__(self):
        super().__init__("foretell steps", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        at = position() if is_alive() else None
        around = BUG if at is None else at
        asked = argument.split()
        first = number(asked[0], 1) if asked else around - 8
        last = number(asked[1], first) if len(asked) > 1 else first + 16
        for index in range(max(first, 1), min(last, len(STEPS)) + 1):
            mark = "=>" if at is not None and index == at + 1 else "  "
            print("%s %d  %s" % (mark, index, in_words(STEPS[index - 1])))
        if at == len(STEPS):
            print("=> %s" % SCHEDULE["goal"])


def users_threads(numbers=None):
    """The program's threads, without the runtime's own, each with where it stands and whether it is selected."""
    selected, frame = gdb.selected_thread(), None
    if selected is not None:
        frame = gdb.selected_frame()
    try:
        for thread in sorted(gdb.selected_inferior().threads(), key=lambda thread: thread.num):
            if numbers is not None and thread.num not in numbers:
                continue
            thread.switch()
            if numbers is None and all(is_runtime(frame) or not frame.name() for frame in frames()):
                continue
            shown, where = users_frame(), "not in the program's code"
            if shown is not None:
                line = shown.find_sal()
                where = "%s () at %s:%d" % (shown.name(), os.path.basename(line.symtab.filename), line.line)
            yield thread, where, thread == selected
    finally:
        if selected is not None and selected.is_valid():
            selected.switch()
            frame.select()


class Threads(gdb.Command):
    """List the program's threads and the user's line at which each stands.
Usage: foretell threads"""

    def __init__(self):
        super().__init__("foretell threads", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        for thread, where, is_selected in users_threads():
            print("%s %d  %s  %s" % ("*" if is_selected else " ", thread.num, name_of(thread), where))


class InfoThreads(gdb.Command):
    """List the program's threads and the user's line at which each stands, without the frames of Foretell's runtime.
Usage: info threads [ID]...
Without IDs the runtime's own threads are left out. `thread apply all backtrace -no-filters` shows everything."""

    def __init__(self):
        super().__init__("info threads", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        wanted = None
        if argument:
            # `2-4`, and `1.2` of inferior 1.
            wanted = set()
            for word in argument.replace("-gid", "").split():
                first, _, last = word.rpartition(".")[2].partition("-")
                wanted.update(range(number(first, 0), number(last, number(first, 0)) + 1))
        rows = list(users_threads(wanted))
        if not rows:
            print("No threads.")
            return
        targets = ['Thread (LWP %d) "%s"' % (thread.ptid[1], name_of(thread)) for thread, _, _ in rows]
        width = max(len(target) for target in targets)
        print("  %-4s %-*s Frame" % ("Id", width, "Target Id"))
        for (thread, where, is_selected), target in zip(rows, targets):
            print("%s %-4d %-*s %s" % ("*" if is_selected else " ", thread.num, width, target, where))


def stop_in(function):
    """Has the program stop in a function of a library that is not loaded yet, without a word."""
    gdb.execute("break " + function, to_string=True)
    gdb.breakpoints()[-1].silent = True


def begin():
    WithoutRuntime()
    stop_in("foretell_stopped")
    stop_in("foretell_deadlocked")
    if SCHEDULE["fails"]:
        # A panic unwinds its stack, and a program that ends by itself has none.
        stop_in("rust_panic")
        gdb.execute("catch syscall exit_group", to_string=True)
        gdb.breakpoints()[-1].silent = True
    for command in (Foretell, Step, GoTo, Back, Steps, Threads, InfoThreads):
        command()
    gdb.events.stop.connect(stopped)
    gdb.events.exited.connect(exited)
    gdb.events.before_prompt.connect(before_prompt)
    start = SCHEDULE["start"]
    if start is None:
        # Threads get their names where the program stops.
        go_to(max(BUG - 1, 0), silently=True)
        start = NEVER
    if start == NEVER and is_alive() and not State.at_step:
        # It failed on the way: once more, with a stop at the last step before, where threads get their names.
        go_to(position(), silently=True)
        go_to(NEVER, silently=True)
        show()
    else:
        go_to(start)
    if is_alive():
        gdb.execute("foretell threads")


begin()
