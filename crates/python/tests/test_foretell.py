"""The package as its users meet it."""

import doctest
import pathlib

import foretell
import numpy as np
import pytest

ACCOUNT = pathlib.Path(__file__).parents[3] / "corpus/examples/account.std"


@pytest.fixture
def account():
    return foretell.open(ACCOUNT)


def test_the_docstrings_are_true():
    failed, tried = doctest.testmod(foretell)
    assert tried > 3 and failed == 0


def test_events_and_columns_agree(account):
    columns = account.columns()
    assert {column.shape for column in columns.values()} == {(len(account),)}
    events = list(account)
    assert [event.thread for event in events] == [account.threads[number] for number in columns["thread"]]
    assert [event.kind for event in events] == [foretell.KINDS[code] for code in columns["kind"]]
    locations = [account.locations[number] for number in columns["location"]]
    assert [event.location for event in events] == locations
    accesses = np.isin(columns["kind"], [foretell.KINDS.index("read"), foretell.KINDS.index("write")])
    names = [account.variables[number] for number in columns["object"][accesses]]
    assert names == [events[event].object for event in np.flatnonzero(accesses)]
    assert account[-1] == events[-1]


def test_reads_know_their_writes(account):
    columns = account.columns()
    read = foretell.KINDS.index("read")
    for event in np.flatnonzero(columns["kind"] == read):
        write = columns["reads_from"][event]
        assert write == -1 or account[int(write)].object == account[int(event)].object


def test_a_feasible_question_has_a_schedule_that_the_checker_accepts(account):
    answer = account.race(6, 15)
    assert answer and answer.verdict == "feasible" and answer.guaranteed
    assert len(answer.schedule) == 10
    account.check(answer)
    assert "next" in answer.explain()
    # An event may be named by its location, if it is the only one there.
    assert account.race(6, "account.c:20").schedule == answer.schedule


def test_an_infeasible_question_has_a_refutation(account):
    answer = account.race("account.c:11", "account.c:18")
    assert not answer and answer.refutation["steps"]
    account.check(answer)
    assert answer.explain()


def test_wrong_evidence_is_refused(account):
    answer = account.race(6, 15)
    forged = answer.json.replace('"schedule":[', '"schedule":[15,')
    assert forged != answer.json
    with pytest.raises(foretell.ForetellError):
        account.check(forged)
    with pytest.raises(foretell.ForetellError, match="another trace"):
        foretell.generate_tiny(1).check(answer)


def test_searches_find_the_race(account):
    findings = account.predict(only=["race"])
    assert [(finding.id, finding.object, finding.events) for finding in findings] == [("race-1", "balance", [6, 15])]
    assert findings[0].fields["rung"] == "predicted"


def test_methods_compare(account):
    methods = {method["method"]: method["racy_events"] for method in account.compare("race")["rows"][0]["methods"]}
    assert methods["hb"] == 0 and methods["poly"] == 1
    assert (6, 15) in account.reported_races("lockset") and account.reported_races() == [(6, 15)]


def test_states_are_counted_and_conditions_decided():
    trace = foretell.parse("A|w(x)|a:1\nB|w(y)|b:1\n")
    assert trace.count_states() == 4
    assert trace.possibly("done(A) == 1 && done(B) == 0") == [0]
    assert trace.possibly("done(A) == 2") is None


def test_generated_traces_are_the_same_for_the_same_seed(tmp_path):
    one = foretell.generate(2_000, threads=4, seed=7)
    assert len(one) == 2_000 and len(one.threads) == 4
    assert one.text() == foretell.generate(2_000, threads=4, seed=7).text()
    for name in ["t.std", "t.ftr"]:
        one.save(tmp_path / name)
        assert foretell.open(tmp_path / name).text() == one.text()


def test_mistakes_are_errors(account, tmp_path):
    for mistake in [
        lambda: foretell.parse("no trace"),
        lambda: foretell.open(tmp_path / "none.ftr"),
        lambda: account.race(0, 1),
        lambda: account.race(6, 15, model="other"),
        lambda: account.column("colour"),
        lambda: account.names("colours"),
        lambda: account.predict(only=["typo"]),
        lambda: account.predict(method="other"),
        lambda: account.possibly("holds("),
    ]:
        with pytest.raises(foretell.ForetellError):
            mistake()
    with pytest.raises(IndexError):
        account[len(account)]
