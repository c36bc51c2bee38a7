"use strict";
// A trial: panels on one axis of time, one column for each trial that is shown.

const CE = 0x80;  // of a postcard's marks
const MOST_PACKETS = 4000;
const HEIGHT = {queue: 190, rate: 140, sender: 140, rtt: 120, packets: 200};
const AXIS = 72;
const ORDER = ["queue", "rate", "sender", "rtt", "states", "events"];

// One column: the panels of one trial.

class Column {
  constructor(facts, place) {
    this.facts = facts;
    this.panels = {};
    this.root = el("section");
    this.root.dataset.trial = facts.id;
    const title = facts.id + (facts.valid ? "" : ` (invalid: ${facts.reasons.join("; ")})`);
    this.note = el("p", {className: "muted note"});
    this.readout = el("p", {className: "readout"});
    this.root.append(el("h2", {textContent: title, className: facts.valid ? "" : "invalid"}), this.note, this.readout);
    place.append(this.root);
    this.brush = new Brush(this);
  }

  destroy() {
    this.gone = true;
    for (const panel of Object.values(this.panels)) panel.destroy();
  }

  // Wait until the bins of the queue are made, and show how far they are.
  async ready() {
    const bar = el("progress", {max: 1, value: 0});
    bar.setAttribute("aria-label", "Bins of the queue are being made");
    while (!this.gone) {
      const {state, done, total, problem} = this.facts.queue;
      if (state === "damaged") this.problem = problem;
      if (state !== "building") break;
      this.note.replaceChildren(`Bins of the queue are being made, once: ${done.toLocaleString("en")} of ${total ? total.toLocaleString("en") : "?"} packets`, bar);
      bar.value = total ? done / total : 0;
      await new Promise((go) => setTimeout(go, 200));
      this.facts = await askJson("trial", {trial: this.facts.id});
    }
    bar.remove();
  }

  async load() {
    const query = {trial: this.facts.id, from: Math.round(view.from), to: Math.round(view.to), pixels: this.pixels()};
    const began = performance.now();
    const hasQueue = this.facts.queue.state === "ready";
    [this.queue, this.samples] = await Promise.all([
      hasQueue ? askArrays("view", query) : null,
      this.facts.tables.includes("flow_samples") ? askArrays("samples", {...query, show: view.show}) : null,
    ]);
    const few = this.queue && this.queue.source === "packets" && this.queue.packets <= MOST_PACKETS;
    this.fetched = performance.now() - began;
    this.packets = few ? (await askJson("packets", query)).packets : null;
    this.explain();
  }

  explain() {
    const missing = [];
    const {tables, queue} = this.facts;
    if (this.problem) missing.push(`the queue is damaged: ${this.problem}`);
    else if (queue.state === "none") missing.push("no packets or bins were kept: no queue, throughput or drops");
    else if (this.queue.source === "bins") missing.push("bins were kept instead of packets: no single packets");
    if (!tables.includes("flow_samples")) missing.push("no samples of the senders were kept");
    const width = this.queue ? `one value for ${si(this.queue.width_ns / 1e9, "s")}, from ${this.queue.source === "pyramid" ? "bins" : this.queue.source}` : "";
    this.note.textContent = [width, ...missing].filter(Boolean).join(" · ");
    this.note.classList.toggle("notice", Boolean(this.problem));
  }

  pixels() {
    return Math.max(100, Math.round(this.width() - AXIS - 22));
  }
  width() {
    return Math.max(240, this.root.clientWidth - 30);
  }

  // What the link carries in each bin, in bytes.
  capacity(start, width, count) {
    const {t_ns: times, bits} = this.facts.link, last = times.length - 1;
    const until = (ns) => {
      const i = Math.max(0, Math.min(last - 1, upper(times, ns) - 1));
      return bits[i] + (bits[i + 1] - bits[i]) * (ns - times[i]) / (times[i + 1] - times[i]);
    };
    return Float64Array.from({length: count}, (_, i) => Math.max(0, until(start + (i + 1) * width) - until(start + i * width)) / 8);
  }

  // Rows of the shown flows, or of the controls: [{name, colour, flows}].
  layers() {
    const faint = (layer) => (!pointed || layer.flows.some((flow) => pointed.includes(flow)) ? layer
      : {...layer, colour: css("--line")});
    return this.plainLayers().map(faint);
  }
  plainLayers() {
    const flows = this.facts.flows;
    const shown = flows.map((_, i) => i).filter((i) => !view.off.has(i));
    const names = [...new Set(flows.map((flow) => flow.strategy))];
    if (view.by === "strategy")
      return names.map((name) => ({name, colour: flows.find((f) => f.strategy === name).colour,
        flows: shown.filter((i) => flows[i].strategy === name)})).filter((layer) => layer.flows.length);
    return names.flatMap((name) => shown.filter((i) => flows[i].strategy === name))
      .map((i) => ({name: `${i} ${flows[i].strategy}`, colour: shade(flows, i), flows: [i]}));
  }

  draw() {
    const started = performance.now();
    const layers = this.layers();
    if (this.queue) {
      const {start_ns: start, width_ns: width, departed_bytes: rows} = this.queue;
      const count = rows.length ? rows[0].length : 0;
      const middles = Float64Array.from({length: count}, (_, i) => (start + (i + 0.5) * width) / 1e9);
      const bytes = view.queue === "bytes";
      const factor = (bytes ? 1 : 8 / this.facts.rate_bps) / width;
      this.lines("queue", `${bytes ? "Queue" : "Queue as delay"}, by ${view.by === "flow" ? "flow" : "control"}`, bytes ? "B" : "s", middles, layers,
        summed(layers, this.queue.occupancy_byte_ns, factor), {stacked: true});
      const capacity = this.capacity(start, width, count);
      this.lines("rate", "Throughput", "bit/s", middles, layers, summed(layers, withinLink(rows, capacity), 8e9 / width));
      const {rate} = this.panels, most = highest([rate.link = capacity.map((bytes) => bytes * 8e9 / width)]) * 1.08;
      if (rate.own > most / 4) rate.own = most;  // the link's line is in view, unless flows would be flat below it
    } else this.remove("queue", "rate");
    if (this.samples && !this.samples.none) {
      const t = this.samples.t_ns.map((ns) => ns / 1e9);
      const [title, unit] = SENDER[view.show];
      const series = this.samples[view.show];  // another one may have been chosen since, and is on its way
      if (series) this.lines("sender", title, unit, t, layers, summed(layers, series, 1, "sum"));
      this.lines("rtt", "Smoothed RTT", "s", t, layers, summed(layers, this.samples.srtt, 1, "mean"));
      this.bands("states", "State", this.samples.t_ns);
    } else this.remove("sender", "rtt", "states");
    if (this.queue || this.samples) this.events("events");
    this.drawPackets();
    this.drawn = performance.now() - started;
  }

  remove(...names) {
    for (const name of names) {
      this.panels[name]?.destroy();
      delete this.panels[name];
    }
  }

  lines(name, title, unit, x, layers, rows, {stacked = false} = {}) {
    const values = stacked ? stackedRows(rows) : rows;
    const key = `${name} ${unit}`;
    let panel = this.panels[name];
    if (!panel || panel.key !== key) {
      panel?.destroy();
      panel = this.panels[name] = new Panel(this, name, title, HEIGHT[name], {unit, key});
    }
    panel.title.textContent = title + (view.by === "strategy" && ["sender"].includes(name) ? ", sum of flows" : "");
    panel.says = (index) => layers.map((layer, i) => `${layer.name} ${si(rows[i][index], unit)}`);
    panel.own = highest(stacked ? values.slice(-1) : values) * 1.08;
    panel.series = {t_s: x, unit, rows: layers.map((layer, i) => ({name: layer.name, values: rows[i]}))};
    const colours = layers.map((layer) => packed(layer.colour));
    panel.paint = (raster, toX) => {
      const heights = (row) => row.map((value) => value / panel.yMax * raster.height);
      if (stacked) {
        const {start_ns: start, width_ns: width} = this.queue;
        const step = toX(start + width) - toX(start);
        let below = new Float64Array(x.length);
        values.forEach((row, i) => {
          const above = heights(row);
          raster.layer(below, above, toX(start), step, colours[i]);
          below = above;
        });
      } else {
        const xs = x.map((t) => toX(t * 1e9));
        values.forEach((row, i) => raster.line(xs, heights(row).map((y) => raster.height - y), Math.max(1, devicePixelRatio), colours[i]));
      }
    };
    panel.set([x]);
  }

  // Rows of flows: `paint(raster, flowRow, top, height, toX)` for each.
  rows(name, title, paint, says) {
    const flows = this.facts.flows.map((_, i) => i).filter((i) => !view.off.has(i));
    const height = Math.max(3, Math.min(14, Math.floor(220 / Math.max(1, flows.length))));
    const key = `${name} ${flows.length}`;
    let panel = this.panels[name];
    if (!panel || panel.key !== key) {
      panel?.destroy();
      panel = this.panels[name] = new Panel(this, name, title, flows.length * height + 44, {key, flat: true});
    }
    panel.title.textContent = title;
    panel.paint = (raster, toX) => flows.forEach((flow, row) => paint(raster, flow, row * raster.height / flows.length, raster.height / flows.length, toX));
    panel.says = (index, t, share) => says(flows[Math.min(flows.length - 1, Math.max(0, Math.floor(share * flows.length)))], t);
    panel.set([[view.from / 1e9, view.to / 1e9]]);
  }

  bands(name, title, t) {
    const {state, states, epoch} = this.samples;
    this.rows(name, title, (raster, flow, top, height, toX) => {
      const row = state[flow];
      for (let i = 0, from = 0; i < row.length; i++) {
        if (i + 1 < row.length && row[i + 1] === row[from]) continue;
        const end = i + 1 < row.length ? t[i + 1] : t[i];
        if (row[from] >= 0) raster.rect(toX(t[from]), top, toX(end), top + Math.max(1, height - 1), packed(STATE_COLOURS[states[row[from]]]));
        from = i + 1;
      }
    }, (flow, at) => {
      const index = Math.max(0, upper(t, at) - 1);
      const code = state[flow] ? state[flow][index] : -1;
      const named = code < 0 ? "–" : states[code].replace("next epoch", "open");
      const reductions = epoch[flow] ? epoch[flow][index] : -1;
      const since = reductions > 0 ? [`epoch ${reductions}, since ${seconds(t[epoch[flow].indexOf(reductions)])} s or before`] : [];
      return [`flow ${flow} ${this.facts.flows[flow].strategy}: ${named}`, ...since];
    });
    this.panels[name].series = {t_s: t.map((ns) => ns / 1e9), unit: "", rows: state.map((row, flow) => (
      {name: `${flow} ${this.facts.flows[flow].strategy}`, values: Array.from(row, (code) => states[code] ?? "")}))};
    const seen = new Set(state.flatMap((row) => [...new Set(row)]));
    const label = (each) => ({"next epoch": "open, every other epoch"}[each] ?? each);
    this.panels[name].legend.replaceChildren(...states.filter((_, code) => seen.has(code)).map((each) => el("span", {}, dot(STATE_COLOURS[each]), ` ${label(each)}`)));
  }

  // Ticks: drops above, marks in the middle, retransmissions below.
  events(name) {
    const {queue, samples} = this;
    const marks = this.facts.can_mark;
    const drops = queue ? queue.dropped_packets : [], marked = queue && marks ? queue.marked_packets : [];
    const resent = samples && !samples.none ? samples.retransmitted : [];
    const [dropped, mark, again] = ["--drop", "--mark", "--resent"].map((each) => packed(css(each)));
    const parts = marks ? 3 : 2;
    const middle = (i) => queue.start_ns + (i + 0.5) * queue.width_ns;
    this.rows(name, marks ? "Drops, marks and retransmissions" : "Drops and retransmissions", (raster, flow, top, height, toX) => {
      const ticks = (row, part, colour, time) => (row || []).forEach((count, i) => {
        const x = count > 0 ? toX(time(i)) : 0;
        if (count > 0) raster.rect(x, top + part * height / parts, x + 1.5, top + (part + 1) * height / parts, colour);
      });
      ticks(resent[flow], parts - 1, again, (i) => samples.t_ns[i]);
      ticks(marked[flow], 1, mark, middle);
      ticks(drops[flow], 0, dropped, middle);
    }, (flow, at) => {
      const bin = queue ? Math.floor((at - queue.start_ns) / queue.width_ns) : -1;
      const here = (rows) => (rows[flow] && rows[flow][bin]) || 0;
      return [`flow ${flow} ${this.facts.flows[flow].strategy}: ${here(drops)} drops${marks ? `, ${here(marked)} marks` : ""} here`];
    });
    const counted = (what, rows) => rows.map((row, flow) => ({name: `${flow} ${this.facts.flows[flow].strategy} ${what}`, values: row.map((count) => count || NaN)}));
    if (queue) this.panels[name].series = {t_s: Array.from(drops[0] ?? [], (_, i) => middle(i) / 1e9), unit: "packets", rows: [...counted("dropped", drops), ...counted("marked", marked)]};
    const all = (rows) => rows.reduce((sum, row) => sum + row.reduce((a, b) => a + b, 0), 0);
    this.panels[name].legend.replaceChildren(
      el("span", {}, dot(css("--drop")), ` drops (${all(drops)} in view)`),
      ...(marks ? [el("span", {}, dot(css("--mark")), ` CE marks (${all(marked)} in view)`)] : []),
      el("span", {}, dot(css("--resent")), " retransmissions"));
  }

  // The packets themselves, where they are few.
  drawPackets() {
    if (!this.packets) {
      this.remove("packets");
      this.table?.remove();
      return;
    }
    const packets = this.packets;
    const shown = packets.flow.map((_, i) => i).filter((i) => !view.off.has(packets.flow[i]));
    let panel = this.panels.packets;
    if (!panel) panel = this.panels.packets = new Panel(this, "packets", "Packets: arrival, and bytes in the queue then", HEIGHT.packets, {unit: "B", key: "packets"});
    const top = panel.own = Math.max(1, ...shown.map((i) => packets.queue_bytes[i])) * 1.08;
    const [dropped, mark] = [css("--drop"), css("--mark")].map(packed);
    panel.paint = (raster, toX) => {
      for (const i of shown) {
        const x = toX(packets.enqueue_ns[i]), y = raster.height * (1 - packets.queue_bytes[i] / panel.yMax);
        const size = packets.kind[i] ? 6 : 4;
        if (packets.marks[i] & CE) raster.rect(x - 4, y - 4, x + 4, y + 4, mark);
        raster.rect(x - 2, y - 2, x - 2 + size, y - 2 + size, packets.kind[i] ? dropped : packed(shade(this.facts.flows, packets.flow[i])));
      }
    };
    panel.says = (_, at, share) => {
      const reach = (view.to - view.from) || 1;
      let near = -1, best = Infinity;
      for (const i of shown) {
        const dx = (packets.enqueue_ns[i] - at) / reach * 4, dy = 1 - packets.queue_bytes[i] / panel.yMax - share;
        if (dx * dx + dy * dy < best) [near, best] = [i, dx * dx + dy * dy];
      }
      return near < 0 ? [] : [this.packetText(near)];
    };
    panel.set([[view.from / 1e9, view.to / 1e9]]);
    this.packetTable(shown);
  }

  packetText(i) {
    const p = this.packets;
    // Every packet of TCP has a flag; one without any is a datagram.
    const tcp = p.tcp_flags[i] ? `, TCP sequence ${p.tcp_seq[i]}, flags 0x${p.tcp_flags[i].toString(16)}` : "";
    return `packet ${p.seq[i]}: flow ${p.flow[i]}, ${p.kind[i] ? "dropped" : "left"}, ${p.packet_bytes[i]} B (${p.payload_bytes[i]} payload)${tcp}, arrived ${seconds(p.enqueue_ns[i])} s, left ${seconds(p.dequeue_ns[i])} s, stayed ${si((p.dequeue_ns[i] - p.enqueue_ns[i]) / 1e9, "s")}, queue ${p.queue_bytes[i]} B${p.marks[i] & CE ? ", CE set" : ""}`;
  }

  packetTable(shown) {
    const names = Object.keys(this.packets);
    const rows = shown.slice(0, 300).map((i) => el("tr", {}, ...names.map((name) => el("td", {className: "number", textContent: this.packets[name][i]}))));
    const head = el("tr", {}, ...names.map((name) => el("th", {className: "number", textContent: name})));
    const more = shown.length > rows.length ? ` (the first ${rows.length})` : "";
    this.table?.remove();
    this.table = el("details", {className: "packet-table"}, el("summary", {textContent: `${shown.length} packets in view${more}`}),
      el("div", {className: "packets"}, el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows))));
    this.root.append(this.table);
  }

  async loadTotals() {
    if (this.facts.queue.state !== "ready") return;
    const between = view.a !== null && view.b !== null && view.a !== view.b;
    const [from, to] = between ? [view.a, view.b].sort((a, b) => a - b) : [view.from, view.to].map(Math.round);
    const query = {trial: this.facts.id, from, to};
    const totals = await askJson("totals", query);
    const length = query.to - query.from;
    const rows = this.facts.flows.map((flow, i) => el("tr", {}, el("td", {textContent: `${i} ${flow.strategy}`}),
      ...[si(totals.departed_bytes[i] * 8e9 / length, "bit/s"), totals.departed_packets[i], totals.dropped_packets[i],
        ...(totals.marked_packets ? [totals.marked_packets[i]] : []),
        si(totals.occupancy_byte_ns[i] / length, "B"), si(totals.delay_sum_ns[i] / totals.departed_packets[i] / 1e9, "s")]
        .map((text) => el("td", {className: "number", textContent: text}))));
    const head = el("tr", {}, ...["flow", "throughput", "left", "dropped", ...(totals.marked_packets ? ["marked"] : []), "mean in queue", "mean delay"].map((text, i) => el("th", {className: i ? "number" : "", textContent: text})));
    const open = this.totals?.open ?? false;
    this.totals?.remove();
    this.totals = el("details", {open, className: "totals"}, el("summary", {textContent: `Totals ${between ? "from cursor to cursor" : "of the view"}, exact`}),
      el("div", {className: "scroll"}, el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows))));
    this.totals.data = totals;
    this.root.append(this.totals);
  }
}

// Sums of the flows of each layer, or their mean; NaN where none is known.
function summed(layers, rows, factor, how = "sum") {
  return layers.map(({flows}) => {
    if (!rows.length) return new Float64Array(0);
    if (flows.length === 1) return Float64Array.from(rows[flows[0]], (v) => v * factor);
    return Float64Array.from(rows[0], (_, i) => {
      let sum = 0, found = 0;
      for (const flow of flows) if (Number.isFinite(rows[flow][i])) { sum += rows[flow][i]; found++; }
      return found ? (how === "mean" ? sum / found : sum) * factor : NaN;
    });
  });
}
// Bytes that left in each bin, none more than the link carries in it. A packet is counted where its
// last bit left: what is too much for a bin is carried into the bins before it, up to where it fits.
function withinLink(rows, capacity) {
  const kept = rows.map((row) => new Float64Array(row.length)), carried = new Float64Array(rows.length);
  const take = (i, room, from) => {
    const all = from.reduce((sum, each) => sum + each, 0), share = all > room ? room / all : 1;
    from.forEach((each, flow) => { kept[flow][i] += each * share; from[flow] -= each * share; });
    return Math.max(0, room - all);
  };
  for (let i = capacity.length - 1; i >= 0; i--) {
    const own = Float64Array.from(rows, (row) => row[i]);
    take(i, take(i, capacity[i], carried), own);  // what left last was carried here
    own.forEach((each, flow) => { carried[flow] += each; });
  }
  return kept;
}
function stackedRows(rows) {
  const below = new Float64Array(rows.length ? rows[0].length : 0);
  return rows.map((row) => row.map((value, i) => (below[i] += value || 0)));
}
function highest(rows) {
  let most = 0;
  for (const row of rows) for (const value of row) if (value > most) most = value;
  return most || 1;
}
function upper(sorted, value) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= value) low = middle + 1; else high = middle;
  }
  return low;
}

// One panel: uPlot draws axes and follows the pointer; the data are painted between the two.
class Panel {
  constructor(column, name, title, height, {unit = "", key, flat = false}) {
    Object.assign(this, {column, name, key, flat, unit, paint: null, says: () => [], own: 1, raster: new Raster()});
    this.title = el("h3", {textContent: title});
    this.legend = el("div", {className: "legend"});
    this.host = el("div", {className: "panel"});
    this.root = el("div", {}, this.title, this.legend, this.host);
    this.root.dataset.panel = name;
    column.root.append(this.root);
    const later = ORDER.slice(ORDER.indexOf(name) + 1).map((each) => column.panels[each]).find(Boolean);
    // Packets come and go: below the strip, or it would move while it is dragged.
    if (name === "packets") column.brush.root.after(this.root);
    else (later || column.brush).root.before(this.root);
    const line = {stroke: css("--line"), width: 1};
    const axis = {stroke: css("--muted"), grid: line, ticks: line, font: "11px system-ui, sans-serif"};
    const yAxis = flat ? {...axis, values: () => [], grid: {show: false}, ticks: {show: false}, size: AXIS}
      : {...axis, size: AXIS, values: (_, ticks) => ticks.map((value) => si(value, unit))};
    this.plot = new uPlot({
      width: column.width(), height, legend: {show: false}, padding: [4, 22, 0, 0],
      cursor: {sync: {key: "time", scales: ["x", null]}, drag: {x: true, y: false, setScale: false}, points: {show: false}},
      scales: {
        x: {time: false, range: () => [view.from / 1e9, view.to / 1e9]},
        y: {range: () => [0, flat ? 1 : this.yMax]},
      },
      axes: [{...axis, size: 30, values: (_, ticks) => ticks.map((t) => `${+t.toFixed(9)}`)}, yAxis],
      series: [{}],
      hooks: {
        setSelect: [(plot) => {
          if (plot.select.width < 3) return;
          const [from, to] = [plot.posToVal(plot.select.left, "x"), plot.posToVal(plot.select.left + plot.select.width, "x")];
          plot.setSelect({left: 0, top: 0, width: 0, height: 0}, false);
          zoomTo(from * 1e9, to * 1e9);
        }],
        setCursor: [(plot) => this.tell(plot)],
        drawAxes: [(plot) => this.under(plot)],
        draw: [(plot) => this.over(plot)],
      },
    }, [[view.from / 1e9, view.to / 1e9]], this.host);
    this.plot.over.addEventListener("wheel", (event) => {
      event.preventDefault();
      const at = this.plot.posToVal(event.offsetX, "x") * 1e9;
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
        move(Math.sign(event.deltaX || event.deltaY) * 0.1);
      else zoomBy(event.deltaY > 0 ? 1.4 : 1 / 1.4, at);
    }, {passive: false});
    this.plot.over.addEventListener("click", (event) => {
      if (event.shiftKey) setCursor(view.a === null || view.b !== null ? "a" : "b", this.plot.posToVal(event.offsetX, "x") * 1e9).catch(fail);
    });
    this.plot.over.addEventListener("dblclick", (event) => zoomBy(2, this.plot.posToVal(event.offsetX, "x") * 1e9));
  }

  // Trials side by side have the same scale.
  get yMax() {
    return Math.max(...columns.map(({panels}) => panels[this.name]?.own ?? 0), this.own);
  }

  set(data) {
    this.plot.setData(data);
  }

  tell(plot) {
    const {left, top, idx} = plot.cursor;
    if (left === undefined || left < 0 || !plot.over.matches(":hover")) return;
    const t = plot.posToVal(left, "x");
    pointer = t * 1e9;
    const said = this.says(idx ?? 0, t * 1e9, top / plot.over.clientHeight);
    const most = said.slice(0, 12);
    this.column.readout.textContent = `${+t.toFixed(6)} s: ${most.join(", ")}${said.length > most.length ? ", …" : ""}`;
  }

  // The data, above the grid.
  under(plot) {
    const {ctx, bbox} = plot;
    if (!this.paint) return;
    this.raster.begin(bbox.width, bbox.height);
    const scale = bbox.width / (view.to - view.from);
    this.paint(this.raster, (ns) => (ns - view.from) * scale);
    this.raster.onto(ctx, bbox.left, bbox.top);
  }

  // What is drawn over them: the measured window, the cursors, the queue's limit, the link's rate.
  over(plot) {
    const {ctx, bbox} = plot;
    const toX = (ns) => plot.valToPos(ns / 1e9, "x", true);
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.strokeStyle = css("--muted");
    ctx.setLineDash([3, 4]);
    ctx.beginPath();
    for (const edge of this.column.facts.window_ns) { ctx.moveTo(toX(edge), bbox.top); ctx.lineTo(toX(edge), bbox.top + bbox.height); }
    if (this.name === "queue") {
      const limit = this.column.facts.buffer_bytes * (view.queue === "bytes" ? 1 : 8 / this.column.facts.rate_bps);
      const y = plot.valToPos(limit, "y", true);
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
    }
    if (this.link) this.link.forEach((bps, i) => {
      const at = [toX(this.series.t_s[i] * 1e9), plot.valToPos(bps, "y", true)];
      if (i) ctx.lineTo(...at); else ctx.moveTo(...at);
    });
    ctx.stroke();
    ctx.setLineDash([]);
    ctx.strokeStyle = ctx.fillStyle = css("--accent");
    for (const name of ["a", "b"]) if (view[name] !== null) {
      ctx.fillRect(toX(view[name]), bbox.top, 1.5 * devicePixelRatio, bbox.height);
      ctx.fillText(name.toUpperCase(), toX(view[name]) + 4, bbox.top + 12 * devicePixelRatio);
    }
    ctx.restore();
  }

  destroy() {
    this.plot.destroy();
    this.root.remove();
  }
}
