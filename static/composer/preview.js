// Reloads the preview after every save. A new frame replaces the old frame, at the same scroll
// position or where the author writes.
const MARKUP = /\{\{.*?\}\}|\]\([^)]*\)|<[^>]*>|\b(?:https?:|mailto:)\S+/g;
const ENOUGH = 8; // characters that occur hardly anywhere else
const MOST = 60;
let place = null;

// Scroll the preview to the place where the author writes, unless this place is already visible.
// `text` is the text of the line or block up to the cursor. `fraction` says how far down the letter the cursor is, from
// 0 to 1: if the preview has the text several times or never, the nearest place is shown. Without arguments, the last
// place is used.
export function showPlace(text, fraction) {
  if (text !== undefined) place = { text, fraction };
  const view = document.querySelector("[data-frames] iframe")?.contentWindow;
  if (!place || !view?.innerHeight || !view.document.body) return;
  const top = topOf(view.document);
  if (top === undefined || (top >= 0 && top < view.innerHeight - 48)) return;
  view.scrollBy(0, top - view.innerHeight / 3);
}

function topOf(page) {
  const nodes = [];
  let all = "";
  const walker = page.createTreeWalker(page.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    // A mail has its preview text as a hidden element.
    if (!node.data.trim() || !node.parentElement.offsetHeight) continue;
    nodes.push({ node, from: all.length });
    all += node.data;
  }
  if (!nodes.length) return undefined;
  const wanted = place.fraction * all.length;
  // Marks and fields look different in the preview, so search for the last words between them.
  const pieces = place.text.replace(MARKUP, "\n").split(/[^\p{L}\p{N}\s]+|\n/u).map((piece) => piece.trim());
  const words = pieces.findLast((piece) => piece.length >= ENOUGH) ?? pieces.findLast(Boolean) ?? "";
  const pattern = new RegExp(words.slice(-MOST).trim().replace(/\s+/g, "\\s+"), "gu");
  const found = words ? [...all.matchAll(pattern)].map(({ index, 0: { length } }) => index + length - 1) : [];
  const distance = (index) => Math.abs(index - wanted);
  const at = found.length ? found.reduce((one, other) => (distance(other) < distance(one) ? other : one)) : wanted;
  const { node, from } = nodes.findLast((one) => one.from <= at);
  const range = page.createRange();
  range.setStart(node, Math.min(Math.floor(at) - from, node.length - 1));
  range.setEnd(node, node.length);
  return range.getClientRects()[0]?.top;
}

export function previewOf(form) {
  const paper = form.querySelector("[data-paper]");
  const frames = form.querySelector("[data-frames]");
  const tabs = [...form.querySelectorAll("#preview [name=then]")];
  const { id_letter: letter } = form.elements;
  let shown = tabs.find((tab) => tab.ariaPressed === "true").value;

  const part = () => (shown === "text" ? "text" : "html");

  function show(name) {
    const before = part();
    shown = name;
    for (const tab of tabs) tab.ariaPressed = String(tab.value === name);
    paper.className = `paper ${name}`;
    if (part() !== before) load();
  }

  function say(facts) {
    for (const element of form.querySelectorAll("[data-stat]")) {
      const { stat } = element.dataset;
      if (element.textContent !== facts[stat]) element.textContent = facts[stat];
      if (stat === "size") element.dataset.tone = facts.size_tone;
    }
  }

  function load() {
    // Before the first save of a next version, show the text of the previous version.
    const { id, preview } = form.dataset;
    const address = id ? `${form.getAttribute("action")}preview/?part=` : preview;
    if (!address) return;
    const [current, ...late] = frames.querySelectorAll("iframe");
    for (const frame of late) frame.remove();
    const next = document.createElement("iframe");
    next.title = frames.dataset.title;
    next.setAttribute("sandbox", "allow-same-origin allow-popups allow-popups-to-escape-sandbox");
    next.src = `${address}${part()}`;
    next.addEventListener("load", () => {
      next.contentWindow.scrollTo(0, current?.contentWindow.scrollY ?? 0);
      frames.querySelector("[data-nothing-yet]")?.remove();
      current?.remove();
      showPlace();
    });
    frames.append(next);
  }

  // Follow the cursor in the field. An empty beginning of a line belongs to the text before the line.
  document.addEventListener("selectionchange", () => {
    if (document.activeElement !== letter) return;
    const { value, selectionStart: at } = letter;
    const text = value.slice(0, at).trimEnd();
    showPlace(text.slice(text.lastIndexOf("\n") + 1), at / Math.max(1, value.length));
  });
  for (const tab of tabs) {
    tab.addEventListener("click", (event) => {
      event.preventDefault();
      show(tab.value);
    });
  }
  return { say, load };
}
