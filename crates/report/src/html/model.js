// What the page knows: the embedded data, with orders of events decoded when a finding is opened.

const DATA = JSON.parse(byId("data").textContent);

for (const recording of DATA.recordings) {
  recording.rows = new Map(recording.events.ids.map((id, row) => [id, row]));
}

/** Turns to a recording: its threads and events are what the page speaks of until it turns to another. */
const turnTo = (number) => Object.assign(DATA, DATA.recordings[number]);
turnTo(0);

/** Where the event with a trace id stands in the columns. */
const rowOf = (id) => DATA.rows.get(id);

/** One event for display. */
function eventAt(row) {
  const events = DATA.events;
  return {
    id: events.ids[row],
    thread: events.threads[row],
    kind: events.kinds[events.kind[row]],
    operation: events.operations[events.operation[row]],
    object: events.objects[events.object[row]],
    place: events.places[events.place[row]],
  };
}

const FAMILIES = {
  r: "read", ar: "read", w: "write", aw: "write", rmw: "write",
  acq: "lock", racq: "lock", req: "request", rreq: "request", rel: "unlock", rrel: "unlock",
  branch: "other", mark: "other", begin: "other", end: "other", abegin: "other", aend: "other",
};

/** What an event is drawn as; what is not named here synchronises. */
const family = (kind) => FAMILIES[kind] ?? "sync";

/**
 * Events in an order: their rows in the columns, where each thread and lock stands, and the arrows between them.
 * Built once for each finding that is opened.
 */
class Order {
  constructor(encoded, next = null) {
    this.isObserved = next === null;
    this.next = next ?? 0;
    this.skipped = encoded.skipped;
    this.rows = [];
    for (const [first, count] of encoded.runs) {
      for (let id = first; id < first + count; id++) this.rows.push(rowOf(id));
    }
    this.length = this.rows.length;
    this.edges = encoded.edges;
    this.changed = new Map(encoded.changed);
    this.positions = new Map(this.rows.map((row, position) => [row, position]));
    this.threads = [...new Set(this.rows.map((row) => DATA.events.threads[row]))].sort((a, b) => a - b);
    this.sections = this.findSections();
  }

  position(row) {
    return this.positions.get(row);
  }

  /** What an event is called where it stands: in the observed run the number that texts call it by, in a schedule its step. */
  number(position) {
    return this.isObserved ? DATA.events.ids[this.rows[position]] : this.skipped + position + 1;
  }

  /** Critical sections: thread, lock, first and last position; one that is still open ends behind the last event. */
  findSections() {
    const open = new Map();
    const sections = [];
    const { threads, kind, kinds, object } = DATA.events;
    // Events that are next have not happened: a blocked acquire holds nothing.
    this.rows.slice(0, this.length - this.next).forEach((row, position) => {
      const what = family(kinds[kind[row]]);
      if (what !== "lock" && what !== "unlock") return;
      const key = `${threads[row]} ${object[row]}`;
      if (what === "lock") {
        if (open.has(key)) open.get(key).depth++;
        else open.set(key, { thread: threads[row], lock: object[row], first: position, last: this.length, depth: 1 });
      } else if (open.has(key) && --open.get(key).depth === 0) {
        sections.push({ ...open.get(key), last: position });
        open.delete(key);
      }
    });
    return sections.concat([...open.values()]).sort((a, b) => a.first - b.first);
  }

  /** The names of the locks a thread holds after so many steps. */
  held(thread, steps) {
    const held = this.sections.filter((s) => s.thread === thread && s.first < steps && s.last >= steps);
    return [...new Set(held.map((section) => DATA.events.objects[section.lock]))];
  }

  /** The position of the last event of a thread among the first so many steps; -1: none. */
  last(thread, steps) {
    const { threads } = DATA.events;
    for (let position = steps - 1; position >= 0; position--) {
      if (threads[this.rows[position]] === thread) return position;
    }
    return -1;
  }
}

/** A place without the directories of a long path: its line must not be what is cut off. */
const nearName = (place) => (place.length > 36 && place.includes("/") ? `…/${place.split("/").pop()}` : place);

/** Places as short as they can be said: those of the same file by their lines only. */
function shortPlaces(places) {
  const split = (place) => /^(.*):(\d+)$/.exec(place)?.slice(1) ?? [place, null];
  return places.reduce((said, place, index) => {
    const [file, line] = split(place);
    const same = index > 0 && line !== null && split(places[index - 1])[0] === file;
    return index === 0 ? nearName(place) : said + (same ? `, :${line}` : ` · ${nearName(place)}`);
  }, "");
}

const opened = new Map();

/** A finding with its orders decoded. */
function open(finding) {
  turnTo(finding.recording);
  if (!opened.has(finding.id)) {
    const named = new Set(finding.events.filter((id) => id >= 0).map(rowOf));
    opened.set(finding.id, {
      finding,
      named,
      observed: new Order(finding.observed),
      predicted: new Order(finding.predicted, finding.next),
    });
  }
  return opened.get(finding.id);
}

/** The passage of a file that has a line. */
function passage(place) {
  if (!place.file || !Object.hasOwn(DATA.files, place.file)) return null;
  return DATA.files[place.file].find((p) => p.first <= place.line && place.line < p.first + p.lines.length) ?? null;
}

const HUES = ["#4c6ef5", "#e8590c", "#2f9e44", "#ae3ec9", "#0c8599", "#c2255c", "#a16207", "#5f3dc4"];
const hue = (thread) => HUES[thread % HUES.length];
