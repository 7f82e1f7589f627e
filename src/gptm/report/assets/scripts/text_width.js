// Text as wide as it will be drawn: letters differ too much in width to be counted.

export const TICK_SIZE = 12; // pixels, as in the style sheet
export const NAME_SIZE = 13;

const ruler = document.createElement("canvas").getContext("2d");

export const fontOf = (size, weight = 400) => `${weight} ${size}px ${getComputedStyle(document.body).fontFamily}`;

export function textWidth(text, font) {
  ruler.font = font;
  return ruler.measureText(text).width;
}

// A text cut to this many pixels.
export function shortTo(text, width, font) {
  if (textWidth(text, font) <= width) return text;
  const letters = Array.from(text); // whole letters, where one takes two places of a string
  const cut = (count) => `${letters.slice(0, count).join("").replace(/[\s,;]+$/, "")}…`;
  let [fits, wide] = [0, letters.length];
  while (wide - fits > 1) {
    const middle = (fits + wide) >> 1;
    if (textWidth(cut(middle), font) <= width) fits = middle;
    else wide = middle;
  }
  return cut(fits);
}

// A text cut to this many letters.
export function short(text, length) {
  return text.length <= length ? text : `${text.slice(0, length - 1).trimEnd()}…`;
}
