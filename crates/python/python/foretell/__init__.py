"""Foretell for Python: open traces, ask questions about them, and search them for concurrency bugs.

    >>> import foretell
    >>> trace = foretell.parse("main|fork(A)|a.c:1\\nA|w(x)|a.c:2\\nmain|w(x)|a.c:3\\n")
    >>> len(trace), trace.threads
    (3, ['main', 'A'])
    >>> answer = trace.race(1, 2)
    >>> answer.verdict, answer.schedule
    ('feasible', [0])
    >>> [finding.id for finding in trace.predict()]
    ['race-1']

Questions, models, kinds of findings and JSON are those of the command line: see docs/json.md and docs/reference.md.
Whatever is returned was verified by Foretell's checker; ``Trace.check`` verifies evidence again.
"""

import json as _json
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as _np

from . import _foretell
from ._foretell import FINDINGS, ForetellError, KINDS, __version__

__all__ = [
    "Answer",
    "Event",
    "FINDINGS",
    "Finding",
    "ForetellError",
    "KINDS",
    "Trace",
    "__version__",
    "generate",
    "generate_tiny",
    "open",
    "parse",
]

#: How many steps a search may take, as on the command line.
BUDGET = 20_000_000
#: How many steps one question may take, as on the command line.
QUESTION_BUDGET = 200_000_000

_COLUMNS = {"thread": "<u4", "kind": "u1", "object": "<u4", "location": "<u4", "reads_from": "<i8"}


class Event(NamedTuple):
    """One event of a trace."""

    id: int
    thread: str
    kind: str
    object: Optional[str]
    location: Optional[str]
    memory_order: str


@dataclass(frozen=True)
class Answer:
    """What Foretell says about a question, with its evidence."""

    #: ``feasible``, ``infeasible`` or ``unknown``.
    verdict: str
    #: Event ids in order, if feasible.
    schedule: Optional[List[int]]
    #: Whether the program is certain to follow the schedule.
    guaranteed: Optional[bool]
    #: The steps that show that there is no schedule, if infeasible.
    refutation: Optional[Dict[str, Any]]
    #: The evidence, as ``foretell decide --json`` prints it.
    json: str = field(repr=False)
    _trace: "Trace" = field(repr=False, compare=False)

    def __bool__(self) -> bool:
        return self.verdict == "feasible"

    def explain(self) -> str:
        """The schedule as a table, or the refutation step by step."""
        return self._trace._native.explain(self.json)


@dataclass(frozen=True)
class Finding:
    """A predicted bug. ``fields`` has everything that docs/json.md lists."""

    id: str
    kind: str
    rung: str
    object: str
    events: List[int]
    locations: List[str]
    schedule: List[int] = field(repr=False)
    fields: Dict[str, Any] = field(repr=False)


class Trace:
    """A recorded run. It does not change."""

    def __init__(self, native: "_foretell.Trace"):
        self._native = native

    def __repr__(self) -> str:
        return f"<Trace {self.name}: {len(self)} events of {len(self.threads)} threads>"

    def __len__(self) -> int:
        return len(self._native)

    def __getitem__(self, event: int) -> Event:
        event = event + len(self) if event < 0 else event
        if not 0 <= event < len(self):
            raise IndexError(f"there is no event {event}")
        return Event(event, *self._native.event(event))

    def __iter__(self) -> Iterator[Event]:
        return (self[event] for event in range(len(self)))

    @property
    def name(self) -> str:
        """The name it was opened under."""
        return self._native.name

    @property
    def can_be_replayed(self) -> bool:
        """Whether ``foretell replay`` can run its program along a schedule."""
        return self._native.can_be_replayed

    @property
    def threads(self) -> List[str]:
        """The names of the threads, by number."""
        return self.names("threads")

    @property
    def locks(self) -> List[str]:
        """The names of the locks, by number."""
        return self.names("locks")

    @property
    def variables(self) -> List[str]:
        """The names of the variables, by number."""
        return self.names("variables")

    @property
    def locations(self) -> List[str]:
        """The source locations, by number."""
        return self.names("locations")

    def names(self, table: str) -> List[str]:
        """The names in a table: threads, variables, locks, conditions, barriers, semaphores, blocks, regions, marks, locations."""
        return self._native.names(table)

    def column(self, name: str) -> "_np.ndarray":
        """One column as a NumPy array with an entry for each event.

        ``thread``, ``object`` and ``location`` are numbers in the tables of names (``object`` in that of the kind's objects),
        ``kind`` is an index of ``KINDS``, and ``reads_from`` is the write that a read saw; -1 for the initial value, and for
        events that read nothing.
        """
        if name not in _COLUMNS:
            raise ForetellError(f"there is no column `{name}`: {', '.join(_COLUMNS)}")
        return _np.frombuffer(self._native.column(name), dtype=_COLUMNS[name])

    def columns(self) -> Dict[str, "_np.ndarray"]:
        """All columns by name; ``pandas.DataFrame(trace.columns())`` and ``pyarrow.table(trace.columns())`` take it as it is."""
        return {name: self.column(name) for name in _COLUMNS}

    def words(self, event: int) -> str:
        """An event in words, as reports have it."""
        return self._native.words(event)

    def race(self, a: Union[int, str], b: Union[int, str], model: str = "rf", budget: int = QUESTION_BUDGET) -> Answer:
        """Can both accesses be next? Events are ids or source locations."""
        return self.ask("race", f"{a},{b}", model, budget)

    def order(self, *events: Union[int, str], model: str = "rf", budget: int = QUESTION_BUDGET) -> Answer:
        """Can the events happen in this order?"""
        return self.ask("order", ",".join(map(str, events)), model, budget)

    def deadlock(self, *events: Union[int, str], model: str = "rf", budget: int = QUESTION_BUDGET) -> Answer:
        """Can each event be blocked forever by the thread of the next?"""
        return self.ask("deadlock", ",".join(map(str, events)), model, budget)

    def reads(
        self,
        read: Union[int, str],
        write: Union[int, str, None] = None,
        model: str = "rf",
        budget: int = QUESTION_BUDGET,
    ) -> Answer:
        """Can the read see this write (-1: the initial value), or any other than in the trace?"""
        return self.ask("reads", f"{read}" if write is None else f"{read}={write}", model, budget)

    def cut(self, state: Dict[str, int], model: str = "rf", budget: int = QUESTION_BUDGET) -> Answer:
        """Can exactly these many events of each thread have happened? Threads that are not named: none."""
        return self.ask("cut", ",".join(f"{thread}={count}" for thread, count in state.items()), model, budget)

    def ask(self, kind: str, text: str, model: str = "rf", budget: int = QUESTION_BUDGET) -> Answer:
        """A question as ``foretell decide`` takes it."""
        text = self._native.ask(kind, text, model, budget)
        evidence = _json.loads(text)
        return Answer(
            evidence["verdict"], evidence["schedule"], evidence["guaranteed"], evidence["refutation"], text, self
        )

    def check(self, evidence: Union[Answer, str]) -> None:
        """Verifies evidence with the checker, which shares no code with the engine; raises ``ForetellError`` if it does not hold."""
        self._native.check(evidence.json if isinstance(evidence, Answer) else evidence)

    def predict(
        self,
        only: Sequence[str] = (),
        model: str = "rf",
        method: Optional[str] = None,
        all: bool = False,
        budget: int = BUDGET,
    ) -> List[Finding]:
        """Searches for bugs, as ``foretell predict`` does."""
        found = _json.loads(self._native.predict(list(only), model, method, all, budget))
        keys = ("id", "kind", "rung", "object", "events", "locations", "schedule")
        return [Finding(*(finding[key] for key in keys), fields=finding) for finding in found["findings"]]

    def reported_races(self, method: str = "poly") -> List[Tuple[int, int]]:
        """The pairs of accesses that a method reports as races: undecided (``lockset``, ``hb``, ``cp``, ``syncp``, ``ucg``), or exactly (``poly``)."""
        if method == "poly":
            return [tuple(finding.events) for finding in self.predict(only=["race"], all=True)]
        return self._native.reported(method)

    def compare(self, *tables: str, budget: int = BUDGET) -> Dict[str, Any]:
        """What each method of the papers finds: one row per table (``race``, ``atomicity``, ``nondeterminism``), as ``foretell compare --json``."""
        return _json.loads(self._native.compare(list(tables or ("race", "atomicity", "nondeterminism")), budget))

    def count_states(self, states: str = "reachable", budget: int = 2**63) -> int:
        """How many global states of a class there are."""
        return int(self._native.count_states(states, budget))

    def possibly(self, condition: str, budget: int = 2**63) -> Optional[List[int]]:
        """A schedule to a global state in which a condition holds (docs/predicates.md), or ``None`` if there is none."""
        return self._native.possibly(condition, budget)

    def save(self, path: Union[str, "Any"]) -> None:
        """Writes it: as text if the name ends in ``.std``, else in the native format."""
        self._native.save(path)

    def text(self) -> str:
        """The trace as text (docs/trace-format.md)."""
        return self._native.text()


def open(path: Union[str, "Any"]) -> Trace:
    """Opens a trace: native, or text, plain or compressed by gzip or zstd."""
    return Trace(_foretell.open(path))


def parse(text: str) -> Trace:
    """Reads a trace from text (docs/trace-format.md)."""
    return Trace(_foretell.parse(text))


def generate(events: int, threads: int = 8, locks: int = 64, variables: int = 10_000, seed: int = 0) -> Trace:
    """Generates a random trace. The same arguments give the same trace."""
    return Trace(_foretell.generate_trace(events, threads, locks, variables, seed))


def generate_tiny(seed: int = 0) -> Trace:
    """Generates a tiny random trace with many kinds of events."""
    return Trace(_foretell.generate_tiny(seed))
