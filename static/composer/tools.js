// The tools above the letter. The browser can undo what they insert.
import { textOf } from "./texts.js";

export function insert(field, text, from = field.selectionStart, to = field.selectionEnd) {
  field.focus();
  field.setSelectionRange(from, to);
  // The browser can undo only this deprecated command.
  if (!document.execCommand("insertText", false, text)) {
    field.setRangeText(text, from, to, "end");
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

function around(field, before, after, instead, words) {
  const { selectionStart: from, selectionEnd: to, value } = field;
  const inside = (words ?? value.slice(from, to)) || instead;
  insert(field, before + inside + after, from, to);
  field.setSelectionRange(from + before.length, from + before.length + inside.length);
}

const ADDRESS = /^(?:https?:\/\/|mailto:)\S+$/i;

// A link from the selected words, or from a selected address. A selection that has a link stays as it is.
function link(field, write, address = "https://") {
  const words = field.value.slice(field.selectionStart, field.selectionEnd).trim();
  if (/\]\(|<a\b/i.test(words)) return;
  if (ADDRESS.test(words)) around(field, ...write(words), textOf("link"), "");
  else around(field, ...write(address), textOf("link"));
}

function atLines(field, change, before = "", after = "") {
  const { selectionStart, selectionEnd, value } = field;
  const from = value.lastIndexOf("\n", selectionStart - 1) + 1;
  const end = value.indexOf("\n", selectionEnd);
  const to = end < 0 ? value.length : end;
  insert(field, before + value.slice(from, to).split("\n").map(change).join("\n") + after, from, to);
}

function block(field, text) {
  const before = field.value.slice(0, field.selectionStart);
  const gap = before === "" || before.endsWith("\n\n") ? "" : before.endsWith("\n") ? "\n" : "\n\n";
  insert(field, `${gap}${text}\n\n`);
}

const sampleTable = () => ["table_day", "table_seen", "table_first", "table_second"].map((name) => textOf(name));

const MARKDOWN = {
  heading: (field) => atLines(field, (line) => `## ${line.replace(/^#+ */, "") || textOf("heading")}`),
  bold: (field) => around(field, "**", "**", textOf("bold")),
  italic: (field) => around(field, "*", "*", textOf("italic")),
  link: (field, address) => link(field, (to) => ["[", `](${to})`], address),
  quote: (field) => atLines(field, (line) => `> ${line}`),
  bullets: (field) => atLines(field, (line) => `- ${line}`),
  numbers: (field) => atLines(field, (line, at) => `${at + 1}. ${line}`),
  divider: (field) => block(field, "---"),
  button: (field) => around(field, "[", "](https://){.button}", textOf("button")),
  table: (field) => {
    const [day, seen, first, second] = sampleTable();
    block(field, `| ${day} | ${seen} |\n| --- | ---: |\n| ${first} | 14 |\n| ${second} | 9 |`);
  },
};
const HTML = {
  heading: (field) => around(field, "<h2>", "</h2>", textOf("heading")),
  bold: (field) => around(field, "<strong>", "</strong>", textOf("bold")),
  italic: (field) => around(field, "<em>", "</em>", textOf("italic")),
  link: (field, address) => link(field, (to) => [`<a href="${to.replaceAll('"', "%22")}">`, "</a>"], address),
  quote: (field) => around(field, "<blockquote>", "</blockquote>", textOf("quote")),
  bullets: (field) => atLines(field, (line) => `<li>${line}</li>`, "<ul>\n", "\n</ul>"),
  numbers: (field) => atLines(field, (line) => `<li>${line}</li>`, "<ol>\n", "\n</ol>"),
  divider: (field) => block(field, "<hr>"),
  button: (field) => around(field, '<p class="button"><a href="https://">', "</a></p>", textOf("button")),
  table: (field) => {
    const [day, seen, first] = sampleTable();
    const head = `<tr><th>${day}</th><th>${seen}</th></tr>`;
    block(field, `<table>\n${head}\n<tr><td>${first}</td><td>14</td></tr>\n</table>`);
  },
};
const KEYS = { b: "bold", i: "italic", k: "link" };

export function tools(form) {
  const letter = form.elements.letter;
  const use = (name, ...more) => (form.elements.format.value === "html" ? HTML : MARKDOWN)[name]?.(letter, ...more);
  for (const button of form.querySelectorAll("[data-tool]")) {
    button.addEventListener("click", () => use(button.dataset.tool));
  }
  for (const button of form.querySelectorAll("[data-merge]")) {
    button.addEventListener("click", () => insert(letter, button.dataset.merge));
  }
  letter.addEventListener("paste", (event) => {
    const address = event.clipboardData.getData("text/plain").trim();
    const words = letter.value.slice(letter.selectionStart, letter.selectionEnd).trim();
    // An address over an address, or over a link, replaces it.
    if (!words || !ADDRESS.test(address) || ADDRESS.test(words) || /\]\(|<a\b/i.test(words)) return;
    event.preventDefault();
    use("link", address);
  });
  letter.addEventListener("keydown", (event) => {
    const tool = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && KEYS[event.key];
    if (!tool) return;
    event.preventDefault();
    use(tool);
  });
  panels(form);
}

// Show one panel at a time: the one whose tab was pressed, or that a link points into.
function panels(form) {
  const tabs = form.querySelectorAll("[data-panel-of]");
  for (const tab of tabs) {
    tab.addEventListener("click", () => {
      for (const each of tabs) each.ariaPressed = String(each === tab);
      for (const panel of form.querySelectorAll("[data-panel]")) {
        panel.toggleAttribute("data-open", panel.dataset.panel === tab.dataset.panelOf);
      }
    });
  }
  const open = () => {
    const led = document.getElementById(location.hash.slice(1));
    const panel = led?.closest("[data-panel]");
    if (!panel) return;
    form.querySelector(`[data-panel-of=${panel.dataset.panel}]`).click();
    // The field, or the element that is shown instead of it.
    [led, ...panel.querySelectorAll("textarea")].find((field) => field.offsetParent)?.focus();
  };
  addEventListener("hashchange", open);
  open();
}
