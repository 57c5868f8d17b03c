// A timeline: one lane a thread, time downwards, drawn on a canvas. Only what is in sight is drawn, so that ten thousand events
// scroll and zoom as smoothly as ten.

const GUTTER = 46;
const TOP = 26;
const MAP = 14;
const TALLEST = 34;
/** Room for the labels of the last lane. */
const LABEL = 176;
/** The most room that the name of a thread takes above its lane. */
const HEAD = 84;
const EDGE_COLOURS = { "reads-from": "--write", lock: "--lock", fork: "--sync", join: "--sync" };

class Timeline {
  /** `at` is told when an event is pointed at (null: none) or chosen. */
  constructor(canvas, { order, named, next, at }) {
    Object.assign(this, { canvas, order, named, next, at });
    this.rowHeight = 26;
    this.scroll = 0;
    this.left = 0;
    this.current = null;
    this.pointed = null;
    this.done = null;
    this.shows = { sync: true, reads: true };
    this.lanes = new Map(order.threads.map((thread, lane) => [thread, lane]));
    this.listen();
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.resize();
  }

  resize() {
    const { clientWidth, clientHeight } = this.canvas;
    if (!clientWidth || !clientHeight) return;
    const isNew = !this.height;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(clientWidth * ratio), Math.round(clientHeight * ratio)];
    this.width = clientWidth;
    this.height = clientHeight;
    this.ratio = ratio;
    // Setting a size clears the canvas, even if the size is the same.
    if (this.canvas.width !== width) this.canvas.width = width;
    if (this.canvas.height !== height) this.canvas.height = height;
    const count = this.order.threads.length || 1;
    // A row has one event, so that a label may run over the lanes to its right; only the last lane needs room for it.
    const room = this.width - GUTTER - MAP;
    const fair = Math.min(room / count, 320, count > 1 ? (room - Math.min(LABEL, room * 0.62)) / (count - 1) : Infinity);
    this.laneWidth = Math.max(this.narrowest(), fair);
    // What was asked for while there was no room to show it.
    if (isNew && this.current !== null) this.reveal(this.current, true);
    // At once: the canvas may just have been cleared, and observers of sizes are called after the callbacks of this frame. A later frame would be
    // too late for a screenshot, and would show as a flicker.
    this.draw();
  }

  /** The width that a lane needs for the name of its thread. */
  narrowest() {
    const g = this.canvas.getContext("2d");
    g.font = `600 13px ${this.colours()("--sans")}`;
    const widths = this.order.threads.map((thread) => g.measureText(DATA.threads[thread]).width);
    return Math.min(HEAD, Math.max(10, ...widths)) + 28;
  }

  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  get visible() {
    return (this.height - TOP) / this.rowHeight;
  }

  clamp() {
    this.scroll = Math.max(0, Math.min(this.scroll, this.order.length + 0.6 - this.visible));
    const widest = this.laneWidth * (this.order.threads.length - 1) + Math.min(LABEL, (this.width - GUTTER - MAP) * 0.62) - (this.width - GUTTER - MAP);
    this.left = Math.max(0, Math.min(this.left, widest));
  }

  /** Zooms by a factor about a height on the canvas. */
  zoom(factor, y = this.height / 2) {
    const anchor = this.scroll + (y - TOP) / this.rowHeight;
    const smallest = Math.min(TALLEST, (this.height - TOP) / (this.order.length + 0.6));
    this.rowHeight = Math.max(smallest, Math.min(TALLEST, this.rowHeight * factor));
    this.scroll = anchor - (y - TOP) / this.rowHeight;
    this.redraw();
  }

  fit() {
    this.zoom(0);
  }

  reset() {
    this.zoom(26 / this.rowHeight);
    if (this.current !== null) this.reveal(this.current, true);
  }

  /** Scrolls so that a position is in sight. */
  reveal(position, centre = false) {
    if (!this.height) return;
    const margin = Math.min(3, this.visible / 4);
    if (centre) this.scroll = position - this.visible / 2;
    else if (position < this.scroll + margin) this.scroll = position - margin;
    else if (position > this.scroll + this.visible - margin - 1) this.scroll = position - this.visible + margin + 1;
    const lane = this.lanes.get(DATA.events.threads[this.order.rows[position]]) ?? 0;
    const x = lane * this.laneWidth;
    const room = this.width - GUTTER - MAP;
    if (x < this.left) this.left = x;
    else if (x + LABEL > this.left + room) this.left = x + LABEL - room;
    this.redraw();
  }

  colours() {
    const style = getComputedStyle(document.documentElement);
    return (name) => style.getPropertyValue(name).trim();
  }

  x(lane) {
    return GUTTER + lane * this.laneWidth - this.left;
  }

  y(position) {
    return TOP + (position - this.scroll) * this.rowHeight;
  }

  draw() {
    if (!this.width) return;
    this.clamp();
    const g = this.canvas.getContext("2d");
    const colour = this.colours();
    g.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    g.clearRect(0, 0, this.width, this.height);
    const first = Math.max(0, Math.floor(this.scroll));
    const last = Math.min(this.order.length, Math.ceil(this.scroll + this.visible) + 1);
    g.save();
    g.beginPath();
    g.rect(0, TOP, this.width - MAP, this.height - TOP);
    g.clip();
    this.drawBands(g, colour);
    this.drawNumbers(g, colour, first, last);
    g.beginPath();
    g.rect(GUTTER - 4, TOP, this.width - MAP - GUTTER + 4, this.height - TOP);
    g.clip();
    this.drawLanes(g, colour);
    this.drawSections(g, colour, first, last);
    this.drawRegion(g, colour);
    if (this.rowHeight >= 4) this.drawEdges(g, colour, first, last);
    this.drawEvents(g, colour, first, last);
    this.drawClash(g, colour);
    g.restore();
    this.drawHeads(g, colour);
    this.drawMap(g, colour);
  }

  drawBands(g, colour) {
    const band = (position, fill) => {
      g.fillStyle = fill;
      g.fillRect(0, this.y(position), this.width - MAP, Math.max(this.rowHeight, 2));
    };
    for (let position = this.order.length - this.next; position < this.order.length; position++) {
      band(position, colour("--danger-soft"));
    }
    if (this.current !== null) band(this.current, colour("--band"));
  }

  drawNumbers(g, colour, first, last) {
    if (this.rowHeight < 13) return;
    g.font = `11px ${colour("--mono")}`;
    g.textAlign = "right";
    g.textBaseline = "middle";
    for (let position = first; position < last; position++) {
      g.fillStyle = position === this.current ? colour("--accent") : colour("--faint");
      const next = position >= this.order.length - this.next;
      g.fillText(next ? "next" : String(this.order.number(position)), GUTTER - 9, this.y(position + 0.5) + 0.5);
    }
    g.textAlign = "left";
  }

  drawLanes(g, colour) {
    this.order.threads.forEach((_, lane) => {
      g.strokeStyle = colour("--line");
      g.lineWidth = 1;
      const x = Math.round(this.x(lane) + 11) + 0.5;
      g.beginPath();
      g.moveTo(x, Math.max(TOP, this.y(0)));
      g.lineTo(x, Math.min(this.height, this.y(this.order.length)));
      g.stroke();
    });
  }

  drawSections(g, colour, first, last) {
    g.fillStyle = colour("--section");
    for (const section of this.order.sections) {
      if (section.first > last) break;
      if (section.last < first) continue;
      const x = this.x(this.lanes.get(section.thread)) + 4;
      const end = section.last >= this.order.length ? this.order.length : section.last + 1;
      const [top, bottom] = [this.y(section.first) + 1, this.y(end) - 1];
      g.beginPath();
      g.roundRect(x, top, this.laneWidth - 8, Math.max(bottom - top, 1), 7);
      g.fill();
    }
  }

  /** The region that another thread comes into: from the first to the last of three named events. */
  drawRegion(g, colour) {
    if (this.region === undefined) {
      const positions = [...this.named].map((row) => this.order.position(row)).filter((p) => p !== undefined);
      const thread = (position) => DATA.events.threads[this.order.rows[position]];
      positions.sort((a, b) => a - b);
      const ends = positions.length === 3 && thread(positions[0]) === thread(positions[2]);
      this.region = ends ? [positions[0], positions[2]] : null;
    }
    if (!this.region) return;
    const [first, last] = this.region;
    const lane = this.lanes.get(DATA.events.threads[this.order.rows[first]]);
    g.strokeStyle = colour("--danger");
    g.setLineDash([5, 4]);
    g.lineWidth = 1.4;
    g.beginPath();
    g.roundRect(this.x(lane) + 2, this.y(first), this.laneWidth - 4, (last + 1 - first) * this.rowHeight, 8);
    g.stroke();
    g.setLineDash([]);
  }

  drawEdges(g, colour, first, last) {
    let drawn = 0;
    for (const [from, to, kind] of this.order.edges) {
      if (to < first || from > last) continue;
      const reads = kind === "reads-from";
      if (reads ? !this.shows.reads : !this.shows.sync) continue;
      if (++drawn > 800) break;
      const lane = (position) => this.lanes.get(DATA.events.threads[this.order.rows[position]]);
      const [x1, y1] = [this.x(lane(from)) + 11, this.y(from + 0.5)];
      const [x2, y2] = [this.x(lane(to)) + 11, this.y(to + 0.5)];
      const side = x2 > x1 ? -1 : 1;
      const end = x2 + side * 8;
      const near = this.pointed === from || this.pointed === to || this.current === from || this.current === to;
      g.globalAlpha = near ? 1 : reads ? 0.3 : 0.45;
      g.strokeStyle = g.fillStyle = colour(EDGE_COLOURS[kind] ?? "--sync");
      g.lineWidth = near ? 1.8 : 1.2;
      g.setLineDash(reads ? [4, 3] : []);
      g.beginPath();
      g.moveTo(x1, y1);
      g.bezierCurveTo(x1, y1 + (y2 - y1) * 0.55, end + side * 26, y2, end, y2);
      g.stroke();
      g.setLineDash([]);
      g.beginPath();
      g.moveTo(end - side * 1, y2);
      g.lineTo(end + side * 6, y2 - 3.5);
      g.lineTo(end + side * 6, y2 + 3.5);
      g.fill();
      g.globalAlpha = 1;
    }
  }

  drawEvents(g, colour, first, last) {
    const { events } = DATA;
    const inks = Object.fromEntries(["read", "write", "lock", "sync", "other"].map((f) => [f, colour(`--${f}`)]));
    inks.unlock = inks.request = inks.lock;
    const [danger, ink, faint, paper] = ["--danger", "--ink", "--faint", "--paper"].map(colour);
    const text = this.rowHeight >= 13;
    const size = Math.min(13, Math.max(10, this.rowHeight - 9));
    const mono = colour("--mono");
    for (let position = first; position < last; position++) {
      const row = this.order.rows[position];
      const named = this.named.has(row);
      const x = this.x(this.lanes.get(events.threads[row]));
      const y = this.y(position + 0.5);
      const what = family(events.kinds[events.kind[row]]);
      const tint = named ? danger : inks[what];
      g.globalAlpha = this.done && !this.done(row, position) ? 0.34 : 1;
      if (!text) {
        g.fillStyle = tint;
        g.fillRect(x + 6, this.y(position), 10, Math.max(1, this.rowHeight - 0.6));
        continue;
      }
      const label = events.operations[events.operation[row]];
      g.font = `${named ? "600 " : ""}${size}px ${mono}`;
      const room = this.width - MAP - x - 32;
      const shown = this.fitted(g, label, room);
      if (named || position === this.pointed) {
        g.beginPath();
        g.roundRect(x + 2, this.y(position) + 2, Math.min(room, g.measureText(shown).width) + 30, this.rowHeight - 4, 7);
        g.fillStyle = paper;
        g.fill();
        g.lineWidth = named ? 1.6 : 1;
        g.strokeStyle = named ? danger : faint;
        g.stroke();
      }
      this.drawMark(g, what, x + 11, y, tint, paper);
      g.fillStyle = named ? danger : ink;
      g.textBaseline = "middle";
      g.fillText(shown, x + 22, y + 0.5);
    }
    g.globalAlpha = 1;
  }

  /** From far the named events are all that must not be missed; near, those that are next at the same moment are tied together. */
  drawClash(g, colour) {
    g.fillStyle = g.strokeStyle = colour("--danger");
    const lane = (position) => this.lanes.get(DATA.events.threads[this.order.rows[position]]);
    if (this.rowHeight < 13) {
      for (const row of this.named) {
        const position = this.order.position(row);
        if (position !== undefined) g.fillRect(this.x(lane(position)) + 4, this.y(position + 0.5) - 2, this.laneWidth - 8, 4);
      }
      return;
    }
    if (this.next < 2) return;
    g.lineWidth = 2.2;
    for (let position = this.order.length - this.next; position + 1 < this.order.length; position++) {
      const [x1, y1, x2, y2] = [this.x(lane(position)) + 11, this.y(position + 1) - 2, this.x(lane(position + 1)) + 2, this.y(position + 1.5)];
      g.beginPath();
      g.moveTo(x1, y1);
      g.lineTo(x1, y2 - 6);
      g.quadraticCurveTo(x1, y2, x1 + (x2 > x1 ? 6 : -6), y2);
      g.lineTo(x2, y2);
      g.stroke();
    }
  }

  /** Reads are hollow, writes full, acquires and releases half-closed. */
  drawMark(g, what, x, y, tint, paper) {
    g.strokeStyle = g.fillStyle = tint;
    g.lineWidth = 2;
    g.beginPath();
    if (what === "lock") g.roundRect(x - 5, y - 5, 10, 10, 3);
    else if (what === "unlock" || what === "request") g.roundRect(x - 4.2, y - 4.2, 8.4, 8.4, 2.5);
    else if (what === "sync") {
      g.moveTo(x, y - 6);
      g.lineTo(x + 6, y);
      g.lineTo(x, y + 6);
      g.lineTo(x - 6, y);
      g.closePath();
    } else g.arc(x, y, what === "write" ? 5 : what === "read" ? 4.2 : 2.6, 0, 7);
    if (what === "read" || what === "unlock" || what === "request") {
      g.fillStyle = paper;
      g.fill();
      g.stroke();
    } else g.fill();
  }

  /** A text with its middle left out where it does not fit: the names of threads and of memory often differ at the end only. */
  fitted(g, text, room) {
    const width = g.measureText(text).width;
    if (width <= room) return text;
    for (let keep = Math.min(text.length - 1, Math.ceil((room / width) * text.length)); keep > 2; keep--) {
      const tail = Math.floor(keep * 0.4);
      const short = `${text.slice(0, keep - tail)}…${text.slice(text.length - tail)}`;
      if (g.measureText(short).width <= room) return short;
    }
    return `${text.slice(0, 1)}…`;
  }

  drawHeads(g, colour) {
    g.fillStyle = colour("--paper");
    g.fillRect(0, 0, this.width, TOP);
    g.fillStyle = colour("--line");
    g.fillRect(0, TOP - 1, this.width, 1);
    g.save();
    g.beginPath();
    g.rect(GUTTER - 2, 0, this.width - GUTTER - MAP, TOP);
    g.clip();
    this.order.threads.forEach((thread, lane) => {
      const x = this.x(lane);
      g.fillStyle = hue(thread);
      g.beginPath();
      g.arc(x + 11, TOP / 2, 4.5, 0, 7);
      g.fill();
      g.fillStyle = colour("--ink");
      g.font = `600 13px ${colour("--sans")}`;
      g.textBaseline = "middle";
      // The last lane may be wider than the others, or partly out of sight: then its name is cut off at the edge, as its events are.
      const last = lane === this.order.threads.length - 1;
      const room = Math.max(this.laneWidth - 26, last ? this.width - MAP - x - 26 : 0);
      g.fillText(this.fitted(g, DATA.threads[thread], room), x + 22, TOP / 2);
    });
    g.restore();
  }

  /** The whole order at the right edge: thread switches, the named events, and what is in sight. */
  drawMap(g, colour) {
    const x = this.width - MAP;
    const height = this.height - TOP;
    g.fillStyle = colour("--ground");
    g.fillRect(x, TOP, MAP, height);
    const scale = height / (this.order.length + 0.6);
    const stride = Math.max(1, Math.floor(this.order.length / (height * 2)));
    for (let at = 0; at < this.order.length; at += stride) {
      // Not always the same event of each stretch: in a loop all of those might be of one thread.
      const position = Math.min(this.order.length - 1, at + ((at * 7919) % stride));
      g.fillStyle = hue(DATA.events.threads[this.order.rows[position]]);
      g.globalAlpha = 0.5;
      g.fillRect(x + 3, TOP + position * scale, MAP - 6, Math.max(1, scale));
    }
    g.globalAlpha = 1;
    g.fillStyle = colour("--danger");
    for (const row of this.named) {
      const position = this.order.position(row);
      if (position !== undefined) g.fillRect(x, TOP + position * scale - 1, MAP, 3);
    }
    if (this.current !== null) {
      g.fillStyle = colour("--accent");
      g.fillRect(x, TOP + this.current * scale - 1, MAP, 3);
    }
    g.strokeStyle = colour("--line-strong");
    g.lineWidth = 1.5;
    g.strokeRect(x + 0.75, TOP + this.scroll * scale, MAP - 1.5, Math.min(height, Math.max(6, this.visible * scale)));
  }

  /** The position of the event at a point of the canvas; null: none. */
  hit(x, y) {
    if (y < TOP || x > this.width - MAP) return null;
    const position = Math.floor(this.scroll + (y - TOP) / this.rowHeight);
    if (position < 0 || position >= this.order.length) return null;
    const lane = this.lanes.get(DATA.events.threads[this.order.rows[position]]);
    const within = x >= this.x(lane) - 6;
    return within || this.rowHeight < 13 ? position : null;
  }

  listen() {
    const { canvas } = this;
    const fingers = new Map();
    let travelled = 0;
    const point = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    const onMap = (event) => point(event)[0] > this.width - MAP;
    const jump = (event) => {
      const share = (point(event)[1] - TOP) / (this.height - TOP);
      this.scroll = share * this.order.length - this.visible / 2;
      this.redraw();
    };
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const unit = event.deltaMode === 1 ? 20 : 1;
      if (event.ctrlKey || event.metaKey) this.zoom(Math.exp(-event.deltaY * unit * 0.004), point(event)[1]);
      else {
        this.scroll += (event.deltaY * unit) / this.rowHeight;
        this.left += event.deltaX * unit;
        this.redraw();
      }
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, { last: point(event), map: onMap(event) });
      travelled = 0;
      if (onMap(event)) jump(event);
    });
    canvas.addEventListener("pointermove", (event) => {
      const finger = fingers.get(event.pointerId);
      if (!finger) return this.point(this.hit(...point(event)), event);
      const [x, y] = point(event);
      const [dx, dy] = [x - finger.last[0], y - finger.last[1]];
      if (finger.map) return jump(event);
      if (fingers.size === 2) {
        const other = [...fingers.entries()].find(([id]) => id !== event.pointerId)[1].last;
        const spread = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]) || 1;
        this.zoom(spread([x, y], other) / spread(finger.last, other), (y + other[1]) / 2);
      } else {
        this.scroll -= dy / this.rowHeight;
        this.left -= dx;
        this.redraw();
      }
      travelled += Math.abs(dx) + Math.abs(dy);
      finger.last = [x, y];
    });
    const up = (event) => {
      const finger = fingers.get(event.pointerId);
      fingers.delete(event.pointerId);
      if (!finger || finger.map || travelled > 6 || event.type !== "pointerup") return;
      const position = this.hit(...point(event));
      if (position !== null) this.at.chosen(position);
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("pointerleave", () => this.point(null));
  }

  point(position, event) {
    this.pointed = position;
    this.at.pointed(position, event);
    this.redraw();
  }
}
