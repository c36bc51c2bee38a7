"use strict";
// The explorer's page. The address behind `#` is the whole state of a view: a link reproduces it.

const STATE_COLOURS = {
  "open": "#8fa3b5", "next epoch": "#c3ced8", "disorder": "#c9b458", "CWR": "#b08d57", "slow start": "#6fb1a0",
  "cruise": "#9ed3dc", "up": "#e08e45", "down": "#5a8fc7", "refill": "#e3c16f", "drain": "#8f6bb3",
  "startup": "#3fa37a", "recovery": "#d1495b", "loss": "#8b1e2d", "ProbeRTT": "#4a5be0",
};
const SENDER = {
  cwnd: ["cwnd", "B"], inflight: ["In flight", "B"], pacing: ["Pacing rate", "bit/s"],
  bandwidth: ["Bandwidth estimate", "bit/s"],
};
const NARROWEST_NS = 20e3;

const $ = (id) => document.getElementById(id);
const el = (name, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};
// Colours of the style sheet, asked for once: a question to it has the browser compute styles.
let colours = new Map();
function css(name) {
  if (!colours.has(name)) colours.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  return colours.get(name);
}

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
  const kinds = {"<f8": Float64Array, "<f4": Float32Array, "<i4": Int32Array, "i1": Int8Array};
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
    a: number("a"), b: number("b"),
    off: new Set((said.get("off") || "").split(",").filter(Boolean).map(Number)),
  };
}
function writeView(changes) {
  Object.assign(view, changes);
  const said = new URLSearchParams();
  for (const name of ["trial", "with", "from", "to", "by", "queue", "show", "a", "b"])
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
    row.dataset.mix = mix.text;
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
  if (!measured.length) return;
  // Of two controls, a mix has a place on a line; of more, it has that of its row in the table.
  const names = run.strategies, two = names.length === 2, second = names[1];
  const order = two ? [...measured].sort((a, b) => a.flows[second] - b.flows[second]) : measured;
  const at = (mix) => (two ? mix.flows[second] : setting.mixes.indexOf(mix) + 1);
  const data = [order.map(at), ...names.map((name) => order.map((mix) => (mix.flows[name] ? meanOf(mix, name) / 1e6 : null)))];
  const range = two ? [0, Math.max(...order.map((mix) => mix.flows[names[0]] + mix.flows[second]))] : [0.5, setting.mixes.length + 0.5];
  const ink = {stroke: css("--muted"), grid: {stroke: css("--line"), width: 1}, ticks: {stroke: css("--line"), width: 1}};
  place.replaceChildren(el("h3", {textContent: "Throughput of a flow by mix (Mbit/s)"}));
  const host = place.appendChild(el("div"));
  const rowOf = (index) => place.closest(".setting").querySelector(`tr[data-mix="${CSS.escape(order[index]?.text ?? "")}"]`);
  const choose = (index) => {
    for (const row of place.closest(".setting").querySelectorAll("tr.chosen")) row.classList.remove("chosen");
    rowOf(index)?.classList.add("chosen");
  };
  const plot = new uPlot({
    width: Math.max(260, place.clientWidth), height: 220, legend: {show: false}, cursor: {drag: {x: false, y: false}},
    scales: {x: {time: false, range}, y: {range: (_, low, high) => [0, (high || 1) * 1.1]}},
    axes: [{...ink, label: two ? `flows with ${second}` : "row of the table", incrs: [1, 2, 5, 10, 20, 50, 100], labelSize: 20, size: 34}, {...ink, size: 46}],
    series: [{}, ...names.map((name, i) => ({stroke: run.colours[name], width: two ? 2 : 0, dash: i ? [6, 4] : undefined,
      points: {show: true, size: 8, fill: i % 2 ? css("--card") : run.colours[name], stroke: run.colours[name]}}))],
    hooks: {setCursor: [({cursor}) => choose(cursor.left >= 0 ? cursor.idx : -1)]},
  }, data, host);
  plot.over.addEventListener("click", () => {
    const details = rowOf(plot.cursor.idx)?.querySelector("details");
    if (details) details.open = true;
    details?.scrollIntoView({block: "nearest"});
  });
  order.forEach((mix, index) => {
    const row = rowOf(index);
    row.onmouseenter = () => plot.setCursor({left: plot.valToPos(at(mix), "x"), top: 0});
    row.onmouseleave = () => plot.setCursor({left: -10, top: -10});
  });
  place.append(el("div", {className: "legend"}, ...names.map((name) => el("span", {}, dot(run.colours[name]), ` ${name}`))));
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
  await Promise.all(columns.map((column) => column.brush.fill()));
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
  const button = el("button", {onpointerenter: () => point(flows), onpointerleave: () => point(null), title: strategy ? `flow ${text}, ${strategy}` : text}, dot(colour), text);
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
  // Multiples of the golden ratio: neighbours differ most, however many there are.
  const share = before * 0.618034 % 1;
  return before ? mixed(colour, share < 0.4 ? 0 : 255, share < 0.4 ? 0.55 - share : share * 0.75) : colour;
}
function mixed(colour, other, share) {
  const parts = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return `rgb(${parts.map((part) => Math.round(part + (other - part) * share)).join(" ")})`;
}

// Flows under the pointer: all others are drawn faintly.
let pointed = null;
function point(flows) {
  pointed = flows;
  for (const column of columns) column.draw();
}

// Two cursors, A and B, which the totals are made between.
let pointer = null;  // time under the pointer
function setCursor(name, ns) {
  if (ns !== null) writeView({[name]: Math.round(ns)});
  tellCursors();
  return Promise.all(columns.map((column) => { column.draw(); return column.loadTotals(); }));
}
function tellCursors() {
  const said = ["a", "b"].filter((name) => view[name] !== null).map((name) => `${name.toUpperCase()} ${seconds(view[name])} s`);
  const apart = Math.abs(view.b - view.a);
  if (said.length === 2 && apart) said.push(`${si(apart / 1e9, "s")} apart, ${si(1e9 / apart, "/s")}`);
  $("cursors").textContent = said.join(" · ");
}

// The next trial of the run, or the one before, over the same time.
function step(by) {
  const ids = run.settings.flatMap((s) => s.mixes.flatMap((m) => m.trials)).map((trial) => trial.id);
  const next = ids[ids.indexOf(view.trial) + by];
  if (next === undefined) return null;
  writeView({trial: next, with: view.with === next ? null : view.with});
  return show();
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
  previous: () => step(-1), next: () => step(1),
  a: () => setCursor("a", pointer), b: () => setCursor("b", pointer),
  off: () => { writeView({a: null, b: null}); return setCursor("a", null); },
  svg: () => saveAs(`${view.trial}.svg`, "image/svg+xml", svgOf(columns)),
  csv: () => saveAs(`${view.trial}.csv`, "text/csv", csvOf(columns)),
};
const KEYS = {
  "-": "out", "+": "in", "=": "in", ArrowLeft: "left", ArrowRight: "right", b: "back", w: "window", 0: "whole",
  f: "by", q: "queue", p: "previous", n: "next", 1: "a", 2: "b", 3: "off", Escape: "run",
};
function choose(name, value) {
  $(name).value = value;
  writeView({[name]: value});
  if (name === "show") return load().catch(fail);  // of the senders' series only one is asked for
  for (const column of columns) column.draw();
}

let asked = 0, totalsLater = 0;
async function load() {
  const mine = ++asked;
  const started = performance.now();
  for (const [id, ns] of [["from", view.from], ["to", view.to]]) $(id).value = seconds(ns);
  for (const column of columns) column.brush.place();  // at once: the next drag takes what is under it
  await Promise.all(columns.map((column) => column.load()));
  if (mine !== asked) return;
  for (const column of columns) column.draw();
  writeView({});
  tellCursors();
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
  colours = new Map();
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
