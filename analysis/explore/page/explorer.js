"use strict";
// The explorer's page. The address behind `#` is the whole state of a view: a link reproduces it.

const STATE_COLOURS = {
  "open": "#8fa3b5", "disorder": "#c9b458", "CWR": "#b08d57", "slow start": "#6fb1a0",
  "cruise": "#8fa3b5", "up": "#e08e45", "down": "#5a8fc7", "refill": "#e3c16f", "drain": "#8f6bb3",
  "startup": "#3fa37a", "recovery": "#d1495b", "loss": "#8b1e2d", "ProbeRTT": "#4a5be0",
};
const SENDER = {
  cwnd: ["cwnd", "B"], inflight: ["In flight", "B"], pacing: ["Pacing rate", "bit/s"],
  bandwidth: ["Bandwidth estimate", "bit/s"],
};
const NARROWEST_NS = 20e3;
const CE = 0x80;  // of a postcard's marks
const MOST_PACKETS = 4000;
const HEIGHT = {queue: 190, rate: 140, sender: 140, rtt: 120, packets: 200};
const AXIS = 72;

const $ = (id) => document.getElementById(id);
const el = (name, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// What the server answers.

async function ask(name, query = {}) {
  const answer = await fetch(`${name}?${new URLSearchParams(query)}`);
  if (!answer.ok) throw new Error(await answer.text());
  return answer;
}
const askJson = async (name, query) => (await ask(name, query)).json();

async function askArrays(name, query) {
  const bytes = await (await ask(name, query)).arrayBuffer();
  const length = Number(new DataView(bytes).getBigUint64(0, true));
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 8, length)));
  const kinds = {"<f8": Float64Array, "<f4": Float32Array, "i1": Int8Array};
  for (const [key, {kind, shape, at}] of Object.entries(head.arrays)) {
    const columns = shape.at(-1);
    const all = new kinds[kind](bytes, 8 + length + at, shape.reduce((a, b) => a * b, 1));
    head[key] = shape.length === 1 ? all : Array.from({length: shape[0]},
      (_, row) => all.subarray(row * columns, (row + 1) * columns));
  }
  return head;
}

// Numbers for people.

function si(value, unit) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  for (const [factor, prefix] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]])
    if (size >= factor) return `${+(value / factor).toPrecision(4)} ${prefix}${unit}`;
  if (size && size < 1 && unit === "s") {
    const [factor, prefix] = size < 1e-3 ? [1e6, "µ"] : [1e3, "m"];
    return `${+(value * factor).toPrecision(4)} ${prefix}s`;
  }
  return `${+value.toPrecision(4)} ${unit}`;
}
const seconds = (ns) => String(+(ns / 1e9).toFixed(9));

// The state of a view.

let view = {};
let history = [];
function readView() {
  const said = new URLSearchParams(location.hash.slice(1));
  const number = (name) => (said.has(name) && Number.isFinite(+said.get(name)) ? +said.get(name) : null);
  view = {
    trial: said.get("trial"), with: said.get("with"), from: number("from"), to: number("to"),
    by: said.get("by") === "strategy" ? "strategy" : "flow",
    queue: said.get("queue") === "delay" ? "delay" : "bytes",
    show: said.get("show") in SENDER ? said.get("show") : "cwnd",
    off: new Set((said.get("off") || "").split(",").filter(Boolean).map(Number)),
  };
}
function writeView(changes) {
  Object.assign(view, changes);
  const said = new URLSearchParams();
  for (const name of ["trial", "with", "from", "to", "by", "queue", "show"])
    if (view[name] !== null && view[name] !== undefined && view[name] !== "") said.set(name, view[name]);
  if (view.off.size) said.set("off", [...view.off].sort((a, b) => a - b).join(","));
  window.history.replaceState(null, "", `#${said}`);
}

// The run: settings, mixes, trials.

let run = null;
async function showRun() {
  run = await askJson("run");
  $("title").textContent = run.title;
  const planned = run.planned === null ? "" : ` of ${run.planned} planned`;
  $("facts").textContent = `${run.run} · ${run.status} · ${run.trials}${planned} trials`;
  const place = $("run");
  const open = new Set([...place.querySelectorAll("details[open]")].map((each) => each.dataset.key));
  place.replaceChildren();
  if (!run.trials) place.append(el("section", {}, el("p", {textContent: "No trial is sealed yet."})));
  for (const lost of run.damaged)
    place.append(el("p", {className: "notice", textContent: `${lost.id} is damaged: ${lost.problem}`}));
  if (run.failures) place.append(el("p", {className: "muted", textContent: run.failures}));
  for (const setting of run.settings) place.append(settingCard(setting, open));
  for (const setting of run.settings) drawPayoffs(setting);
  shown();
}

function settingCard(setting, open) {
  const rtts = setting.base_rtt_ns.map((ns) => si(ns / 1e9, "s")).join(", ");
  const facts = `${si(setting.rate_bps, "bit/s")}, buffer ${setting.buffer} (${si(setting.buffer_bytes, "B")}), base RTT ${rtts}`;
  const head = el("tr", {}, el("th", {textContent: "Mix"}));
  for (const name of run.strategies) head.append(el("th", {className: "number"}, dot(run.colours[name]), ` ${name}, each`));
  head.append(el("th", {textContent: "Trials"}));
  const body = el("tbody");
  for (const mix of setting.mixes) {
    const row = el("tr", {}, el("td", {textContent: mix.text}));
    for (const name of run.strategies)
      row.append(el("td", {className: "number", textContent: mix.flows[name] ? si(meanOf(mix, name), "bit/s") : ""}));
    row.append(el("td", {}, trialList(setting, mix, open)));
    body.append(row);
  }
  const table = el("div", {className: "scroll"}, el("table", {}, el("thead", {}, head), body));
  const picture = el("div", {className: "payoffs"});
  picture.dataset.setting = setting.label;
  return el("section", {}, el("h2", {textContent: setting.label}), el("p", {className: "muted", textContent: facts}),
    el("div", {className: "setting"}, table, picture));
}

function trialList(setting, mix, open) {
  const list = el("ul", {className: "trials"});
  for (const trial of mix.trials) {
    const link = el("a", {href: `#trial=${encodeURIComponent(trial.id)}`, textContent: trial.id});
    const item = el("li", {}, link, ` seed ${trial.seed}`);
    if (!trial.valid) item.append(el("span", {className: "invalid", textContent: ` invalid: ${trial.reasons.join("; ")}`}));
    if (trial.marks.length) item.append(el("span", {className: "muted", textContent: ` ${trial.marks.join("; ")}`}));
    list.append(item);
  }
  const invalid = mix.trials.filter((trial) => !trial.valid).length;
  const text = `${mix.trials.length}${invalid ? `, ${invalid} invalid` : ""}`;
  if (!mix.trials.length) return el("span", {className: "muted", textContent: "none yet"});
  const key = `${setting.label} ${mix.text}`;
  const details = el("details", {open: open.has(key)}, el("summary", {textContent: text}), list);
  details.dataset.key = key;
  return details;
}

const dot = (colour) => {
  const made = el("span", {className: "dot"});
  made.style.background = colour;
  return made;
};
function meanOf(mix, name) {
  const values = mix.trials.filter((t) => t.counted).map((t) => t.goodput_bps[name]).filter(Number.isFinite);
  return values.length ? values.reduce((a, b) => a + b, 0) / values.length : NaN;
}

function drawPayoffs(setting) {
  const place = document.querySelector(`.payoffs[data-setting="${CSS.escape(setting.label)}"]`);
  const measured = setting.mixes.filter((mix) => mix.trials.some((trial) => trial.counted));
  if (run.strategies.length !== 2 || !measured.length) return;
  const [first, second] = run.strategies;
  const order = [...measured].sort((a, b) => a.flows[second] - b.flows[second]);
  const data = [order.map((mix) => mix.flows[second]),
    ...[first, second].map((name) => order.map((mix) => (mix.flows[name] ? meanOf(mix, name) / 1e6 : null)))];
  const most = Math.max(...order.map((mix) => mix.flows[first] + mix.flows[second]));
  const ink = {stroke: css("--muted"), grid: {stroke: css("--line"), width: 1}, ticks: {stroke: css("--line"), width: 1}};
  place.replaceChildren(el("h3", {textContent: `Goodput of a flow by mix (Mbit/s)`}));
  const host = place.appendChild(el("div"));
  new uPlot({
    width: Math.max(260, place.clientWidth), height: 220, legend: {show: false}, cursor: {drag: {x: false, y: false}},
    scales: {x: {time: false, range: [0, most]}, y: {range: (_, low, high) => [0, (high || 1) * 1.1]}},
    axes: [{...ink, label: `flows with ${second}`, labelSize: 20, size: 34}, {...ink, size: 46}],
    series: [{}, ...[first, second].map((name, i) => ({stroke: run.colours[name], width: 2, dash: i ? [6, 4] : undefined,
      points: {show: true, size: 8, fill: i ? css("--card") : run.colours[name]}}))],
  }, data, host);
  place.append(el("div", {className: "legend"}, ...[first, second].flatMap((name) => [el("span", {}, dot(run.colours[name]), ` ${name}`)])));
}

// A trial: panels on one axis of time; one column for each trial.

let columns = [];
async function showTrial() {
  const ids = [view.trial, view.with].filter(Boolean);
  const facts = await Promise.all(ids.map((id) => askJson("trial", {trial: id})));
  const [first] = facts;
  $("title").textContent = first.id;
  $("facts").textContent = `${first.mix} · ${si(first.rate_bps, "bit/s")}, limit ${si(first.buffer_bytes, "B")} · ${seconds(first.duration_ns)} s`;
  view.from ??= 0;
  view.to ??= Math.max(...facts.map((each) => each.duration_ns));
  if (view.to <= view.from) view.to = view.from + NARROWEST_NS;
  fillControls(facts);
  fillFlows(first);
  for (const column of columns) column.destroy();
  $("columns").className = facts.length > 1 ? "two" : "";
  $("columns").replaceChildren();
  columns = facts.map((each) => new Column(each, $("columns")));
  await Promise.all(columns.map((column) => column.ready()));
  await load();
}

function fillControls(facts) {
  const beside = $("with");
  beside.replaceChildren(el("option", {value: "", textContent: "no other trial"}));
  const own = run && run.settings.flatMap((s) => s.mixes.flatMap((m) => m.trials)).find((t) => t.id === view.trial);
  for (const setting of run ? run.settings : [])
    for (const mix of setting.mixes)
      for (const trial of mix.trials)
        if (trial.id !== view.trial)
          beside.append(el("option", {value: trial.id, textContent: trial.id + (own && own.seed === trial.seed ? " (same seed)" : "")}));
  beside.value = view.with || "";
  for (const name of ["by", "queue", "show"]) $(name).value = view[name];
}

function fillFlows(facts) {
  const place = $("flows");
  place.replaceChildren();
  for (const name of new Set(facts.flows.map((flow) => flow.strategy))) {
    const members = facts.flows.map((flow, i) => (flow.strategy === name ? i : -1)).filter((i) => i >= 0);
    place.append(toggle(`all ${name}`, facts.flows[members[0]].colour, members));
  }
  facts.flows.forEach((flow, i) => place.append(toggle(String(i), shade(facts.flows, i), [i], flow.strategy)));
}

function toggle(text, colour, flows, strategy) {
  const on = flows.some((flow) => !view.off.has(flow));
  const button = el("button", {title: strategy ? `flow ${text}, ${strategy}` : text}, dot(colour), text);
  button.setAttribute("aria-pressed", on);
  button.onclick = () => {
    for (const flow of flows) on ? view.off.add(flow) : view.off.delete(flow);
    writeView({});
    fillFlows(columns[0].facts);
    for (const column of columns) column.draw();
  };
  return button;
}

function shade(flows, index) {
  const {strategy, colour} = flows[index];
  const before = flows.slice(0, index).filter((flow) => flow.strategy === strategy).length;
  return before % 2 ? mixed(colour, 0.35) : colour;
}
function mixed(colour, share) {
  const parts = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return `rgb(${parts.map((part) => Math.round(part + (255 - part) * share)).join(" ")})`;
}

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
      this.facts.tables.includes("flow_samples") ? askArrays("samples", query) : null,
    ]);
    const few = this.queue && this.queue.source === "packets" && packetsOf(this.queue) <= MOST_PACKETS;
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

  // Rows of the shown flows, or of the controls: [{name, colour, flows}].
  layers() {
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
      this.lines("rate", "Throughput", "bit/s", middles, layers, summed(layers, rows, 8e9 / width));
    } else this.remove("queue", "rate");
    if (this.samples && !this.samples.none) {
      const t = Float64Array.from(this.samples.t_ns, (ns) => ns / 1e9);
      const [title, unit] = SENDER[view.show];
      this.lines("sender", title, unit, t, layers, summed(layers, this.samples[view.show], 1, "sum"));
      this.lines("rtt", "Smoothed RTT", "s", t, layers, summed(layers, this.samples.srtt, 1, "mean"));
      this.bands("states", "State", this.samples.t_ns);
    } else this.remove("sender", "rtt", "states");
    if (this.queue || this.samples) this.events("events", "Drops and retransmissions");
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
    const data = [x, ...(stacked ? [...values].reverse() : values)];
    const colours = layers.map((layer) => layer.colour);
    if (stacked) colours.reverse();
    const key = `${name} ${unit} ${colours} ${stacked}`;
    let panel = this.panels[name];
    if (!panel || panel.key !== key) {
      panel?.destroy();
      const series = colours.map((colour) => (stacked
        ? {stroke: colour, fill: colour, width: 0, points: {show: false}}
        : {stroke: colour, width: 1, points: {show: false}, spanGaps: false}));
      panel = this.panels[name] = new Panel(this, name, title, HEIGHT[name], {unit, series, key});
    }
    panel.title.textContent = title + (view.by === "strategy" && ["sender"].includes(name) ? ", sum of flows" : "");
    panel.says = (index) => layers.map((layer, i) => `${layer.name} ${si(rows[i][index], unit)}`);
    panel.set(data);
  }

  // Rows of flows, drawn by hand: `paint(context, flowRow, toX, height)` for each.
  rows(name, title, paint, says) {
    const flows = this.facts.flows.map((_, i) => i).filter((i) => !view.off.has(i));
    const height = Math.max(3, Math.min(14, Math.floor(220 / Math.max(1, flows.length))));
    const key = `${name} ${flows.length}`;
    let panel = this.panels[name];
    if (!panel || panel.key !== key) {
      panel?.destroy();
      panel = this.panels[name] = new Panel(this, name, title, flows.length * height + 44, {series: [], key, flat: true});
    }
    panel.paint = (context, box, toX) => flows.forEach((flow, row) => paint(context, flow, box.top + row * box.height / flows.length, box.height / flows.length, toX, box));
    panel.says = (index, t, share) => says(flows[Math.min(flows.length - 1, Math.max(0, Math.floor(share * flows.length)))], t);
    panel.set([[view.from / 1e9, view.to / 1e9]]);
  }

  bands(name, title, t) {
    const {state, states} = this.samples;
    this.rows(name, title, (context, flow, top, height, toX) => {
      const row = state[flow];
      for (let i = 0, from = 0; i < row.length; i++) {
        if (i + 1 < row.length && row[i + 1] === row[from]) continue;
        const end = i + 1 < row.length ? t[i + 1] : t[i];
        if (row[from] >= 0) {
          context.fillStyle = STATE_COLOURS[states[row[from]]];
          const left = toX(t[from]);
          context.fillRect(left, top, Math.max(1, toX(end) - left), Math.max(1, height - 1));
        }
        from = i + 1;
      }
    }, (flow, at) => {
      const index = Math.max(0, upper(t, at) - 1);
      const code = state[flow] ? state[flow][index] : -1;
      return [`flow ${flow} ${this.facts.flows[flow].strategy}: ${code < 0 ? "–" : states[code]}`];
    });
    const seen = new Set(state.flatMap((row) => [...new Set(row)]));
    this.panels[name].legend.replaceChildren(...states.filter((_, code) => seen.has(code)).map((each) => el("span", {}, dot(STATE_COLOURS[each]), ` ${each}`)));
  }

  events(name, title) {
    const {queue, samples} = this;
    const drops = queue ? queue.dropped_packets : [];
    const resent = samples && !samples.none ? samples.retransmitted : [];
    this.rows(name, title, (context, flow, top, height, toX) => {
      context.fillStyle = css("--resent");
      (resent[flow] || []).forEach((bytes, i) => bytes > 0 && context.fillRect(toX(samples.t_ns[i]), top + height / 2, 1.5, height / 2));
      context.fillStyle = css("--drop");
      (drops[flow] || []).forEach((count, i) => count > 0 && context.fillRect(toX(queue.start_ns + (i + 0.5) * queue.width_ns), top, 1.5, height / 2));
    }, (flow, at) => {
      const bin = queue ? Math.floor((at - queue.start_ns) / queue.width_ns) : -1;
      const lost = drops[flow] && drops[flow][bin];
      return [`flow ${flow} ${this.facts.flows[flow].strategy}: ${lost || 0} drops here`];
    });
    const all = drops.reduce((sum, row) => sum + row.reduce((a, b) => a + b, 0), 0);
    this.panels[name].legend.replaceChildren(
      el("span", {}, dot(css("--drop")), ` drops (${all} in view)`), el("span", {}, dot(css("--resent")), " retransmissions"));
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
    if (!panel) panel = this.panels.packets = new Panel(this, "packets", "Packets: arrival, and bytes in the queue then", HEIGHT.packets, {unit: "B", series: [{stroke: "transparent", points: {show: false}}], key: "packets"});
    const top = Math.max(1, ...shown.map((i) => packets.queue_bytes[i]));
    panel.paint = (context, box, toX) => {
      for (const i of shown) {
        const x = toX(packets.enqueue_ns[i]), y = box.top + box.height * (1 - packets.queue_bytes[i] / (top * 1.08));
        context.fillStyle = packets.kind[i] ? css("--drop") : shade(this.facts.flows, packets.flow[i]);
        context.fillRect(x - 2, y - 2, packets.kind[i] ? 6 : 4, packets.kind[i] ? 6 : 4);
      }
    };
    panel.yMax = top * 1.08;
    panel.says = (_, at, share) => {
      const reach = (view.to - view.from) || 1;
      let near = -1, best = Infinity;
      for (const i of shown) {
        const dx = (packets.enqueue_ns[i] - at) / reach * 4, dy = 1 - packets.queue_bytes[i] / (top * 1.08) - share;
        if (dx * dx + dy * dy < best) [near, best] = [i, dx * dx + dy * dy];
      }
      return near < 0 ? [] : [this.packetText(near)];
    };
    panel.set([[view.from / 1e9, view.to / 1e9], [null, null]]);
    this.packetTable(shown);
  }

  packetText(i) {
    const p = this.packets;
    return `packet ${p.seq[i]}: flow ${p.flow[i]}, ${p.kind[i] ? "dropped" : "left"}, ${p.packet_bytes[i]} B (${p.payload_bytes[i]} payload), TCP sequence ${p.tcp_seq[i]}, flags 0x${p.tcp_flags[i].toString(16)}, arrived ${seconds(p.enqueue_ns[i])} s, left ${seconds(p.dequeue_ns[i])} s, stayed ${si((p.dequeue_ns[i] - p.enqueue_ns[i]) / 1e9, "s")}, queue ${p.queue_bytes[i]} B${p.marks[i] & CE ? ", CE set" : ""}`;
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
    const query = {trial: this.facts.id, from: Math.round(view.from), to: Math.round(view.to)};
    const totals = await askJson("totals", query);
    const length = query.to - query.from;
    const rows = this.facts.flows.map((flow, i) => el("tr", {}, el("td", {textContent: `${i} ${flow.strategy}`}),
      ...[si(totals.departed_bytes[i] * 8e9 / length, "bit/s"), totals.departed_packets[i], totals.dropped_packets[i],
        si(totals.occupancy_byte_ns[i] / length, "B"), si(totals.delay_sum_ns[i] / totals.departed_packets[i] / 1e9, "s")]
        .map((text) => el("td", {className: "number", textContent: text}))));
    const head = el("tr", {}, ...["flow", "throughput", "left", "dropped", "mean in queue", "mean delay"].map((text, i) => el("th", {className: i ? "number" : "", textContent: text})));
    const open = this.totals?.open ?? false;
    this.totals?.remove();
    this.totals = el("details", {open, className: "totals"}, el("summary", {textContent: "Totals of the view, exact"}),
      el("div", {className: "scroll"}, el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows))));
    this.totals.data = totals;
    this.root.append(this.totals);
  }
}

const packetsOf = (queue) => [...queue.departed_packets, ...queue.dropped_packets]
  .reduce((sum, row) => sum + row.reduce((a, b) => a + b, 0), 0);

// Sums of the flows of each layer, or their mean.
function summed(layers, rows, factor, how = "sum") {
  return layers.map(({flows}) => {
    if (!rows.length) return [];
    if (flows.length === 1) return Array.from(rows[flows[0]], (v) => (Number.isFinite(v) ? v * factor : null));
    return Array.from(rows[0], (_, i) => {
      let sum = 0, known = 0;
      for (const flow of flows) if (Number.isFinite(rows[flow][i])) { sum += rows[flow][i]; known++; }
      return known ? (how === "mean" ? sum / known : sum) * factor : null;
    });
  });
}
function stackedRows(rows) {
  const below = new Float64Array(rows.length ? rows[0].length : 0);
  return rows.map((row) => row.map((value, i) => (below[i] += value || 0)));
}
function upper(sorted, value) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= value) low = middle + 1; else high = middle;
  }
  return low;
}

// One panel: uPlot draws lines and axes; what else there is is painted over them.
class Panel {
  constructor(column, name, title, height, {unit = "", series, key, flat = false}) {
    Object.assign(this, {column, name, key, paint: null, says: () => [], yMax: null});
    this.title = el("h3", {textContent: title});
    this.legend = el("div", {className: "legend"});
    this.host = el("div", {className: "panel"});
    this.root = el("div", {}, this.title, this.legend, this.host);
    this.root.dataset.panel = name;
    column.root.append(this.root);
    const order = ["queue", "rate", "sender", "rtt", "states", "events", "packets"];
    const later = order.slice(order.indexOf(name) + 1).map((each) => column.panels[each]).find(Boolean);
    if (later) later.root.before(this.root);
    else if (column.totals || column.table) (column.totals || column.table).before(this.root);
    const line = {stroke: css("--line"), width: 1};
    const axis = {stroke: css("--muted"), grid: line, ticks: line, font: "11px system-ui, sans-serif"};
    const yAxis = flat ? {...axis, values: () => [], grid: {show: false}, ticks: {show: false}, size: AXIS}
      : {...axis, size: AXIS, values: (_, ticks) => ticks.map((value) => si(value, unit))};
    this.plot = new uPlot({
      width: column.width(), height, legend: {show: false}, padding: [4, 22, 0, 0],
      cursor: {sync: {key: "time", scales: ["x", null]}, drag: {x: true, y: false, setScale: false}, points: {show: !flat && series.length < 12}},
      scales: {
        x: {time: false, range: () => [view.from / 1e9, view.to / 1e9]},
        y: {range: (_, low, high) => (flat ? [0, 1] : [0, this.yMax ?? ((Number.isFinite(high) && high > 0 ? high : 1) * 1.08)])},
      },
      axes: [{...axis, size: 30, values: (_, ticks) => ticks.map((t) => `${+t.toFixed(9)}`)}, yAxis],
      series: [{}, ...series],
      hooks: {
        setSelect: [(plot) => {
          if (plot.select.width < 3) return;
          const [from, to] = [plot.posToVal(plot.select.left, "x"), plot.posToVal(plot.select.left + plot.select.width, "x")];
          plot.setSelect({left: 0, top: 0, width: 0, height: 0}, false);
          zoomTo(from * 1e9, to * 1e9);
        }],
        setCursor: [(plot) => this.tell(plot)],
        draw: [(plot) => this.over(plot)],
      },
    }, [[view.from / 1e9, view.to / 1e9], ...series.map(() => [null, null])], this.host);
    this.plot.over.addEventListener("wheel", (event) => {
      event.preventDefault();
      const at = this.plot.posToVal(event.offsetX, "x") * 1e9;
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
        move(Math.sign(event.deltaX || event.deltaY) * 0.1);
      else zoomBy(event.deltaY > 0 ? 1.4 : 1 / 1.4, at);
    }, {passive: false});
    this.plot.over.addEventListener("dblclick", (event) => zoomBy(2, this.plot.posToVal(event.offsetX, "x") * 1e9));
  }

  set(data) {
    this.plot.setData(data);
  }

  tell(plot) {
    const {left, top, idx} = plot.cursor;
    if (left === undefined || left < 0 || !plot.over.matches(":hover")) return;
    const t = plot.posToVal(left, "x");
    const said = this.says(idx ?? 0, t * 1e9, top / plot.over.clientHeight);
    const most = said.slice(0, 12);
    this.column.readout.textContent = `${+t.toFixed(6)} s: ${most.join(", ")}${said.length > most.length ? ", …" : ""}`;
  }

  over(plot) {
    const {ctx, bbox} = plot;
    const toX = (ns) => plot.valToPos(ns / 1e9, "x", true);
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    if (this.paint) this.paint(ctx, bbox, toX);
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
    ctx.stroke();
    ctx.restore();
  }

  destroy() {
    this.plot.destroy();
    this.root.remove();
  }
}

// Moving in time.

function zoomTo(from, to, {keep = true} = {}) {
  if (keep) history.push([view.from, view.to]);
  const width = Math.max(NARROWEST_NS, to - from);
  const middle = (from + to) / 2;
  writeView({from: Math.round(middle - width / 2), to: Math.round(middle + width / 2)});
  return load();
}
function zoomBy(factor, at = (view.from + view.to) / 2) {
  const longest = Math.max(...columns.map((column) => column.facts.duration_ns));
  if (factor > 1 && (view.to - view.from) * factor > longest * 1.5) return zoomTo(0, longest);
  return zoomTo(at - (at - view.from) * factor, at + (view.to - at) * factor);
}
const move = (share) => zoomTo(view.from + (view.to - view.from) * share, view.to + (view.to - view.from) * share, {keep: false});

const ACTIONS = {
  out: () => zoomBy(2), in: () => zoomBy(0.5), left: () => move(-0.25), right: () => move(0.25),
  back: () => history.length && zoomTo(...history.pop(), {keep: false}),
  window: () => zoomTo(...columns[0].facts.window_ns),
  whole: () => zoomTo(0, Math.max(...columns.map((column) => column.facts.duration_ns))),
  link: async () => {
    writeView({});
    await navigator.clipboard.writeText(location.href);
  },
  by: () => choose("by", view.by === "flow" ? "strategy" : "flow"),
  queue: () => choose("queue", view.queue === "bytes" ? "delay" : "bytes"),
  run: () => { location.hash = ""; },
};
const KEYS = {
  "-": "out", "+": "in", "=": "in", ArrowLeft: "left", ArrowRight: "right", b: "back", w: "window", 0: "whole",
  f: "by", q: "queue", Escape: "run",
};
function choose(name, value) {
  $(name).value = value;
  writeView({[name]: value});
  for (const column of columns) column.draw();
}

let asked = 0, totalsLater = 0;
async function load() {
  const mine = ++asked;
  const started = performance.now();
  for (const [id, ns] of [["from", view.from], ["to", view.to]]) $(id).value = seconds(ns);
  await Promise.all(columns.map((column) => column.load()));
  if (mine !== asked) return;
  for (const column of columns) column.draw();
  writeView({});
  clearTimeout(totalsLater);
  totalsLater = setTimeout(() => Promise.all(columns.map((column) => column.loadTotals())).catch(fail), 250);
  await new Promise((go) => requestAnimationFrame(go));
  shown(performance.now() - started);
}

// For whoever waits: how many views were shown, and how long the last one took.
function shown(ms = 0) {
  document.body.dataset.views = Number(document.body.dataset.views || 0) + 1;
  document.body.dataset.ms = ms.toFixed(1);
}

function fail(error) {
  $("problem").textContent = String(error.message || error);
  $("problem").hidden = false;
}

async function show() {
  clearTimeout(totalsLater);  // of a view that is left
  asked += 1;
  readView();
  $("problem").hidden = true;
  $("run").hidden = Boolean(view.trial);
  $("trial").hidden = !view.trial;
  try {
    if (!view.trial) return await showRun();
    run ??= await askJson("run");
    await showTrial();
  } catch (error) {
    fail(error);
  }
}

function started() {
  addEventListener("hashchange", () => { history = []; show(); });
  for (const button of document.querySelectorAll("[data-do]"))
    button.onclick = () => Promise.resolve(ACTIONS[button.dataset.do]()).catch(fail);
  for (const name of ["by", "queue", "show"]) $(name).onchange = (event) => choose(name, event.target.value);
  $("with").onchange = (event) => { writeView({with: event.target.value || null}); show(); };
  for (const id of ["from", "to"]) $(id).onchange = () => {
    const [from, to] = [+$("from").value * 1e9, +$("to").value * 1e9];
    if (to > from) zoomTo(from, to).catch(fail); else load().catch(fail);
  };
  addEventListener("keydown", (event) => {
    if (!view.trial || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, select") || !(event.key in KEYS)) return;
    event.preventDefault();
    Promise.resolve(ACTIONS[KEYS[event.key]]()).catch(fail);
  });
  let resized = 0;
  const again = () => { clearTimeout(resized); resized = setTimeout(show, 150); };
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; again(); } });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  setInterval(() => { if (!view.trial && run && run.status === "running" && !document.hidden) showRun().catch(fail); }, 3000);
  show();
}
started();
