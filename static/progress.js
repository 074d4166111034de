// Keeps the progress page up to date: asks for progress.json and writes text and attributes.
// No element is ever replaced, so that focus and selection survive. What it writes comes ready from
// the server; the page would show the same if it were loaded again.
const EVERY_MS = 2000;
const page = document.querySelector("[data-live]");
const clock = page.querySelector("[data-clock]");
let heldS = Number(clock.dataset.clock);

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function setAttribute(element, name, value) {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

function show(reading) {
  for (const element of page.querySelectorAll("[data-text]")) {
    setText(element, reading.text[element.dataset.text]);
  }
  for (const part of reading.bar) {
    const rect = page.querySelector(`[data-part=${part.outcome}]`);
    setAttribute(rect, "x", part.x);
    setAttribute(rect, "width", part.width);
  }
  setAttribute(page.querySelector("svg.bar"), "aria-label", reading.label);
  for (const row of page.querySelectorAll("[data-row]")) {
    row.classList.toggle("zero", reading.zero.includes(row.dataset.row));
  }
  for (const element of page.querySelectorAll("[data-shown]")) {
    const goes = !reading.shown.includes(element.dataset.shown);
    // Who stood on it is led to the heading, not back to the top of the document.
    if (goes && element.contains(document.activeElement)) page.querySelector("h1").focus();
    element.hidden = goes;
  }
  const glyph = page.querySelector("[data-glyph]");
  setAttribute(glyph, "class", `glyph ${reading.tone}`);
  setAttribute(glyph.querySelector("use"), "href", `#${reading.glyph}`);
  document.title = document.title.replace(/^[^:]*/, reading.text.state);
  heldS = reading.held_s;
}

async function look() {
  try {
    const answer = await fetch(page.dataset.live, { headers: { Accept: "application/json" } });
    if (answer.redirected) return; // signed out meanwhile: the next click leads to the login page
    if (answer.ok) {
      const { page: reading } = await answer.json();
      show(reading);
      if (reading.at_rest) return;
    }
  } catch {
    // Not to be reached just now. The page says when it was last updated.
  }
  setTimeout(look, EVERY_MS);
}

function tick() {
  if (heldS > 0) {
    heldS -= 1;
    setText(clock, `${Math.floor(heldS / 60)}:${String(heldS % 60).padStart(2, "0")}`);
  }
}

setTimeout(look, EVERY_MS);
setInterval(tick, 1000);
