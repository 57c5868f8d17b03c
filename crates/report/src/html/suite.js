// The tests of a suite: a table, each row with a link to the test's own report.

function suitePage(suite) {
  const shownBy = suite.tests.filter((test) => test.findings.length > 0).length;
  const ids = (test) => test.findings.map((id, index) => [index > 0 ? ", " : "",
    el("button", { type: "button", class: "link", on: { click: () => show(ENTRIES.find((entry) => entry.id === id)) } }, id)]);
  const row = (test) => el("tr", { class: test.outcome },
    el("th", { scope: "row" }, test.page ? el("a", { href: test.page }, test.name) : test.name),
    el("td", {}, test.runs), el("td", {}, test.behaviours), el("td", {}, test.seconds),
    el("td", {}, test.findings.length > 0 ? ids(test) : test.result));
  return [
    el("div", { class: "head" }, el("h2", {}, `${plural(suite.tests.length, "test")}, ${shownBy} with findings`)),
    el("p", { class: "statement mono" }, suite.command),
    suite.status !== 0 && el("p", { class: "notice" }, `The test command itself ended with status ${suite.status}.`),
    el("div", { class: "scroll", tabindex: "0" }, el("table", { class: "tests" },
      el("thead", {}, el("tr", {}, ["Test", "Runs", "Behaviours", "Seconds", "Result"].map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, suite.tests.map(row)))),
  ].filter(Boolean);
}
