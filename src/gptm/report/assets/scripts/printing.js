// Paper is light, and has no folded parts.

import { redrawAll } from "./redraw.js";

export function startPrinting() {
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("#topics details:not([open])")];
    for (const details of opened) details.open = true;
    document.documentElement.dataset.theme = "light";
    redrawAll();
  });
  window.addEventListener("afterprint", () => {
    for (const details of opened) details.open = false;
    delete document.documentElement.dataset.theme;
    redrawAll();
  });
}
