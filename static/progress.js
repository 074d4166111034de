// Keeps the progress page up to date: asks for progress.json and writes text and attributes.
// No element is replaced while copies go out, so that focus and selection survive. What it writes
// comes ready from the server, and so does the time after which to ask again: seldom where nothing is
// new or nobody looks, never where nothing more comes. The list of readers, the versions and what
// happened are read again when a scheduled issue begins, when a version is added or has a new state,
// and at the end; the list says meanwhile that it is older than the numbers.
const page = document.querySelector("[data-live]");
const clock = page.querySelector("[data-clock]");
const announced = page.querySelector("[role=status]");
const unreached = page.querySelector("[data-unreached]");
const name = Array.from(crypto.getRandomValues(new Uint8Array(8)), (n) => n.toString(16)).join("");
const LONGEST_S = 60;
const endOfHold = (seconds) => (seconds > 0 ? performance.now() + seconds * 1000 : 0);
let heldUntil = endOfHold(Number(clock.dataset.clock));
let tag = "";
let same = 0; // readings in a row that told nothing new
let failures = 0;
let timer = 0;
let looking = false;
let started = page.dataset.started === "true";
const counts = () => Array.from(page.querySelectorAll(".ledger .num"), (cell) => cell.textContent).join();
let listed = counts(); // as they were when the list was read

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function setAttribute(element, attribute, value) {
  if (element.getAttribute(attribute) !== value) element.setAttribute(attribute, value);
}

function draw(bar, parts, label) {
  for (const part of parts) {
    const rect = bar.querySelector(`[data-part=${part.outcome}]`);
    setAttribute(rect, "x", part.x);
    setAttribute(rect, "width", part.width);
  }
  setAttribute(bar, "aria-label", label);
}

// Returns whether a row is missing, or shows the glyph of an earlier state.
function showVersions(versions) {
  let isOld = false;
  // A process of the previous release sends none.
  for (const version of versions ?? []) {
    const row = page.querySelector(`[data-version="${version.version}"]`);
    const state = row?.querySelector("[data-state]");
    isOld ||= state?.textContent !== version.state;
    if (!row) continue;
    setText(state, version.state);
    setText(row.querySelector("[data-sent]"), version.sent);
    const bar = row.querySelector("svg.bar");
    if (bar) draw(bar, version.bar, version.label);
  }
  return isOld;
}

function show(reading) {
  for (const element of page.querySelectorAll("[data-text]")) {
    setText(element, reading.text[element.dataset.text]);
  }
  draw(page.querySelector("svg.bar:not(.thin)"), reading.bar, reading.label);
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
  heldUntil = endOfHold(reading.held_s);
  const older = counts() !== listed;
  page.querySelector("[data-older]").hidden = !older;
  const begins = reading.started && !started;
  started = reading.started;
  const past = { left: reading.at_rest || !reading.zero.includes("sent"), at_rest: reading.at_rest };
  for (const note of page.querySelectorAll("[data-passing]")) note.hidden = past[note.dataset.passing];
  const hasOldRow = showVersions(reading.versions);
  if (begins || hasOldRow || (reading.at_rest && older)) readListAgain(counts());
}

// The list and the history as they are now, unless somebody is at work in them.
async function readListAgain(asOf) {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
  if (!answer.ok || answer.redirected) return;
  const there = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of page.querySelectorAll("[data-read-again]")) {
    const fresh = there.querySelector(`[data-read-again][aria-labelledby=${part.getAttribute("aria-labelledby")}]`);
    const isUsed = part.contains(document.activeElement) || getSelection().containsNode(part, true) ||
      Array.from(part.querySelectorAll("input")).some((field) => field.value !== field.defaultValue);
    if (!fresh || isUsed) continue;
    part.hidden = fresh.hidden;
    part.replaceChildren(...document.adoptNode(fresh).childNodes);
    if (part.id === "list") listed = asOf;
  }
}

function now() {
  const timeZone = page.dataset.zone;
  try {
    return new Date().toLocaleTimeString("en-GB", { timeZone });
  } catch {
    return new Date().toLocaleTimeString("en-GB"); // a zone that this browser does not know
  }
}

function said(why) {
  if (!unreached.textContent) setText(unreached, ` ${why} since ${now()}.`);
}

function again(seconds) {
  // Not all of them at once, where many look at the same issue.
  timer = setTimeout(look, seconds * 1000 * (0.9 + Math.random() / 5));
}

async function look() {
  if (looking) return;
  looking = true;
  clearTimeout(timer);
  const address = new URL(page.dataset.live, location.href);
  address.searchParams.set("page", name);
  address.searchParams.set("same", same);
  if (document.hidden) address.searchParams.set("hidden", "1");
  const headers = { Accept: "application/json", ...(tag && { "If-None-Match": tag }) };
  try {
    const answer = await fetch(address, { headers, cache: "no-store" });
    // Signed out meanwhile: the next click leads to the login page.
    if (answer.redirected) return said("You are signed out, so this stands still");
    if (answer.status !== 304 && !answer.ok) throw new Error(answer.statusText);
    same = answer.status === 304 ? same + 1 : 0;
    tag = answer.headers.get("ETag") ?? "";
    if (answer.ok) show((await answer.json()).page);
    setText(page.querySelector("[data-text=updated]"), answer.headers.get("Homing-Updated"));
    setText(unreached, "");
    failures = 0;
    const seconds = Number(answer.headers.get("Homing-Ask-Again"));
    if (seconds > 0) again(seconds); // “never” is no number
  } catch {
    said("The site has not answered");
    again(Math.min(LONGEST_S, 2 * 2 ** failures++));
  } finally {
    looking = false;
  }
}

function tick() {
  if (!heldUntil) return;
  const left = Math.max(0, Math.ceil((heldUntil - performance.now()) / 1000));
  setText(clock, `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`);
  if (left === 5) setText(announced, `${announced.dataset.held} 5 seconds left.`);
  if (!left) heldUntil = 0;
}

// Whoever comes back to the page sees what is so, also where nothing more was to come.
document.addEventListener("visibilitychange", () => document.hidden || look());
addEventListener("pageshow", (event) => event.persisted && look());
addEventListener("online", look);
setInterval(tick, 1000);
if (Number(page.dataset.ask) > 0) again(Number(page.dataset.ask));
