// Keeps what is going out up to date on the overview: writes text and attributes, replaces nothing.
// It asks every few seconds while something is going out, less and less where nothing is new, and
// seldom where nobody looks. Where there is more to say than text can, the page says so.
const page = document.querySelector("[data-overview]");
const GOING_S = 4;
const IDLE_S = 30;
const LONGEST_S = 60;
let tag = "";
let same = 0; // readings in a row that told nothing new
let timer = 0;

function setAttribute(element, name, value) {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

function show(element, reading) {
  for (const place of element.querySelectorAll("[data-text]")) {
    const text = reading.text[place.dataset.text];
    if (place.textContent !== text) place.textContent = text;
  }
  for (const part of reading.bar) {
    const rect = element.querySelector(`[data-part=${part.outcome}]`);
    setAttribute(rect, "x", part.x);
    setAttribute(rect, "width", part.width);
  }
  setAttribute(element.querySelector("svg.bar"), "aria-label", reading.label);
  const state = element.querySelector("[data-state]");
  setAttribute(state, "class", `state ${reading.tone}`);
  setAttribute(state.querySelector("use"), "href", `#${reading.glyph}`);
}

function again() {
  const going = page.querySelector("[data-going]");
  const pause = Math.min(LONGEST_S, (going ? GOING_S : IDLE_S) * 1.5 ** Math.min(same, 10));
  timer = setTimeout(look, (document.hidden ? LONGEST_S : pause) * 1000);
}

async function look() {
  clearTimeout(timer);
  try {
    const headers = { Accept: "application/json", ...(tag && { "If-None-Match": tag }) };
    const answer = await fetch(page.dataset.overview, { headers, cache: "no-store" });
    if (answer.redirected) return; // signed out meanwhile: the next click leads to the login page
    same = answer.status === 304 ? same + 1 : 0;
    const updated = page.querySelector("[data-updated]");
    if (updated) updated.textContent = answer.headers.get("Homing-Updated") ?? updated.textContent;
    if (answer.ok) {
      tag = answer.headers.get("ETag") ?? "";
      const reading = await answer.json();
      for (const element of page.querySelectorAll("[data-going]")) {
        const one = reading.going[element.dataset.going];
        if (one) show(element, one);
      }
      page.querySelector("[data-news]").hidden = reading.here === page.dataset.here;
    }
  } catch {
    same += 1; // not to be reached just now; the page says when it was last updated
  }
  again();
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) look();
});
again();
