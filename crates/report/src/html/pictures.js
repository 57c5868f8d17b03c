// Pictures of a finding: who waits for whom, and the states the program passes through.

/** The circle of a deadlock. */
function waitForPicture(waits) {
  const [width, height, radius] = [430, 300, 100];
  const [cx, cy] = [width / 2, height / 2];
  const angle = (index) => (index / waits.length) * 2 * Math.PI - Math.PI / 2;
  const spot = (index, r = radius) => [cx + r * Math.cos(angle(index)), cy + r * Math.sin(angle(index))];
  const parts = waits.flatMap((wait, index) => {
    const [gap, middle] = [0.36 * Math.min(1, 3 / waits.length), index + 0.5];
    const step = (2 * Math.PI) / waits.length;
    const on = (a) => [cx + radius * Math.cos(a), cy + radius * Math.sin(a)];
    const [x1, y1] = on(angle(index) + gap);
    const [x2, y2] = on(angle(index) + step - gap);
    const [tx, ty] = spot(middle, radius * (waits.length === 2 ? 1.16 : 1.2));
    const anchor = Math.abs(tx - cx) < 20 ? "middle" : tx > cx ? "start" : "end";
    const large = step - 2 * gap > Math.PI ? 1 : 0;
    return [
      svg("path", { d: `M${x1} ${y1}A${radius} ${radius} 0 ${large} 1 ${x2} ${y2}`, fill: "none", stroke: "var(--danger)", "stroke-width": 2, "marker-end": "url(#head)" }),
      svg("text", { x: tx, y: ty, "text-anchor": anchor, "dominant-baseline": "middle" },
        svg("tspan", { class: "faint" }, "waits for "), svg("tspan", { "font-weight": 600 }, cut(wait.object, 22))),
    ];
  });
  const nodes = waits.flatMap((wait, index) => {
    const [x, y] = spot(index);
    return [
      svg("circle", { cx: x, cy: y, r: 28, fill: "var(--paper)", stroke: hue(wait.thread), "stroke-width": 3 }),
      svg("text", { x, y, "text-anchor": "middle", "dominant-baseline": "middle", "font-weight": 650 }, cut(DATA.threads[wait.thread], 9)),
    ];
  });
  const told = waits.map((w) => `${DATA.threads[w.thread]} waits for ${w.object}, which ${DATA.threads[w.holder]} has`).join("; ");
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": told, id: "wait-for" },
    svg("defs", {}, svg("marker", { id: "head", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
      svg("path", { d: "M0 0L8 4L0 8z", fill: "var(--danger)" }))),
    parts, nodes);
}

const cut = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

/** The states of a small trace, one layer for each number of events, with the ways of the observed run and the schedule. */
function latticePicture(lattice, { observed, predicted, finding }) {
  const { states } = lattice;
  const key = (state) => state.join(",");
  const level = (state) => state.reduce((sum, count) => sum + count, 0);
  const layers = new Map();
  for (const state of states) {
    if (!layers.has(level(state))) layers.set(level(state), []);
    layers.get(level(state)).push(state);
  }
  const deepest = Math.max(...layers.keys(), 1);
  const widest = Math.max(...[...layers.values()].map((layer) => layer.length));
  const [dx, dy] = [Math.max(22, Math.min(46, 900 / widest)), 30];
  const width = Math.max(320, widest * dx + 60);
  const spots = new Map();
  // A state stands where its threads' progress puts it: the first threads pull to the left, the last to the right.
  const lean = (state) => state.reduce((sum, count, thread) => sum + count * (thread - (state.length - 1) / 2), 0);
  for (const [depth, layer] of layers) {
    layer.sort((a, b) => lean(a) - lean(b) || (key(a) < key(b) ? -1 : 1));
    layer.forEach((state, index) => spots.set(key(state), [width / 2 + (index - (layer.length - 1) / 2) * dx, 24 + depth * dy]));
  }
  const lines = [];
  for (const state of states) {
    const from = spots.get(key(state));
    state.forEach((_, thread) => {
      const to = spots.get(key(state.map((count, other) => count + (other === thread ? 1 : 0))));
      if (to) lines.push(svg("line", { x1: from[0], y1: from[1], x2: to[0], y2: to[1], stroke: "var(--line-strong)" }));
    });
  }
  const way = (order, length, colour, dash) => {
    const state = new Array(states[0].length).fill(0);
    const points = [spots.get(key(state))];
    for (let position = 0; position < length; position++) {
      state[DATA.events.threads[order.rows[position]]]++;
      points.push(spots.get(key(state)));
    }
    const known = points.filter(Boolean);
    return { end: known.at(-1), path: svg("polyline", { points: known.map((p) => p.join(",")).join(" "), fill: "none", stroke: colour, "stroke-width": 3, "stroke-linejoin": "round", "stroke-dasharray": dash }) };
  };
  const seen = way(observed, observed.length, "var(--accent)", "5 4");
  const predictedWay = way(predicted, predicted.length - finding.next, "var(--danger)", null);
  const dots = [...spots.values()].map(([x, y]) => svg("circle", { cx: x, cy: y, r: 4, fill: "var(--paper)", stroke: "var(--soft)" }));
  const told = `${states.length} reachable states; the schedule ends after ${predicted.length - finding.next} of ${deepest} events`;
  return el("div", {},
    svg("svg", { viewBox: `0 0 ${width} ${deepest * dy + 48}`, role: "img", "aria-label": told, id: "lattice" },
      lines, seen.path, predictedWay.path, dots,
      predictedWay.end && svg("circle", { cx: predictedWay.end[0], cy: predictedWay.end[1], r: 7, fill: "var(--danger)" })),
    el("p", { class: "legend" },
      el("span", {}, el("i", { style: "color:var(--accent);border-top-style:dashed" }), "the observed run"),
      el("span", {}, el("i", { style: "color:var(--danger)" }), "the schedule, up to the bug"),
      el("span", {}, told)));
}
