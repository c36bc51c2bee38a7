"use strict";
// The whole trial as a strip below the axes, with the window in view: dragged, resized, by keys too.

const STRIP = 46;
const GRIPS = {from: "Beginning of the view", view: "The view", to: "End of the view"};
const STEP = 0.05;

class Brush {
  constructor(column) {
    this.column = column;
    this.length = Math.max(1, column.facts.duration_ns);
    this.canvas = el("canvas", {height: STRIP});
    this.strip = el("div", {className: "strip"}, this.canvas);
    this.grips = {};
    this.next = null;  // the window that is loaded when the one on its way is shown
    this.busy = false;
    for (const [name, title] of Object.entries(GRIPS)) {
      const grip = this.grips[name] = el("div", {className: `grip ${name}`, tabIndex: 0, title: `${title}: drag, or arrow keys`});
      grip.setAttribute("role", "slider");
      grip.setAttribute("aria-label", title);
      grip.setAttribute("aria-valuemin", 0);
      grip.setAttribute("aria-valuemax", this.length / 1e9);
      grip.addEventListener("pointerdown", (event) => this.drag(event, name));
      grip.addEventListener("keydown", (event) => this.key(event, name));
    }
    this.strip.append(this.grips.view, this.grips.from, this.grips.to);
    this.strip.addEventListener("pointerdown", (event) => this.sketch(event));
    this.root = el("div", {className: "brush"}, el("h3", {textContent: "Whole trial"}), this.strip);
    column.root.append(this.root);
    this.strip.style.width = `${this.width()}px`;
    this.place();
  }

  width() {
    return Math.max(100, this.column.pixels());
  }

  // The queue of all flows over the whole trial, once.
  async fill() {
    this.canvas.width = this.width();
    const {facts} = this.column;
    if (facts.queue.state !== "ready") return;
    const whole = await askArrays("view", {trial: facts.id, from: 0, to: this.length, pixels: this.canvas.width});
    if (this.column.gone) return;
    const rows = whole.occupancy_byte_ns;
    const sums = rows.length ? rows[0].map((_, i) => rows.reduce((sum, row) => sum + row[i], 0)) : [];
    const most = sums.reduce((a, b) => Math.max(a, b), 1);
    const heights = Float64Array.from(sums, (sum) => sum / most * (STRIP - 2));
    const raster = new Raster();
    raster.begin(this.canvas.width, STRIP);
    const pixel = this.length / this.canvas.width;
    raster.layer(new Float64Array(heights.length), heights, whole.start_ns / pixel, whole.width_ns / pixel, packed(css("--muted")));
    raster.onto(this.canvas.getContext("2d"), 0, 0);
  }

  // Show the window of the view.
  place() {
    const share = (ns) => Math.min(1, Math.max(0, ns / this.length)) * 100;
    const [low, high] = [share(view.from), share(view.to)];
    this.grips.view.style.left = `${low}%`;
    this.grips.view.style.width = `max(4px, ${high - low}%)`;
    this.grips.from.style.left = `${low}%`;
    this.grips.to.style.left = `${high}%`;
    const said = {from: view.from, to: view.to, view: (view.from + view.to) / 2};
    for (const [name, grip] of Object.entries(this.grips)) {
      grip.setAttribute("aria-valuenow", said[name] / 1e9);
      grip.setAttribute("aria-valuetext", `${seconds(view.from)} to ${seconds(view.to)} s`);
    }
  }

  at(event) {
    const box = this.strip.getBoundingClientRect();
    return (event.clientX - box.left) / box.width * this.length;
  }

  // The window with a grip moved by so much; it stays in the trial.
  moved(name, [from, to], by) {
    const width = to - from;
    if (name === "from") return [Math.max(0, Math.min(to - NARROWEST_NS, from + by)), to];
    if (name === "to") return [from, Math.min(this.length, Math.max(from + NARROWEST_NS, to + by))];
    const start = Math.max(0, Math.min(this.length - width, from + by));
    return [start, start + width];
  }

  drag(event, name) {
    event.preventDefault();
    event.stopPropagation();
    this.grips[name].focus();
    const begun = this.at(event), window = [view.from, view.to];
    this.follow(event, (now) => this.moved(name, window, this.at(now) - begun));
  }

  // A drag on the strip beside the window makes a new one.
  sketch(event) {
    event.preventDefault();
    const begun = this.at(event);
    this.follow(event, (now) => {
      const [low, high] = [begun, this.at(now)].sort((a, b) => a - b);
      return [Math.max(0, low), Math.min(this.length, high)];
    });
  }

  // While the pointer is down, the newest window is loaded whenever the one before is shown.
  follow(event, windowOf) {
    history.push([view.from, view.to]);
    this.strip.setPointerCapture(event.pointerId);
    const moved = (now) => { this.next = windowOf(now); this.advance(); };
    const ended = () => {
      this.strip.removeEventListener("pointermove", moved);
      for (const name of ["pointerup", "pointercancel"]) this.strip.removeEventListener(name, ended);
    };
    this.strip.addEventListener("pointermove", moved);
    for (const name of ["pointerup", "pointercancel"]) this.strip.addEventListener(name, ended);
  }

  // One for all drags: a window that an earlier drag still waits for gives way to the newer drag's.
  async advance() {
    if (this.busy) return;
    this.busy = true;
    while (this.next) {
      const [from, to] = this.next;
      this.next = null;
      if (to > from) await zoomTo(from, to, {keep: false}).catch(fail);
    }
    this.busy = false;
  }

  key(event, name) {
    const steps = {ArrowLeft: -1, ArrowRight: 1, PageDown: -10, PageUp: 10}[event.key];
    const ends = {Home: -this.length, End: this.length}[event.key];
    if ((steps === undefined && ends === undefined) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();  // of the page, that key moves by a part of the view
    const by = ends ?? steps * STEP * (view.to - view.from);
    zoomTo(...this.moved(name, [view.from, view.to], by)).catch(fail);
  }
}
