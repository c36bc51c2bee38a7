"use strict";
// A view as files: its panels as a drawing of vectors, its values as a table.

function saveAs(name, type, text) {
  const link = el("a", {href: URL.createObjectURL(new Blob([text], {type})), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// One row for each value: the trial, the panel, its unit, the time, and whose value it is.
function csvOf(shown) {
  const lines = ["trial,panel,unit,time_s,series,value"];
  for (const {facts, panels} of shown)
    for (const name of ORDER) {
      const series = panels[name]?.series;
      for (const {name: whose, values} of series?.rows ?? [])
        series.t_s.forEach((t, i) => {
          const known = typeof values[i] === "string" ? values[i] : Number.isFinite(values[i]);
          if (known && t >= view.from / 1e9 && t <= view.to / 1e9) lines.push([facts.id, name, series.unit, t, whose, values[i]].join(","));
        });
    }
  return lines.join("\n") + "\n";
}

// What `paint` draws of a panel, as elements of SVG; it has the methods of a Raster.
class Vectors {
  constructor(width, height) {
    Object.assign(this, {width, height, parts: []});
  }
  colour(number) {
    return `rgb(${number & 255} ${number >>> 8 & 255} ${number >>> 16 & 255})`;
  }
  rect(left, top, right, bottom, colour) {
    const [x, y] = [left, top].map((each) => each.toFixed(2));
    this.parts.push(`<rect x="${x}" y="${y}" width="${Math.max(0.5, right - left).toFixed(2)}" height="${Math.max(0.5, bottom - top).toFixed(2)}" fill="${this.colour(colour)}"/>`);
  }
  layer(below, above, from, step, colour) {
    const edge = (heights, order) => order.flatMap((i) => {
      const y = (this.height - heights[i]).toFixed(2), ends = [from + i * step, from + (i + 1) * step];
      return (order[0] ? ends.reverse() : ends).map((x) => `${x.toFixed(2)} ${y}`);
    });
    const order = Array.from(above, (_, i) => i);
    if (!order.length) return;
    this.parts.push(`<path d="M${[...edge(above, order), ...edge(below, order.slice().reverse())].join("L")}Z" fill="${this.colour(colour)}"/>`);
  }
  line(xs, ys, thick, colour) {
    let path = "", pen = "M";
    for (let i = 0; i < xs.length; i++) {
      if (Number.isFinite(ys[i])) path += `${pen}${xs[i].toFixed(2)} ${ys[i].toFixed(2)}`;
      pen = Number.isFinite(ys[i]) ? "L" : "M";
    }
    if (path) this.parts.push(`<path d="${path}" fill="none" stroke="${this.colour(colour)}" stroke-width="1.2"/>`);
  }
}

const escaped = (text) => text.replace(/[&<>"]/g, (each) => `&#${each.charCodeAt(0)};`);
const svgText = (x, y, text, more = "") => `<text x="${x}" y="${y}" ${more}>${escaped(text)}</text>`;

// A panel at its place: title, axes with the ticks that uPlot has chosen, and the data.
function svgPanel(panel, left, top) {
  const {plot} = panel, width = plot.over.clientWidth, height = plot.over.clientHeight;
  const drawn = new Vectors(width, height);
  panel.paint?.(drawn, (ns) => (ns - view.from) * width / (view.to - view.from));
  const clip = `clip${left}-${top}`, muted = css("--muted");
  const [x, y] = plot.axes.map((axis) => axis._splits.map((at, i) => [at, axis._values[i]]));
  const link = panel.link ? `<path fill="none" stroke="${muted}" stroke-dasharray="3 4" d="M${Array.from(panel.link, (bps, i) =>
    `${plot.valToPos(panel.series.t_s[i], "x").toFixed(2)} ${plot.valToPos(bps, "y").toFixed(2)}`).join("L")}"/>` : "";
  const cursors = ["a", "b"].filter((name) => view[name] !== null).map((name) => {
    const at = plot.valToPos(view[name] / 1e9, "x");
    return `<path d="M${at} 0V${height}" stroke="${css("--accent")}"/>${svgText(at + 3, 10, name.toUpperCase())}`;
  });
  const parts = [
    svgText(0, -6, panel.title.textContent, 'font-weight="600"'),
    `<rect width="${width}" height="${height}" fill="none" stroke="${css("--line")}"/>`,
    ...(panel.flat ? [] : y).map(([at, text]) => svgText(-6, plot.valToPos(at, "y") + 4, text ?? "", 'text-anchor="end"')),
    ...x.map(([at, text]) => svgText(plot.valToPos(at, "x"), height + 14, text ?? "", 'text-anchor="middle"')),
    `<clipPath id="${clip}"><rect width="${width}" height="${height}"/></clipPath>`,
    `<g clip-path="url(#${clip})">${drawn.parts.join("")}${link}${cursors.join("")}</g>`,
  ];
  return `<g transform="translate(${left + AXIS} ${top + 20})">${parts.join("")}</g>`;
}

function svgOf(shown) {
  const wide = Math.max(...shown.map((column) => column.width())) + 20;
  let tall = 0;
  const parts = shown.flatMap((column, number) => {
    let top = 24;
    const left = number * wide;
    const found = [svgText(left + 4, 14, column.facts.id, 'font-weight="600"')];
    const key = column.plainLayers().slice(0, 20).map((layer) => `<tspan fill="${layer.colour}">■</tspan> ${escaped(layer.name)}`);
    for (const name of [...ORDER, "packets"].filter((each) => column.panels[each])) {
      found.push(svgPanel(column.panels[name], left, top));
      top += column.panels[name].plot.over.clientHeight + 46;
    }
    found.push(`<text x="${left + AXIS}" y="${top + 6}">${key.join("  ")}</text>`);
    tall = Math.max(tall, top + 16);
    return found;
  });
  const width = wide * shown.length;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${tall}" viewBox="0 0 ${width} ${tall}" font-family="sans-serif" font-size="11" fill="${css("--ink")}"><rect width="100%" height="100%" fill="${css("--card")}"/>${parts.join("")}</svg>\n`;
}
