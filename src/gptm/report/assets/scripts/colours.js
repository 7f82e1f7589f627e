// Colours come from the style sheet, so that dark mode and print have their own.

import { placeOfTopic } from "./data.js";

export const N_COLOURS = 8;

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export const seriesColour = (place) => (place < N_COLOURS ? `var(--c${place})` : "var(--quiet)");

// What the style sheet calls the colour of a topic: small topics share one.
export const topicColour = (topic) => (placeOfTopic[topic] < N_COLOURS ? placeOfTopic[topic] : "quiet");
