// The source beside the timelines: for each thread the line it is at after the steps so far.

const CONTEXT = 3;
const MOST_THREADS = 8;
// Deeper lines leave no room for the code.
const MOST_INDENT = 16;
const TAB = 4;

/** How far a line is indented. */
function columns(text) {
  return [...(/^\s*/.exec(text)[0])].reduce((column, space) => (space === "\t" ? column - (column % TAB) + TAB : column + 1), 0);
}

/** The cards of a finding's threads after so many steps; the finding's own threads come first. */
function sourceCards({ finding, predicted, named }, steps) {
  const moving = steps > 0 ? DATA.events.threads[predicted.rows[steps - 1]] : null;
  const own = finding.threads.filter((thread) => predicted.threads.includes(thread));
  const threads = [...own, ...predicted.threads.filter((thread) => !own.includes(thread))];
  return threads.slice(0, MOST_THREADS).map((thread) => {
    const position = predicted.last(thread, steps);
    const event = position < 0 ? null : eventAt(predicted.rows[position]);
    const bad = event !== null && named.has(predicted.rows[position]);
    return card(thread, event, {
      fails: bad && finding.fails_at,
      moving: thread === moving,
      next: position >= predicted.length - predicted.next,
      bad,
      held: predicted.held(thread, steps),
      sees: position < 0 ? undefined : predicted.changed.get(position),
    });
  });
}

function card(thread, event, { fails, moving, next, bad, held, sees }) {
  const place = fails || event?.place;
  const head = el("header", {},
    el("i", { style: `background:${hue(thread)}` }),
    el("b", {}, DATA.threads[thread]),
    el("span", {}, fails ? "fails here" : event ? `${next ? "is about to " : ""}${event.operation}` : "has not started"),
    event && el("span", { class: "at", title: place.text }, nearName(place.text)),
    held.length > 0 && el("span", { class: "holds" }, `holds ${held.join(", ")}`),
    sees && el("span", { class: "sees" }, sees));
  return el("section", { class: moving ? "source moving" : "source", "aria-label": `Source of ${DATA.threads[thread]}` },
    head, event && excerpt(place, bad));
}

function excerpt(place, bad) {
  const found = passage(place);
  if (!found) return null;
  const lines = found.lines
    .map((text, index) => ({ text, number: found.first + index }))
    .filter(({ number }) => Math.abs(number - place.line) <= CONTEXT);
  // What all lines start with takes room and says nothing. The rest is a margin, which wrapped lines keep.
  const indent = Math.min(...lines.filter(({ text }) => text.trim()).map(({ text }) => columns(text)));
  const line = ({ text, number }) => {
    const margin = text.trim() ? Math.min(columns(text) - indent, MOST_INDENT) : 0;
    return el("div", { class: number === place.line && (bad ? "bad" : "now"), style: `--indent:${margin}ch` },
      el("span", {}, String(number)), text.trim() || " ");
  };
  return el("pre", { tabindex: "0", "aria-label": place.text }, lines.map(line));
}
