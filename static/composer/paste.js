// Turns rich text from Word, Google Docs or a web page into Markdown when it is pasted.
import { tables } from "../vendor/turndown-plugin-gfm.es.js";
import TurndownService from "../vendor/turndown.es.js";
import { textOf } from "./texts.js";
import { insert } from "./tools.js";

const LONGEST = 2_000_000;
const CODE = "code,kbd,pre,samp,tt";
const IS_RICH = `${CODE},a[href],b,blockquote,del,em,h1,h2,h3,h4,h5,h6,hr,i,iframe,li,s,strong,table,`
  + "[data-style*=mso-list],span[data-style*=font-weight],span[data-style*=italic]";
// Replaces a backslash in code, so that the backslash does not count as an escape.
const IN_CODE = "\ue000";
const ADDRESS = /^(?:https?:\/\/|mailto:)\S+$/i;

const service = new TurndownService({ headingStyle: "atx", hr: "---", bulletListMarker: "-", codeBlockStyle: "fenced",
  br: "\\", emDelimiter: "*" });
service.use(tables);
service.remove(["head", "x-style", "script", "noscript", "object", "svg"]);
service.addRule("deleted", { filter: ["del", "s", "strike"], replacement: (words) => `~~${words}~~` });
// A picture that is loaded from another site would show that site who reads the letter.
service.addRule("picture", { filter: "img", replacement: () => "" });

const STYLES = {
  strong: /font-weight:\s*(?:bold|[6-9]00)/,
  em: /font-style:\s*italic/,
  s: /text-decoration[^;]*line-through/,
};

function rename(element, name) {
  const other = element.ownerDocument.createElement(name);
  other.append(...element.childNodes);
  element.replaceWith(other);
  return other;
}

const unwrap = (element) => element.replaceWith(...element.childNodes);

// Google Docs and Word write bold and italic as styles, and wrap everything in a <b> that is not bold.
function readStyles(body) {
  for (const element of body.querySelectorAll("b[data-style],strong[data-style]")) {
    if (/font-weight:\s*(?:normal|400)/.test(element.dataset.style)) unwrap(element);
  }
  for (const element of body.querySelectorAll("span[data-style]")) {
    for (const [name, pattern] of Object.entries(STYLES)) {
      if (!pattern.test(element.dataset.style)) continue;
      const inner = element.ownerDocument.createElement(name);
      inner.append(...element.childNodes);
      element.append(inner);
    }
  }
}

// Word writes list items as paragraphs that begin with their mark.
function readWordLists(body) {
  for (const item of body.querySelectorAll("p[data-style*=mso-list]")) {
    const mark = item.querySelector("[data-style*=Ignore]");
    const level = Number(/level(\d)/.exec(item.dataset.style)?.[1] ?? 1);
    const kind = /^\s*\w+[.)]/.test(mark?.textContent ?? "") ? "ol" : "ul";
    mark?.remove();
    let list = item.previousElementSibling;
    if (!list?.matches("[data-word]")) {
      list = item.ownerDocument.createElement(kind);
      list.dataset.word = "";
      item.before(list);
    }
    for (let depth = 1; depth < level && list.lastElementChild; depth++) {
      const parent = list.lastElementChild;
      list = parent.querySelector(":scope > ul, :scope > ol") ??
        parent.appendChild(item.ownerDocument.createElement(kind));
    }
    list.append(rename(item, "li"));
  }
}

function readLinks(body) {
  for (const frame of body.querySelectorAll("iframe")) {
    const link = frame.ownerDocument.createElement("a");
    link.href = frame.src;
    link.textContent = textOf("video");
    frame.replaceWith(link);
  }
  for (const link of body.querySelectorAll("a")) {
    const target = link.getAttribute("href") ?? "";
    const wrapped = /^https:\/\/www\.google\.com\/url\?(?:.*&)?q=([^&]+)/.exec(target);
    if (wrapped) link.href = decodeURIComponent(wrapped[1]);
    else if (!ADDRESS.test(target)) unwrap(link);
  }
}

function readTables(body) {
  for (const table of body.querySelectorAll("table")) {
    for (const cell of table.rows[0]?.querySelectorAll("td") ?? []) rename(cell, "th");
    for (const part of table.querySelectorAll("td > *, th > *, caption, colgroup")) {
      if (part.matches("caption,colgroup")) part.remove();
      else if (part.matches("p,div")) part.replaceWith(...part.childNodes, " ");
    }
    if (!table.rows.length) table.remove();
  }
}

// Turndown recognises code only in <code>, and a block of code only in <pre><code>.
function readCode(body) {
  for (const line of body.querySelectorAll("pre :is(br,div,p,tr)")) line.after("\n");
  for (const element of body.querySelectorAll(CODE)) {
    if (!body.contains(element)) continue;
    const code = element.ownerDocument.createElement("code");
    code.className = element.querySelector("code")?.className ?? element.className;
    code.textContent = element.textContent.replaceAll("\\", IN_CODE);
    if (element.matches("pre")) element.replaceChildren(code);
    else element.replaceWith(code);
  }
}

function toMarkdown(html) {
  // The page's policy refuses styles even in a document that is never shown, so they get other names.
  const unstyled = html.replace(/(\s)(style\s*=)/gi, "$1data-$2").replace(/<(\/?)style\b/gi, "<$1x-style");
  const { body } = new DOMParser().parseFromString(unstyled, "text/html");
  // Some code editors copy all lines in one <pre>.
  const isEditor = body.children.length === 1 && body.firstElementChild.matches("pre:not(:has(code))");
  if (isEditor || !body.querySelector(IS_RICH)) return "";
  readCode(body);
  readStyles(body);
  readWordLists(body);
  readLinks(body);
  readTables(body);
  // Google Docs writes empty lines between paragraphs.
  for (const line of body.querySelectorAll(":scope > br")) line.remove();
  const markdown = service.turndown(body).replace(/(\s)data-(style\s*=)/gi, "$1$2");
  // Merge fields must not be escaped. Turndown has doubled the backslashes before them, so halve
  // these.
  return markdown.replace(/(\\*)(\{\{[^{}]*\}\})/g, (_, before, field) =>
    before.slice(before.length / 2) + field.replaceAll("\\", ""))
    .replaceAll(IN_CODE, "\\").replace(/[ \t]+$/gm, "");
}

export function pasteAsMarkdown(form) {
  const field = form.elements.id_letter;
  field.addEventListener("paste", (event) => {
    const data = event.clipboardData;
    const html = data?.getData("text/html") ?? "";
    // A code editor copies colours, but no formatting that a letter should have.
    const isCode = data?.types.includes("vscode-editor-data");
    if (event.defaultPrevented || form.elements.format.value === "html" || isCode || html.length > LONGEST) return;
    const markdown = toMarkdown(html);
    if (!markdown || markdown === data.getData("text/plain").trim()) return;
    event.preventDefault();
    insert(field, markdown);
  });
}
