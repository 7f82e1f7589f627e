// The map of documents: a canvas of our own, quick enough for a hundred thousand dots.

import { colour } from "./colours.js";
import { data } from "./data.js";
import { byId } from "./elements.js";
import { drawLegend } from "./legend.js";
import { colourDocuments } from "./map_colours.js";
import { paintNames } from "./map_names.js";
import { isInView, resizeView, toX, toY, viewSize, zoomOfView } from "./map_view.js";
import { state } from "./selection.js";

const MOST_RINGS = 3000;

const canvasState = { colouring: null, rings: [], ratio: 1, waiting: false };

export function recolour() {
  canvasState.colouring = colourDocuments();
  byId("map-colour").value = state.colour; // empty for topics: a column may have any name
  drawLegend(byId("map-legend"), canvasState.colouring.legend);
  paintSoon();
}

// Rings around documents that a search has found.
export function ringOnMap(rows) {
  canvasState.rings = rows.slice(0, MOST_RINGS);
  paintSoon();
}

export function sizeMap(frame) {
  const canvas = byId("map-canvas");
  resizeView(frame);
  const [width, height] = viewSize();
  canvasState.ratio = Math.min(window.devicePixelRatio || 1, 2);
  canvas.width = Math.round(width * canvasState.ratio);
  canvas.height = Math.round(height * canvasState.ratio);
  canvas.style.height = `${height}px`;
  paint();
}

export function paintSoon() {
  if (canvasState.waiting) return;
  canvasState.waiting = true;
  requestAnimationFrame(() => {
    canvasState.waiting = false;
    paint();
  });
}

function paint() {
  const [width, height] = viewSize();
  if (!width || !canvasState.colouring) return;
  const canvas = byId("map-canvas");
  const began = performance.now();
  const pen = canvas.getContext("2d");
  pen.setTransform(canvasState.ratio, 0, 0, canvasState.ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  paintDots(pen);
  paintRings(pen, canvasState.rings, colour("--ink"), 1.2);
  if (state.document !== null) paintRings(pen, [state.document], colour("--accent"), 3);
  paintNames(pen);
  canvas.dataset.milliseconds = (performance.now() - began).toFixed(1);
}

function dotRadius() {
  const [width] = viewSize();
  const base = Math.max(0.9, Math.min(4.5, 170 / Math.sqrt(data.documents.x.length)));
  return Math.min(7, base * zoomOfView() ** 0.35 * (width < 500 ? 0.8 : 1));
}

function paintDots(pen) {
  const { x, y } = data.documents;
  const { colours, numbers, order } = canvasState.colouring;
  const radius = dotRadius();
  const dot = radius >= 1.5 ? roundDots(pen, colours, radius) : squareDots(pen, colours, radius);
  for (const row of order) {
    const px = toX(x[row]);
    const py = toY(y[row]);
    if (isInView(px, py, 8)) dot(px, py, numbers[row]);
  }
  pen.globalAlpha = 1;
}

// Circles are drawn once for each colour, then copied.
function roundDots(pen, colours, radius) {
  const sprites = colours.map((fill) => sprite(fill, radius));
  const size = sprites[0].width / canvasState.ratio;
  return (px, py, number) => pen.drawImage(sprites[number], px - size / 2, py - size / 2, size, size);
}

// Where dots are so small that nobody sees their corners.
function squareDots(pen, colours, radius) {
  let current = -1;
  return (px, py, number) => {
    if (number !== current) {
      current = number;
      pen.fillStyle = colours[number];
      pen.globalAlpha = number ? 0.85 : 0.6;
    }
    pen.fillRect(px - radius, py - radius, 2 * radius, 2 * radius);
  };
}

function sprite(fill, radius) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = Math.ceil((2 * radius + 2) * canvasState.ratio);
  const pen = canvas.getContext("2d");
  const middle = canvas.width / 2;
  pen.fillStyle = fill;
  pen.globalAlpha = 0.85;
  pen.beginPath();
  pen.arc(middle, middle, radius * canvasState.ratio, 0, 2 * Math.PI);
  pen.fill();
  return canvas;
}

function paintRings(pen, rows, stroke, width) {
  pen.strokeStyle = stroke;
  pen.lineWidth = width;
  for (const row of rows) {
    pen.beginPath();
    pen.arc(toX(data.documents.x[row]), toY(data.documents.y[row]), dotRadius() + width + 0.5, 0, 2 * Math.PI);
    pen.stroke();
  }
}
