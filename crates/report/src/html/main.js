// The page as a whole: the list with its filters, the finding that is open, stepping, and the keyboard.

const main = byId("finding");
const RUNGS = ["confirmed", "predicted", "diverged", "likely", "possible"];
/** What is open, and at which step. */
let current = null;
let shown = [];
let playing = null;

// ---- the list ----

const ENTRIES = [
  ...DATA.findings.map((finding) => ({ finding, id: finding.id, kind: finding.kind, rung: finding.rung,
    about: capital(finding.kind_title), object: finding.object, places: shortPlaces(finding.locations),
    text: [finding.id, finding.title, finding.statement, ...finding.locations].join(" ").toLowerCase() })),
  ...DATA.ruled_out.map((candidate, index) => ({ candidate, id: `ruled-out-${index + 1}`, kind: candidate.kind, rung: "ruled-out",
    about: capital(candidate.kind_title), object: candidate.object, places: shortPlaces(candidate.locations),
    text: [candidate.statement, ...candidate.locations].join(" ").toLowerCase() })),
];
if (DATA.suite) ENTRIES.unshift({ suite: DATA.suite, id: "tests", kind: "tests", rung: "tests", about: "All tests", places: plural(DATA.suite.tests.length, "test"), text: "tests" });

/** What an entry is about. A name is one long word: it may break anywhere, so that more of it is there. */
function entryTitle({ kind, about, object }) {
  if (object === undefined) return el("b", {}, about);
  const words = kind === "failure" ? "object sentence" : "object";
  return el("b", { title: `${about}: ${object}` }, `${about}: `, el("span", { class: words }, object));
}

function list() {
  const [text, kind, rung] = [byId("text").value.trim().toLowerCase(), byId("kind").value, byId("rung").value];
  shown = ENTRIES.filter((entry) =>
    (!kind || entry.kind === kind) && (!rung || entry.rung === rung) && text.split(/\s+/).every((word) => entry.text.includes(word)));
  const found = shown.filter((entry) => entry.finding).length;
  if (!DATA.findings.length) byId("count").textContent = "Nothing found";
  else byId("count").textContent = found === DATA.findings.length ? plural(found, "finding") : `${found} of ${plural(DATA.findings.length, "finding")}`;
  const items = [];
  let group = null;
  for (const entry of shown) {
    const heading = entry.candidate ? "Ruled out: not with the values of this run" : null;
    if (heading !== group && heading) items.push(el("li", { class: "group" }, heading));
    group = heading;
    items.push(el("li", {}, el("button", { type: "button", class: "item", "data-id": entry.id,
      "aria-current": current?.id === entry.id ? "true" : null, on: { click: () => show(entry) } },
      entryTitle(entry), el("span", { class: `badge ${entry.rung}` }, entry.rung === "ruled-out" ? "ruled out" : entry.rung),
      el("small", {}, entry.places))));
  }
  byId("findings").replaceChildren(...(items.length ? items : [el("li", { class: "empty" }, DATA.findings.length ? "No finding matches these filters." : "Nothing found.")]));
}

function options(select, all, values, label = (value) => value) {
  select.replaceChildren(el("option", { value: "" }, all), ...values.map((value) => el("option", { value }, label(value))));
  select.addEventListener("change", list);
}

// ---- one finding ----

function show(entry, step) {
  stop();
  current = { id: entry.id };
  for (const item of document.querySelectorAll(".item")) {
    if (item.dataset.id === entry.id) item.setAttribute("aria-current", "true");
    else item.removeAttribute("aria-current");
  }
  history.replaceState(null, "", `#${entry.id}`);
  byId("tip").hidden = true;
  if (entry.candidate || entry.suite) {
    main.replaceChildren(...(entry.suite ? suitePage(entry.suite) : ruledOutPage(entry.candidate)));
    return;
  }
  const { finding } = entry;
  // What happened is all that there is to say of it.
  const isFailure = finding.kind === "failure";
  const view = open(finding);
  const panels = [panel("observed", "Observed run", view.observed), panel("predicted", "Predicted schedule", view.predicted)];
  const controls = bar(view);
  const sources = el("div", { class: "sources", id: "sources", "aria-label": "Source of each thread" });
  const inner = el("div", { class: "inner", "data-view": "predicted", style: `--rows:${Math.max(view.observed.length, view.predicted.length)}` }, panels.map((p) => p.element), sources);
  main.replaceChildren(...[
    el("div", { class: "head" },
      el("h2", { title: finding.title }, capital(finding.title)), el("span", { class: `badge ${finding.rung}` }, finding.rung), el("span", { class: "id" }, finding.id),
      finding.count > 1 && el("span", { class: "badge" }, `${plural(finding.count, "set")} of events here`)),
    finding.effect && el("p", { class: `effect ${finding.harm}` }, `When it happens: ${finding.effect}.`),
    finding.message && el("p", { class: "effect failure" }, `${isFailure ? finding.statement : capital(finding.message)}.`),
    finding.fix && el("p", { class: "fix" }, finding.fix),
    finding.difference.length > 0 && el("pre", { class: "difference" }, finding.difference.join("\n")),
    finding.ended.length > 0 && el("section", { class: "failed" }, el("b", {}, finding.ended[0].heading), stackOf(finding.ended[0])),
    !isFailure && el("p", { class: "statement" }, `${finding.statement}.`),
    finding.frequency && el("p", { class: "statement" }, `${finding.frequency}.`),
    finding.further.length > 0 && el("details", { class: "further" }, el("summary", {}, `The same cause shows at ${plural(finding.further.length, "more place")}`),
      el("ul", {}, finding.further.map((place) => el("li", { class: "mono" }, place)))),
    finding.tests.length > 0 && el("p", { class: "statement" }, `Shown by ${plural(finding.tests.length, "test")}: ${finding.tests.join(", ")}.`),
    finding.replay && el("p", { class: "statement" }, `${finding.replay}.`),
    !finding.guaranteed && finding.rung !== "confirmed" && el("p", { class: "notice" }, "Not guaranteed: a thread continues after a read that sees another value than in the trace; the program may take another path."),
    finding.command && command(finding.command),
    el("section", { class: "stage", "aria-label": "Interleaving" }, controls.element, inner),
    detailCards(view)].filter(Boolean));
  const at = (mine, order) => ({ chosen: (position) => choose(view, order, position), pointed: (position, event) => point(view, mine, order, position, event) });
  const timelines = panels.map((p, index) => new Timeline(p.canvas, {
    order: p.order, named: view.named, next: index === 1 ? finding.next : 0, at: at(index, p.order) }));
  Object.assign(current, { entry, view, timelines, controls, sources, inner, step: 0 });
  timelines[0].done = (row) => { const p = view.predicted.position(row); return p !== undefined && p < current.step; };
  timelines[1].done = (_, position) => position < current.step;
  go(step ?? view.predicted.length, true);
}

function panel(name, heading, order) {
  const note = order.skipped > 0 ? `the last ${order.length.toLocaleString("en")} steps` : plural(order.length, "event");
  const canvas = el("canvas", { tabindex: "0", role: "img", id: name, "aria-label": `${heading}, ${note}. Arrow keys step through the schedule.` });
  return { canvas, order, element: el("section", { class: `panel ${name === "observed" ? "first" : "second"}` }, el("h3", {}, heading, el("span", {}, note)), canvas) };
}

function command(text) {
  const copy = el("button", { type: "button", class: "button", on: { click: async () => {
    try { await navigator.clipboard.writeText(text); copy.textContent = "Copied"; }
    catch { getSelection().selectAllChildren(copy.previousSibling); copy.textContent = "Selected"; }
    setTimeout(() => { copy.textContent = "Copy"; }, 1500);
  } } }, "Copy");
  return el("div", { class: "command" }, el("code", {}, text), copy);
}

const icon = (path) => svg("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: path }));

function bar(view) {
  const button = (id, label, title, action, pressed) =>
    el("button", { type: "button", class: "button", id, title, "aria-label": title, "aria-pressed": pressed, on: { click: action } }, label);
  const where = el("p", { class: "where", id: "where" });
  const toggle = (what) => (event) => {
    const on = event.currentTarget.getAttribute("aria-pressed") !== "true";
    event.currentTarget.setAttribute("aria-pressed", String(on));
    for (const timeline of current.timelines) { timeline.shows[what] = on; timeline.redraw(); }
  };
  const views = el("div", { class: "views", role: "group", "aria-label": "Which order to show" },
    ["observed", "predicted"].map((name) => el("button", { type: "button", class: "button", "data-view": name, "aria-pressed": String(name === "predicted"), on: { click: () => {
      current.inner.dataset.view = name;
      for (const other of views.children) other.setAttribute("aria-pressed", String(other.dataset.view === name));
    } } }, name === "observed" ? "Observed run" : "Predicted schedule")));
  const element = el("div", { class: "bar" }, views,
    el("div", { class: "steps", role: "group", "aria-label": "Steps" },
      button("first", icon("M6 5v14M19 5l-9 7 9 7z"), "To the start (Home)", () => go(0)),
      button("back", icon("M16 5l-9 7 9 7z"), "Step back (←)", () => go(current.step - 1)),
      button("play", "Play", "Play (space)", play),
      button("forward", icon("M8 5l9 7-9 7z"), "Step forward (→)", () => go(current.step + 1)),
      button("last", icon("M18 5v14M5 5l9 7-9 7z"), "To the end (End)", () => go(view.predicted.length))),
    where,
    el("div", { class: "steps", role: "group", "aria-label": "View" },
      button("zoom-out", "−", "Zoom out (−)", () => zoom(1 / 1.4)), button("zoom-in", "+", "Zoom in (+)", () => zoom(1.4)),
      button("fit", "Fit", "Show everything (0)", () => current.timelines.forEach((t) => t.fit())),
      button("show-sync", "Sync", "Show synchronisation arrows", toggle("sync"), "true"),
      button("show-reads", "Reads", "Show which write each read sees", toggle("reads"), "true")));
  return { element, where, forward: element.querySelector("#forward"), back: element.querySelector("#back"), play: element.querySelector("#play") };
}

const zoom = (factor) => current.timelines?.forEach((timeline) => timeline.zoom(factor));

/** Goes to the moment after so many steps. */
function go(step, centre = false) {
  if (!current?.view) return;
  const { view, timelines, controls, sources } = current;
  const { finding, predicted, observed } = view;
  current.step = step = Math.max(0, Math.min(step, predicted.length));
  const position = step - 1;
  const row = position >= 0 ? predicted.rows[position] : null;
  timelines[1].current = row === null ? null : position;
  timelines[0].current = row === null ? null : observed.position(row) ?? null;
  for (const timeline of timelines) timeline.current === null ? (timeline.scroll = 0, timeline.redraw()) : timeline.reveal(timeline.current, centre);
  controls.back.disabled = step === 0;
  controls.forward.disabled = step === predicted.length;
  const next = row !== null && position >= predicted.length - finding.next;
  const event = row === null ? null : eventAt(row);
  const number = next ? "Next" : `Step ${(predicted.skipped + step).toLocaleString("en")} of ${(predicted.skipped + predicted.length - finding.next).toLocaleString("en")}`;
  controls.where.replaceChildren(...(event
    ? [el("b", {}, number), ` · ${DATA.threads[event.thread]}: ${event.operation} · `, el("span", { class: "mono", title: event.place.text }, nearName(event.place.text))]
    : [el("b", {}, "Before the first step")]));
  byId("live").textContent = event ? `${number}: ${DATA.threads[event.thread]}, ${event.operation}, ${event.place.text}` : "Before the first step";
  sources.replaceChildren(...sourceCards(view, step));
}

function choose(view, order, position) {
  const at = view.predicted.position(order.rows[position]);
  if (at !== undefined) go(at + 1);
}

function point(view, mine, order, position, event) {
  const tip = byId("tip");
  const other = current.timelines?.[1 - mine];
  if (other) {
    other.pointed = position === null ? null : [view.observed, view.predicted][1 - mine].position(order.rows[position]) ?? null;
    other.redraw();
  }
  if (position === null || !event) { tip.hidden = true; return; }
  const it = eventAt(order.rows[position]);
  const held = order.held(it.thread, position);
  const sees = order.changed.get(position);
  tip.replaceChildren(el("b", {}, `${DATA.threads[it.thread]}: ${it.operation}`), el("span", { class: "mono" }, it.place.text),
    el("span", {}, `event ${it.id}${held.length ? ` · holds ${held.join(", ")}` : ""}`), sees ? el("span", { class: "sees" }, sees) : "");
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.min(event.clientX + 14, innerWidth - box.width - 8)}px`;
  tip.style.top = `${event.clientY + 18 + box.height > innerHeight ? event.clientY - box.height - 10 : event.clientY + 18}px`;
}

function play() {
  if (playing) return stop();
  if (current.step === current.view.predicted.length) go(0);
  current.controls.play.textContent = "Pause";
  playing = setInterval(() => { go(current.step + 1); if (current.step === current.view.predicted.length) stop(); }, 350);
}

function stop() {
  clearInterval(playing);
  playing = null;
  if (current?.controls) current.controls.play.textContent = "Play";
}

// ---- the keyboard ----

/** The next step at which another thread goes on. */
function switchFrom(step, direction) {
  const { predicted } = current.view;
  const thread = (s) => DATA.events.threads[predicted.rows[s - 1]];
  let next = step + direction;
  while (next > 1 && next < predicted.length && thread(next) === thread(next - direction)) next += direction;
  return next;
}

function neighbour(direction) {
  const index = shown.findIndex((entry) => entry.id === current?.id);
  const entry = shown[Math.max(0, Math.min(shown.length - 1, index + direction))];
  if (!entry) return;
  show(entry);
  document.querySelector(".item[aria-current]")?.scrollIntoView({ block: "nearest" });
}

const KEYS = [
  ["→ or ↓", "step forward", (e) => ["ArrowRight", "ArrowDown", "l"].includes(e.key) && !e.shiftKey, () => go(current.step + 1)],
  ["← or ↑", "step back", (e) => ["ArrowLeft", "ArrowUp", "h"].includes(e.key) && !e.shiftKey, () => go(current.step - 1)],
  ["Shift → ←", "to the next or previous thread switch", (e) => e.shiftKey && ["ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"].includes(e.key),
    (e) => go(switchFrom(current.step, ["ArrowRight", "ArrowDown"].includes(e.key) ? 1 : -1))],
  ["Home End", "to the start, to the end", (e) => ["Home", "End"].includes(e.key), (e) => go(e.key === "Home" ? 0 : Infinity)],
  ["space", "play or pause", (e) => e.key === " ", play],
  ["j k", "next or previous finding", (e) => ["j", "k", "]", "["].includes(e.key), (e) => neighbour(["j", "]"].includes(e.key) ? 1 : -1)],
  ["+ −", "zoom", (e) => ["+", "=", "-"].includes(e.key), (e) => zoom(e.key === "-" ? 1 / 1.4 : 1.4)],
  ["0", "show everything", (e) => e.key === "0", () => current.timelines?.forEach((t) => t.fit())],
  ["1", "back to reading size", (e) => e.key === "1", () => current.timelines?.forEach((t) => t.reset())],
  ["/", "filter", (e) => e.key === "/", () => byId("text").focus()],
  ["t", "dark or light", (e) => e.key === "t", () => theme(true)],
  ["?", "this list", (e) => e.key === "?", help],
];
const ALWAYS = new Set(["j k", "/", "t", "?"]);

document.addEventListener("keydown", (event) => {
  const { target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
  if (target.matches("input, select, textarea")) {
    if (event.key === "Escape") { target.blur(); main.focus(); }
    return;
  }
  if (event.key === " " && target.matches("button, summary, a")) return;
  if (target.matches(".item") && ["ArrowDown", "ArrowUp"].includes(event.key)) {
    const items = [...document.querySelectorAll(".item")];
    items[items.indexOf(target) + (event.key === "ArrowDown" ? 1 : -1)]?.focus();
    event.preventDefault();
    return;
  }
  if (target.matches(".scroll, pre") && event.key.startsWith("Arrow")) return;
  const found = KEYS.find(([name, , test]) => test(event) && (current?.view || ALWAYS.has(name)));
  if (!found) return;
  event.preventDefault();
  found[3](event);
});

function help() {
  byId("keys").showModal();
}

// ---- dark and light ----

function theme(change = false) {
  const root = document.documentElement;
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
  const wanted = change ? !dark() : dark();
  root.dataset.theme = wanted ? "dark" : "light";
  const sun = "M12 5V2M12 22v-3M5 12H2M22 12h-3M6.3 6.3 4.2 4.2M19.8 19.8l-2.1-2.1M6.3 17.7l-2.1 2.1M19.8 4.2l-2.1 2.1M16 12a4 4 0 1 1-8 0 4 4 0 0 1 8 0z";
  const moon = "M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5z";
  byId("theme").replaceChildren(icon(wanted ? sun : moon));
  current?.timelines?.forEach((timeline) => timeline.redraw());
}

/** What a page without findings says. */
function nothingFound() {
  return el("div", { class: "nothing" }, el("h2", {}, "Nothing found"),
    el("ul", {}, DATA.covered.map((line) => el("li", {}, line)),
      DATA.ruled_out.length > 0 && el("li", {}, `${plural(DATA.ruled_out.length, "candidate")} that this recording rules out ${DATA.ruled_out.length === 1 ? "is" : "are"} explained in the list.`)));
}

// ---- the start ----

function start() {
  theme();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => {
    document.documentElement.dataset.theme = event.matches ? "dark" : "light";
    theme();
  });
  const [events, threads, locks] = DATA.size;
  const name = DATA.name ?? "a trace";
  document.title = `${name} · Foretell`;
  // The page of a suite is about all of its recordings.
  const about = DATA.suite ? [DATA.suite.command, plural(DATA.suite.tests.length, "test")]
    : [DATA.command, plural(events, "event"), plural(threads, "thread"), plural(locks, "lock")];
  byId("about").textContent = [name, ...about,
    DATA.unknown > 0 ? `${plural(DATA.unknown, "question")} left open` : "", DATA.suppressed > 0 ? `${DATA.suppressed} suppressed` : "",
    DATA.left_out > 0 ? `${plural(DATA.left_out, "finding")} not on this page` : ""].filter(Boolean).join(" · ");
  const counts = RUNGS.map((rung) => [rung, DATA.findings.filter((finding) => finding.rung === rung).length]).filter(([, count]) => count > 0);
  byId("rungs").replaceChildren(...counts.map(([rung, count]) => el("li", { class: `badge ${rung}` }, `${count} ${rung}`)));
  options(byId("kind"), "All kinds", [...new Set(ENTRIES.filter((entry) => !entry.suite).map((entry) => entry.kind))], capital);
  options(byId("rung"), "All rungs", [...RUNGS.filter((rung) => counts.some(([known]) => known === rung)), ...(DATA.ruled_out.length ? ["ruled-out"] : [])], (rung) => capital(rung.replace("-", " ")));
  byId("text").addEventListener("input", list);
  byId("theme").addEventListener("click", () => theme(true));
  byId("help").addEventListener("click", help);
  byId("keys").replaceChildren(el("h2", { id: "keys-title" }, "Keyboard"),
    el("dl", {}, KEYS.map(([keys, what]) => [el("dt", {}, keys.split(" ").map((key) => [el("kbd", {}, key), " "])), el("dd", {}, what)])),
    el("form", { method: "dialog" }, el("button", { class: "button" }, "Close")));
  list();
  const wanted = ENTRIES.find((entry) => `#${entry.id}` === location.hash) ?? (DATA.findings.length ? ENTRIES[0] : null);
  if (wanted) show(wanted);
  else main.replaceChildren(nothingFound());
  document.documentElement.dataset.ready = "true";
}

start();
