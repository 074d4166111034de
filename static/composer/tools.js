// The tools above the letter. The page's template has the texts that the tools insert. The browser
// can undo each insertion.
const ADDRESS = /^(?:https?:\/\/|mailto:)\S+$/i;
// Texts with more lines are inserted without undo. The browser's command for undo takes minutes for
// 4,000 lines, because its time grows with the square of the number of lines.
const MOST_LINES = 500;
const KEYS = { b: "bold", i: "italic", k: "link" };

export function insert(field, text, from = field.selectionStart, to = field.selectionEnd) {
  field.focus();
  field.setSelectionRange(from, to);
  // The browser can undo only this deprecated command.
  const isShort = text.split("\n").length <= MOST_LINES;
  if (!isShort || !document.execCommand("insertText", false, text)) {
    field.setRangeText(text, from, to, "end");
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

// Select a part of the text, and scroll to it.
export function reveal(field, from, to) {
  field.focus();
  field.setSelectionRange(from, to);
  if (field.type !== "textarea") return;
  // A hidden copy of the field measures the height of the text before the part.
  const above = field.cloneNode();
  above.removeAttribute("name");
  above.value = field.value.slice(0, from);
  const width = `${field.offsetWidth}px`;
  Object.assign(above.style, { position: "absolute", visibility: "hidden", width, height: "0", minHeight: "0" });
  field.after(above);
  const top = above.scrollHeight;
  above.remove();
  // The field of a long letter is as high as the letter, so the page scrolls, not the field.
  field.scrollTop = top - field.clientHeight / 2;
  scrollBy(0, field.getBoundingClientRect().top + top - field.scrollTop - innerHeight / 2);
}

const selected = (field) => field.value.slice(field.selectionStart, field.selectionEnd);

function around(field, before, after, inside) {
  const from = field.selectionStart + before.length;
  insert(field, before + inside + after);
  field.setSelectionRange(from, from + inside.length);
}

// Make a link of the selected words, or of a selected address. A selection that contains a link is
// not changed.
function link(field, { before, after, instead }, address = "https://") {
  const words = selected(field).trim();
  if (/\]\(|<a\b/i.test(words)) return;
  const isAddress = ADDRESS.test(words);
  const to = (isAddress ? words : address).replaceAll('"', "%22");
  around(field, before.replace("{to}", () => to), after.replace("{to}", () => to), (!isAddress && words) || instead);
}

// Put `line` before each selected line, and its part after a “|” behind it. A 1 becomes the number of the line.
function atLines(field, { line, before = "", after = "", instead = "" }) {
  const { selectionStart, selectionEnd, value } = field;
  const from = value.lastIndexOf("\n", selectionStart - 1) + 1;
  const end = value.indexOf("\n", selectionEnd);
  const to = end < 0 ? value.length : end;
  const [start, close = ""] = line.split("|");
  const written = (text, at) => start.replace("1", at + 1) + (text.replace(/^#+ +/, "") || instead) + close;
  insert(field, before + value.slice(from, to).split("\n").map(written).join("\n") + after, from, to);
  const words = from + before.length + start.length;
  if (from === to) field.setSelectionRange(words, words + instead.length);
}

function block(field, text) {
  const before = field.value.slice(0, field.selectionStart);
  const gap = before === "" || before.endsWith("\n\n") ? "" : before.endsWith("\n") ? "\n" : "\n\n";
  insert(field, `${gap}${text}\n\n`);
}

function use(field, { tool, merge, insert: text, ...data }, address) {
  if (tool === "link") link(field, data, address);
  else if (merge) insert(field, merge);
  else if (text) block(field, text);
  else if (data.line) atLines(field, data);
  else if (data.before) around(field, data.before, data.after, selected(field) || data.instead);
}

export function tools(form) {
  const { id_letter: letter } = form.elements;
  const dataOf = (name) => form.querySelector(`[data-tool=${name}]`).dataset;
  form.addEventListener("click", ({ target }) => {
    const button = target.closest("button[type=button]");
    if (!button) return;
    use(letter, button.dataset);
    if (button.dataset.insert) button.closest("details")?.removeAttribute("open");
  });
  letter.addEventListener("paste", (event) => {
    const address = event.clipboardData.getData("text/plain").trim();
    const words = selected(letter).trim();
    // If an address is pasted over a selected address or link, it replaces the selection.
    if (!words || !ADDRESS.test(address) || ADDRESS.test(words) || /\]\(|<a\b/i.test(words)) return;
    event.preventDefault();
    use(letter, dataOf("link"), address);
  });
  letter.addEventListener("keydown", (event) => {
    const tool = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && KEYS[event.key];
    if (!tool) return;
    event.preventDefault();
    use(letter, dataOf(tool));
  });
}
