// Everything that depends on width or colours is drawn again when these change.

const redraws = [];
export const onRedraw = (draw) => redraws.push(draw);

export function redrawAll() {
  for (const draw of redraws) draw();
}

// Draws into a box now and whenever its width changes; returns a function that draws again.
export function responsive(box, draw) {
  let width = 0;
  const again = () => {
    if (box.clientWidth > 0) draw(box.clientWidth);
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
