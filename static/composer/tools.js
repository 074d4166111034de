// The tools of the letter: they write into the editor, or Markdown and HTML into the textarea. The page's
// template has the texts that the tools insert. The author can undo each insertion.
import { ask } from "./letter/dialogs.js";
import { LetterEditor, markdownOf } from "./letter/editor.js";
import { TOOLS, inText } from "./letter/commands.js";
import { imagesOf, upload } from "./letter/images.js";
import { showPlace } from "./preview.js";
import { textOf } from "./texts.js";

// Texts with more lines are inserted without undo. The browser's command for undo takes minutes for
// 4,000 lines, because its time grows with the square of the number of lines.
const MOST_LINES = 500;
const KEYS = { b: "strong", i: "em", k: "link" };
// The author's choice between the letter and its Markdown, in this browser.
const CHOICE = "homing-letter-shown";

// A browser's storage may be full or disabled.
function inBrowser(work) {
  try {
    return work(localStorage);
  } catch {
    return null;
  }
}

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

function around(field, { before, after = "", instead = "" }) {
  const words = field.value.slice(field.selectionStart, field.selectionEnd) || instead;
  const from = field.selectionStart + before.length;
  insert(field, before + words + after);
  field.setSelectionRange(from, from + words.length);
}

function block(field, text) {
  const before = field.value.slice(0, field.selectionStart);
  const gap = before === "" || before.endsWith("\n\n") ? "" : before.endsWith("\n") ? "\n" : "\n\n";
  insert(field, `${gap}${text}\n\n`);
}

// Connect the tools. Returns what the other scripts need of the letter.
export function tools(form, refused) {
  const { id_letter: letter, format } = form.elements;
  const row = form.querySelector("[data-tools]");
  const panel = form.querySelector("[data-letter]");
  const file = document.querySelector("[data-image-file]");
  const buttons = () => [...row.querySelectorAll("button[type=button]")];
  const pattern = new RegExp(`^(?:${form.dataset.video})$`, "i");
  const isVideo = (text) => pattern.test(text);
  let editor = null;

  const isShown = () => editor !== null && panel.dataset.mode === "letter";

  function use(button) {
    const { tool, merge, insert: text, before, words, opens } = button.dataset;
    if (button.dataset.mode) return choose(button.dataset.mode);
    if (button.closest(".menu") && !button.closest("[data-find-panel]")) button.closest(".menu").open = false;
    if (tool === "image") return file.click();
    if (opens) {
      const opened = row.querySelector(`[data-menu=${opens}]`);
      opened.open = true;
      return opened.querySelector("input").focus();
    }
    if (!isShown()) {
      if (tool === "undo" || tool === "redo") {
        letter.focus();
        document.execCommand(tool);
      } else if (merge) insert(letter, merge);
      else if (text) block(letter, text);
      else if (before) around(letter, button.dataset);
    } else if (merge) editor.insertField(merge);
    else if (text) editor.insertMarkdown(text);
    else if (tool === "link") editor.editLink();
    else if (tool === "button") editor.editLink({ button: true, words });
    else if (tool in TOOLS) editor.run(tool);
  }

  // The whole row is one stop of Tab. The arrow keys go from tool to tool.
  const stops = [...row.querySelectorAll("button, summary")].filter((one) => !one.closest(".menu > div"));
  const stop = (chosen) => stops.forEach((one) => (one.tabIndex = one === chosen ? 0 : -1));
  stop(stops[0]);

  const named = (name) => row.querySelector(`[data-tool=${name}]`);

  // The buttons show what is on at the caret.
  function showState(state) {
    for (const button of row.querySelectorAll("[data-tool]")) {
      const { isOn, isShown: isUseful } = TOOLS[button.dataset.tool] ?? {};
      if (isOn) button.ariaPressed = String(isOn(state));
      if (isUseful) button.closest("[data-in-table]").hidden = !isUseful(state);
    }
    if (!stops.some((one) => one.tabIndex === 0 && one.checkVisibility())) stop(stops[0]);
    const { $from } = state.selection;
    showPlace($from.parent.textBetween(0, $from.parentOffset), $from.pos / state.doc.content.size);
  }

  function begin() {
    const place = panel.querySelector("[data-editor]");
    editor = new LetterEditor(place, {
      form,
      refused,
      isVideo,
      words: { placeholder: textOf("begin"), unused: textOf("unused_note") },
      toTools: () => stops.find((one) => one.tabIndex === 0).focus(),
      list: panel.querySelector("[data-slash-list]"),
      choices: () => [...row.querySelectorAll("[data-slash]")].map((button) => ({
        label: button.getAttribute("aria-label") ?? button.textContent.trim(), run: () => use(button),
      })),
      changed: (markdown) => {
        letter.value = markdown;
        letter.dispatchEvent(new Event("input", { bubbles: true }));
      },
    });
    editor.moved = showState;
    showState(inText(editor.view.state));
  }

  // Show the letter as it will look, or its Markdown.
  const modes = [...row.querySelectorAll("button[data-mode]")];
  function show(mode) {
    if (mode === "letter") {
      if (editor === null) begin();
      else editor.show(letter.value);
    }
    panel.dataset.mode = mode;
    for (const button of modes) button.ariaPressed = String(button.dataset.mode === mode);
    if (isShown()) showState(inText(editor.view.state));
    else for (const button of row.querySelectorAll("[data-tool][aria-pressed]")) button.ariaPressed = "false";
  }
  function choose(mode) {
    const at = isShown() ? editor.caret : letter.selectionStart;
    show(mode);
    if (isShown()) editor.caret = at;
    else reveal(letter, at, at);
    if (isShown()) editor.view.focus();
    inBrowser((storage) => storage.setItem(CHOICE, mode));
  }
  if (modes.length) show(inBrowser((storage) => storage.getItem(CHOICE)) === "markdown" ? "markdown" : "letter");

  row.addEventListener("focusin", ({ target }) => stops.includes(target) && stop(target));
  row.addEventListener("keydown", ({ key, target }) => {
    const shown = stops.filter((one) => one.checkVisibility());
    const next = shown[shown.indexOf(target) + ({ ArrowRight: 1, ArrowLeft: -1 }[key] ?? NaN)];
    if (stops.includes(target)) next?.focus();
  });

  row.addEventListener("keydown", ({ key, target }) => {
    if (key === "Escape" && isShown() && stops.includes(target) && !target.closest(".menu[open]")) editor.view.focus();
  });

  // A menu closes when the author continues elsewhere. The panel to find words stays.
  const menus = [...row.querySelectorAll(".menu[name]")];
  document.addEventListener("pointerdown", ({ target }) => {
    for (const menu of menus) if (!menu.contains(target)) menu.open = false;
  });
  row.addEventListener("keydown", ({ key, target }) => {
    const menu = key === "Escape" && target.closest(".menu[open]");
    if (!menu) return;
    menu.open = false;
    // After a search, the author writes on at the match.
    if (isShown() && menu.matches("[data-find-panel]")) editor.view.focus();
    else menu.querySelector("summary").focus();
  });
  row.addEventListener("mousedown", (event) => {
    // A pressed tool leaves the focus, and so the selection, in the letter.
    if (event.target.closest("button[type=button]") && !event.target.closest("input")) event.preventDefault();
  });
  form.addEventListener("click", ({ target }) => {
    const button = target.closest("button[type=button]");
    if (button && buttons().includes(button)) use(button);
  });

  async function intoTextarea(image) {
    const facts = await upload(form, image, refused);
    // The browser puts the caret at the start of the field after a dialog.
    const { selectionStart: from, selectionEnd: to } = letter;
    const given = facts && await ask("alt", { src: facts.address });
    if (!given) return;
    const inHtml = given.alt.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
    const written = format.value === "html"
      ? facts.html.replace('alt=""', () => `alt="${inHtml}"`)
      : facts.markdown.replace("![]", () => `![${given.alt.replace(/[[\]\\]/g, "\\$&")}]`);
    insert(letter, written, from, to);
  }
  file.addEventListener("change", () => {
    const images = imagesOf(file);
    if (images.length && isShown()) editor.insertImages(images);
    else if (images.length) intoTextarea(images[0]);
    file.value = "";
  });
  for (const name of ["paste", "drop"]) {
    letter.addEventListener(name, (event) => {
      const data = event.clipboardData ?? event.dataTransfer;
      const [image] = imagesOf(data);
      // A code editor copies colours, but no formats that a letter should have.
      const isRich = format.value !== "html" && name === "paste" && !data.types.includes("vscode-editor-data");
      const markdown = !image && isRich && markdownOf(data.getData("text/html"), isVideo);
      if (!image && (!markdown || markdown === data.getData("text/plain").trim())) return;
      event.preventDefault();
      if (image) intoTextarea(image);
      else insert(letter, markdown);
    });
  }
  letter.addEventListener("keydown", (event) => {
    const tool = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && named(KEYS[event.key]);
    if (!tool || !tool.dataset.before) return;
    event.preventDefault();
    around(letter, tool.dataset);
  });

  return {
    get editor() {
      return isShown() ? editor : null;
    },
    // Show the textarea's present text, after another script wrote it.
    show: () => isShown() && editor.show(letter.value),
    focus: () => (isShown() ? editor.view : letter).focus(),
    reveal(words, before) {
      if (isShown() && editor.reveal(words, before)) return;
      if (isShown()) show("markdown");
      let at = letter.value.indexOf(words);
      // Skip earlier occurrences in code, which have the same text.
      for (let left = before; left > 0; left--) at = letter.value.indexOf(words, at + 1);
      if (at >= 0) reveal(letter, at, at + words.length);
    },
  };
}
