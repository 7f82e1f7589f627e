// Everything that depends on width or colours is drawn again when these change.

const redraws = [];
export const onRedraw = (draw) => redraws.push(draw);

export function redrawAll() {
  for (const draw of redraws) draw();
}

// The keyboard stays on a topic that is drawn again.
function keepingFocus(box, draw) {
  const { activeElement } = document;
  const topic = box.contains(activeElement) ? activeElement.dataset.topic : undefined;
  draw();
  if (topic !== undefined) box.querySelector(`[data-topic="${topic}"]`)?.focus({ preventScroll: true });
}

// Draws into a box now and whenever its width changes; returns a function that draws again.
export function responsive(box, draw) {
  let width = 0;
  const again = () => {
    if (box.clientWidth > 0) keepingFocus(box, () => draw(box.clientWidth));
  };
  new ResizeObserver(() => {
    if (box.clientWidth !== width) {
      width = box.clientWidth;
      again();
    }
  }).observe(box);
  onRedraw(again);
  return again;
}
