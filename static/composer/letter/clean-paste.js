// Cleans rich text from Word, Google Docs or a web page, so that it has only what a letter can show.
import { textOf } from "../texts.js";

const LONGEST = 2_000_000;
const BLOCKS = "p,div,ul,ol,li,blockquote,pre,hr,h1,h2,h3,h4,h5,h6,table,tbody,thead,tfoot";
const MOST_CELLS = 2000;
const MOST_SPANNED = 20;
const CODE = "code,kbd,pre,samp,tt";
const IS_RICH = `${CODE},a[href],b,blockquote,del,em,h1,h2,h3,h4,h5,h6,hr,i,iframe,li,s,strong,table,`
  + "p + p,div + div,[data-style*=mso-list],span[data-style*=font-weight],span[data-style*=italic]";
const ADDRESS = /^(?:https?:\/\/|mailto:)\S+$/i;
// Deeper HTML is not of a letter, and would take seconds.
const MOST_NESTED = 60;
// What a declaration of a style means.
const STYLES = {
  strong: /^\s*font-weight:\s*(?:bold|[6-9]00)/,
  em: /^\s*font-style:\s*italic/,
  s: /^\s*text-decoration\b.*line-through/,
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
    const declarations = element.dataset.style.split(";");
    for (const [name, pattern] of Object.entries(STYLES)) {
      if (!declarations.some((one) => pattern.test(one))) continue;
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
    if (!list?.matches("[data-word]") || (level === 1 && list.localName !== kind)) {
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
    let target = link.getAttribute("href") ?? "";
    // Google Docs leads every link through its own address.
    if (/^https:\/\/www\.google\.com\/url\?/.test(target)) {
      target = new URLSearchParams(target.slice(target.indexOf("?"))).get("q") ?? target;
    }
    if (ADDRESS.test(target)) link.setAttribute("href", target);
    else unwrap(link);
  }
}

// Markdown has no cells over several columns or rows, so they become one filled cell and empty ones.
function divideCells(table) {
  const make = (cell) => cell.cloneNode(false);
  for (const cell of table.querySelectorAll("[colspan]")) {
    const columns = Math.min(cell.colSpan, MOST_SPANNED);
    cell.removeAttribute("colspan");
    for (let left = columns; left > 1; left--) cell.after(make(cell));
  }
  for (const row of table.rows) {
    for (const [at, cell] of [...row.cells].entries()) {
      const rows = Math.min(cell.rowSpan, MOST_SPANNED);
      cell.removeAttribute("rowspan");
      for (let left = 1; left < rows; left++) {
        const below = table.rows[row.rowIndex + left];
        below?.insertBefore(make(cell), below.cells[at] ?? null);
      }
    }
  }
}

function readTables(body) {
  for (const table of body.querySelectorAll("table")) {
    if (table.querySelectorAll("td,th").length <= MOST_CELLS) divideCells(table);
    for (const cell of table.rows[0]?.querySelectorAll("td") ?? []) rename(cell, "th");
    // A cell has one line.
    for (const part of table.querySelectorAll(BLOCKS)) {
      if (part.closest("td,th") && table.contains(part)) part.replaceWith(...part.childNodes, " ");
    }
    for (const part of table.querySelectorAll("caption,colgroup")) part.remove();
    if (!table.rows.length) table.remove();
  }
}

// Code editors and web pages colour code by elements, and divide its lines by elements.
function readCode(body) {
  for (const line of body.querySelectorAll("pre :is(br,div,p,tr)")) line.after("\n");
  for (const element of body.querySelectorAll(CODE)) {
    if (!body.contains(element)) continue;
    const kind = /(?:^|\s)lang(?:uage)?-(\S+)/.exec((element.querySelector("code") ?? element).className)?.[1];
    const text = element.textContent.replace(/\n+$/, "");
    const code = rename(element, element.matches("pre") ? "pre" : "code");
    code.textContent = text;
    if (kind) code.dataset.params = kind;
  }
}

// The cleaned HTML; empty if it has no formats that a letter should keep. `pictures` are the addresses of images
// that were copied from the letter itself.
export function clean(html, pictures = new Set()) {
  if (html.length > LONGEST) return "";
  // The page's policy refuses styles even in a document that is never shown, so they get other names.
  // It also refuses, and reports, handlers of events.
  const unstyled = html.replace(/(\s)((?:style|on\w+)\s*=)/gi, "$1data-$2").replace(/<(\/?)style\b/gi, "<$1x-style");
  const { body } = new DOMParser().parseFromString(unstyled, "text/html");
  // Some code editors copy all lines in one <pre>.
  const isEditor = body.children.length === 1
    && body.firstElementChild.matches("pre:not(:has(code)),[data-style*='white-space: pre']");
  const isOwn = body.querySelector("[data-pm-slice]") !== null;
  if (body.querySelector(Array(MOST_NESTED).fill("*").join(">"))) return "";
  if (isEditor || !(isOwn || body.querySelector(IS_RICH))) return "";
  if (isOwn) {
    for (const link of body.querySelectorAll("a")) if (/^(?:\w+script|data):/i.test(link.protocol)) unwrap(link);
  } else {
    readCode(body);
    readStyles(body);
    readWordLists(body);
    readLinks(body);
    readTables(body);
  }
  for (const other of body.querySelectorAll("head,x-style,script,noscript,object,svg,img")) {
    // A picture that is loaded from another site would show that site who reads the letter.
    if (!pictures.has(other.getAttribute("src"))) other.remove();
  }
  // Google Docs writes empty lines between paragraphs.
  for (const line of body.querySelectorAll(":scope > br")) line.remove();
  for (const element of body.querySelectorAll("*")) {
    for (const { name } of [...element.attributes]) if (/^data-(?:style$|on)/.test(name)) element.removeAttribute(name);
  }
  return body.innerHTML.replace(/(\s)data-((?:style|on\w+)\s*=)/gi, "$1$2");
}
