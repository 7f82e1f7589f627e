// Which part of the map is seen, and where its points are on the screen.

const view = {
  zoom: 1, x: 0, y: 0, // the point of the map in the middle
  width: 0, height: 0, // pixels
};

export const viewSize = () => [view.width, view.height];

// The map fills a wide or a tall frame.
export function resizeView(width) {
  view.width = width;
  view.height = Math.round(Math.max(320, Math.min(640, 0.62 * width)));
}

export const zoomOfView = () => view.zoom;

export function resetView() {
  Object.assign(view, { zoom: 1, x: 0, y: 0 });
}

// What is at this place of the screen stays there.
export function zoomView(factor, px = view.width / 2, py = view.height / 2) {
  const [x, y] = [fromX(px), fromY(py)];
  view.zoom = Math.max(0.8, Math.min(60, view.zoom * factor));
  view.x += x - fromX(px);
  view.y += y - fromY(py);
}

export function moveView(dx, dy) {
  const [x, y] = [fromX(0) - fromX(dx), fromY(0) - fromY(dy)];
  view.x = Math.max(-1.2, Math.min(1.2, view.x + x));
  view.y = Math.max(-1.2, Math.min(1.2, view.y + y));
}

// Puts a point of the map into the middle, where it is outside of the frame.
export function bringIntoView(x, y) {
  if (view.width && !isInView(toX(x), toY(y))) Object.assign(view, { x, y });
}

export function isInView(px, py, margin = 0) {
  return px >= -margin && py >= -margin && px <= view.width + margin && py <= view.height + margin;
}

// Pixels from 0 to 1, stretched by no more than a half.
const unitX = () => Math.min(0.47 * view.width, 0.69 * view.height) * view.zoom;
const unitY = () => Math.min(0.46 * view.height, 0.69 * view.width) * view.zoom;
export const toX = (x) => view.width / 2 + (x - view.x) * unitX();
export const toY = (y) => view.height / 2 - (y - view.y) * unitY();
export const fromX = (px) => view.x + (px - view.width / 2) / unitX();
export const fromY = (py) => view.y - (py - view.height / 2) / unitY();
