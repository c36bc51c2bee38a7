"use strict";
// Pixels of a panel, written one by one and copied at once: a browser without a graphics card draws
// some hundred thousand points of paths in a tenth of a second, and of these in some milliseconds.

class Raster {
  constructor() {
    this.canvas = document.createElement("canvas");
    this.context = this.canvas.getContext("2d", {willReadFrequently: true});
  }

  // Begin anew, transparent, as large as a box of a canvas.
  begin(width, height) {
    width = Math.max(1, Math.round(width));
    height = Math.max(1, Math.round(height));
    if (this.canvas.width !== width || this.canvas.height !== height || !this.image) {
      Object.assign(this.canvas, {width, height});
      this.image = this.context.createImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
    } else this.pixels.fill(0);
    Object.assign(this, {width, height});
  }

  // Copy all onto a canvas.
  onto(context, left, top) {
    this.context.putImageData(this.image, 0, 0);
    context.drawImage(this.canvas, Math.round(left), Math.round(top));
  }

  rect(left, top, right, bottom, colour) {
    const x0 = Math.max(0, Math.round(left)), x1 = Math.min(this.width, Math.max(Math.round(right), Math.round(left) + 1));
    const y0 = Math.max(0, Math.round(top)), y1 = Math.min(this.height, Math.max(Math.round(bottom), Math.round(top) + 1));
    for (let y = y0; y < y1; y++) if (x1 > x0) this.pixels.fill(colour, y * this.width + x0, y * this.width + x1);
  }

  // A layer between two rows of heights, of bins whose edges are at from + i * step.
  layer(below, above, from, step, colour) {
    const {pixels, width, height} = this;
    const begin = Math.max(0, Math.round(from));
    const end = Math.min(width, Math.round(from + above.length * step));
    for (let x = begin; x < end; x++) {
      const i = Math.min(above.length - 1, Math.max(0, Math.floor((x + 0.5 - from) / step)));
      const low = Math.min(height, Math.max(0, Math.round(height - below[i])));
      for (let at = Math.max(0, Math.round(height - above[i])) * width + x; at < low * width; at += width) pixels[at] = colour;
    }
  }

  // A line through points whose x ascend: of each column all heights that it passes.
  line(xs, ys, thick, colour) {
    const last = xs.length - 1;
    let column = -1, low = 0, high = 0;
    const reach = (x, y) => {
      if (x !== column) {
        this.run(column, low, high, thick, colour);
        [column, low, high] = [x, y, y];
      } else if (y < low) low = y; else if (y > high) high = y;
    };
    for (let i = 0; i <= last; i++) {
      const x = xs[i], y = ys[i];
      if (!Number.isFinite(y)) continue;
      if (x >= 0 && x < this.width) reach(Math.floor(x), y);
      if (i === last || !Number.isFinite(ys[i + 1]) || xs[i + 1] < 0 || x >= this.width) continue;
      const slope = (ys[i + 1] - y) / Math.max(1e-9, xs[i + 1] - x);
      const end = Math.min(this.width - 1, Math.floor(xs[i + 1]));
      for (let edge = Math.max(0, Math.floor(x) + 1); edge <= end; edge++) {
        const at = y + (edge - x) * slope;
        if (edge > 0) reach(edge - 1, at);
        reach(edge, at);
      }
    }
    this.run(column, low, high, thick, colour);
  }

  // One column of a line, its ends as faint as they cover their pixels.
  run(x, low, high, thick, colour) {
    if (x < 0) return;
    const top = Math.max(0, low - thick / 2), bottom = Math.min(this.height, high + thick / 2);
    const first = Math.floor(top), last = Math.ceil(bottom);
    for (let y = first; y < last; y++) {
      const covered = Math.min(y + 1, bottom) - Math.max(y, top);
      const at = y * this.width + x;
      this.pixels[at] = covered >= 0.996 ? colour : blended(this.pixels[at], colour, covered);
    }
  }
}

// A colour as `#rrggbb` or `rgb(r g b)`, as one number of a canvas's bytes.
const colourCodes = new Map();
function packed(colour) {
  let found = colourCodes.get(colour);
  if (found === undefined) {
    const parts = colour.startsWith("#")
      ? [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)) : colour.match(/\d+/g).map(Number);
    found = (0xff000000 | parts[2] << 16 | parts[1] << 8 | parts[0]) >>> 0;
    colourCodes.set(colour, found);
  }
  return found;
}

function blended(below, colour, share) {
  const under = below >>> 24;
  const over = Math.round(255 * share), all = over + under * (255 - over) / 255;
  const mix = (shift) => Math.round(((colour >>> shift & 255) * over + (below >>> shift & 255) * under * (255 - over) / 255) / all);
  return all < 0.5 ? 0 : (Math.round(all) << 24 | mix(16) << 16 | mix(8) << 8 | mix(0)) >>> 0;
}
