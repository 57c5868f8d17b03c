// What stands below the timelines: the events of the finding, its threads, pictures, and the steps as a table.

const TABLE_STEPS = 400;

function detailCards(view) {
  const { finding } = view;
  return el("div", { class: "below" },
    finding.ended.length > 1 && el("section", { class: "card ended" }, el("h3", {}, "What the threads were doing"), el("ul", {}, finding.ended.map(endedItem))),
    el("section", { class: "card" }, el("h3", {}, "Events"), el("ol", {}, finding.accesses.map((access) => accessItem(access)))),
    finding.allocations.length > 0 && el("section", { class: "card" }, el("h3", {}, "Memory"), el("ul", {}, finding.allocations.map(allocationItem))),
    el("section", { class: "card" }, el("h3", {}, "Threads"), el("ul", {}, finding.threads.map(threadItem))),
    finding.waits.length > 0 && el("section", { class: "card" }, el("h3", {}, "Who waits for whom"), waitForPicture(finding.waits)),
    DATA.lattice && view.finding.recording === 0 && view.observed.skipped === 0 && view.predicted.skipped === 0 &&
      el("section", { class: "card wide" }, el("h3", {}, "Global states"), latticePicture(DATA.lattice, view)),
    el("section", { class: "card wide" }, legend()),
    el("section", { class: "card wide" }, stepsTable(view)));
}

function accessItem(access) {
  return el("li", {},
    el("b", {}, access.text),
    access.event !== null && el("p", {}, `event ${access.event} · ${access.held}`),
    stackOf(access));
}

function allocationItem(allocation) {
  return el("li", {}, el("b", {}, allocation.block), el("p", {}, allocation.text), stackOf(allocation));
}

function endedItem(thread) {
  return el("li", {}, el("b", {}, thread.heading), stackOf(thread));
}

const stackOf = ({ stack }) =>
  stack.length > 0 && el("div", { class: "stack", tabindex: "0" }, stack.map((frame, depth) => `#${depth} ${frame}`).join("\n"));

function threadItem(thread) {
  return el("li", {}, el("b", {}, DATA.threads[thread]), el("p", {}, DATA.created[thread] ?? "runs from the start"));
}

function legend() {
  const dot = (colour, text) => el("span", {}, el("i", { class: "dot", style: `background:var(${colour})` }), text);
  const line = (colour, text, dashed) =>
    el("span", {}, el("i", { style: `color:var(${colour})${dashed ? ";border-top-style:dashed" : ""}` }), text);
  return el("div", { class: "legend", style: "margin-top:0" },
    dot("--read", "read"), dot("--write", "write"), dot("--lock", "lock acquired or released; held in between"), dot("--sync", "synchronisation"),
    dot("--danger", "part of the finding"), line("--lock", "lock handed over"), line("--sync", "fork, join, signal"),
    line("--write", "what a read sees", true));
}

/** The steps in words, for those who do not see the canvas; the last ones, where there are many. */
function stepsTable({ finding, predicted, named }) {
  const details = el("details", {}, el("summary", {}, "All steps of the schedule"));
  const build = () => {
    const from = Math.max(0, predicted.length - TABLE_STEPS);
    const rows = predicted.rows.slice(from).map((row, index) => {
      const position = from + index;
      const event = eventAt(row);
      const next = position >= predicted.length - finding.next;
      return el("tr", { class: named.has(row) && "named" },
        [next ? "next" : String(predicted.skipped + position + 1), String(event.id), DATA.threads[event.thread], event.operation, event.place.text, predicted.changed.get(position) ?? ""]
          .map((text) => el("td", {}, text)));
    });
    details.append(el("div", { class: "scroll", tabindex: "0" },
      from + predicted.skipped > 0 && el("p", { class: "empty" }, `${plural(from + predicted.skipped, "step")} before these`),
      el("table", {}, el("thead", {}, el("tr", {}, ["step", "event", "thread", "does", "at", ""].map((text) => el("th", { scope: "col" }, text)))), el("tbody", {}, rows))));
  };
  details.addEventListener("toggle", build, { once: true });
  return details;
}

/** A candidate that cannot happen. */
function ruledOutPage(candidate) {
  return [
    el("div", { class: "head" },
      el("h2", {}, `No ${candidate.kind_title} on ${candidate.object}`), el("span", { class: "badge ruled-out" }, "ruled out")),
    el("p", { class: "statement" }, `${candidate.statement}.`),
    el("div", { class: "below" },
      el("section", { class: "card wide" }, el("h3", {}, "In short"), el("p", {}, `${capital(candidate.reason)}.`)),
      el("section", { class: "card wide" }, el("h3", {}, "Step by step"), el("pre", { class: "prose" }, candidate.explanation))),
  ];
}
