// Going to a section of the page.

import { byId } from "./elements.js";
import { readAddress, update } from "./selection.js";

export function goTo(id) {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  byId(id).scrollIntoView({ behavior: still ? "auto" : "smooth", block: "start" });
  byId(`${id}-title`).focus({ preventScroll: true });
}

export function startNavigation() {
  for (const link of document.querySelectorAll(".bar nav a, .skip")) {
    link.addEventListener("click", (event) => {
      event.preventDefault(); // the address keeps the selection
      goTo(link.getAttribute("href").slice(1));
    });
  }
  for (const event of ["popstate", "hashchange"]) window.addEventListener(event, () => update(readAddress(), false));
}
