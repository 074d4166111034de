// Keep an open page up to date with htmx. The server sends the changes and the time of the next poll
// (publishing/progress/live_page.py). htmx has no attribute for the tasks of this script: poll when the page
// becomes visible, report failures, keep the focus, and count down a hold.
const page = document.getElementById("live");
const LONGEST_S = 60;
let failures = 0;
let focused = null;
let heldUntil = 0;

const look = () => htmx.trigger("#poll", "look");

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function retry({ detail }) {
  const unreached = document.getElementById("unreached");
  if (unreached) setText(unreached, unreached.dataset[detail.xhr.status === 401 ? "signedOut" : "noAnswer"]);
  setTimeout(look, Math.min(LONGEST_S, 2 * 2 ** failures++) * 1000);
}

function isUsed(part) {
  const isTyped = (field) => field.type !== "hidden" && field.value !== field.defaultValue;
  return (
    part.contains(document.activeElement) ||
    getSelection().containsNode(part, true) ||
    Array.from(part.querySelectorAll("input")).some(isTyped)
  );
}

function startClock() {
  const clock = page.querySelector("[data-clock]");
  const seconds = Number(clock?.dataset.clock ?? 0);
  heldUntil = seconds > 0 ? performance.now() + seconds * 1000 : 0;
}

function tick() {
  if (!heldUntil) return;
  const left = Math.max(0, Math.ceil((heldUntil - performance.now()) / 1000));
  const state = document.getElementById("state");
  const clock = page.querySelector("[data-clock]");
  setText(clock, `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`);
  if (left === 5) setText(state, clock.dataset.soon);
  if (!left) heldUntil = 0;
}

page.addEventListener("htmx:configRequest", ({ detail }) => {
  if (document.hidden) detail.parameters.hidden = "1";
});
page.addEventListener("htmx:beforeSwap", () => (failures = 0));
page.addEventListener("htmx:oobBeforeSwap", ({ detail }) => {
  focused = document.activeElement;
  if (!["list", "history"].includes(detail.target.id) || !isUsed(detail.target)) return;
  detail.shouldSwap = false;
  document.getElementById("older").hidden = false;
});
page.addEventListener("htmx:oobAfterSwap", () => {
  // If the focused element was removed, focus the heading. Otherwise the browser would start at the
  // top.
  if (focused && !focused.isConnected) document.querySelector("h1").focus();
  focused = document.activeElement;
});
page.addEventListener("htmx:afterSettle", startClock);
for (const failure of ["htmx:responseError", "htmx:sendError", "htmx:timeout"]) page.addEventListener(failure, retry);
document.addEventListener("visibilitychange", () => document.hidden || look());
addEventListener("pageshow", (event) => event.persisted && look());
addEventListener("online", look);
startClock();
setInterval(tick, 1000);
