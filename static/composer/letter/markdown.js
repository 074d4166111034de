// Reads a letter's Markdown as the editor's document, and writes the document as Markdown.
//
// A block that nobody changed is written exactly as it was read. A block that the editor could not
// write back with the same meaning becomes `as_written`: its Markdown is shown and stays as it is.
import {
  MarkdownIt,
  MarkdownParser,
  MarkdownSerializer,
  defaultMarkdownParser,
  defaultMarkdownSerializer,
  footnotes,
} from "../../vendor/prosemirror.js";
import { schema } from "./schema.js";

// A merge field, as `delivery/mail/merge_fields.py` finds it, on one line and without code.
export const FIELD = /(?<!(?<!\\)(?:\\\\)*\\)\{\{(?<!\{\{\{)(?!\{)[^{}|\n`]*(?:\|[^{}\n`]*)?\}\}(?!\})/g;
const BUTTON = /\{\.button\}/y;
const OF_IMAGE = /\{((?: ?(?:width=[1-9][0-9]{0,3}(?:%|px)?|align=(?:left|right|center)))+)\}/y;
const SHORT_LINE = 50;
const ALIGNED = /text-align:(\w+)/;
const { nodes } = schema;

// The same dialect as in `publishing/content/markdown.py`. Addresses stay as they are written.
const dialect = new MarkdownIt("commonmark", { html: false }).enable(["table", "strikethrough"]).use(footnotes);
dialect.disable(["footnote_tail", "footnote_inline"]);
dialect.inline.ruler.push("attributes", attributes);
dialect.normalizeLink = (address) => address;
dialect.normalizeLinkText = (address) => address;

// Read the braces after a link or an image.
function attributes(state) {
  const token = state.pending ? null : state.tokens.at(-1);
  const found = (pattern) => ((pattern.lastIndex = state.pos), pattern.exec(state.src));
  let braces = null;
  if (token?.type === "link_close" && (braces = found(BUTTON))) {
    state.tokens.findLast((one) => one.type === "link_open").meta = { button: true };
  } else if (token?.type === "image" && (braces = found(OF_IMAGE))) {
    token.meta = Object.fromEntries(braces[1].trim().split(" ").map((part) => part.split("=")));
  }
  if (!braces) return false;
  state.pos += braces[0].length;
  return true;
}

// Protects merge fields from the parser, because a fallback may contain any sign.
class Placeholders {
  constructor(text) {
    let mark = "\uE000";
    while (text.includes(mark)) mark += "\uE000";
    this.found = [];
    this.text = text.replace(FIELD, (field) => `${mark}${this.found.push(field) - 1}\uE001`);
    this.pattern = new RegExp(`${mark}([0-9]+)\uE001`, "g");
  }

  restore(text) {
    return text.replace(this.pattern, (_, number) => this.found[number]);
  }

  // Text alternates with fields, as in `split`.
  parts(text) {
    return text.split(this.pattern).map((part, at) => (at % 2 ? { field: this.found[part] } : { text: part }));
  }
}

// Put the merge fields back: in text as parts of their own, elsewhere as they are written.
function withFields(tokens, placeholders) {
  return tokens.flatMap((token) => {
    if (token.type === "text") {
      return placeholders.parts(token.content).filter((part) => part.field || part.text).map(({ field, text }) =>
        Object.assign(Object.create(token), { type: field ? "merge_field" : "text", content: field ?? text }));
    }
    token.content = placeholders.restore(token.content);
    token.info = placeholders.restore(token.info);
    token.attrs?.forEach((pair) => (pair[1] = placeholders.restore(String(pair[1]))));
    if (token.type === "image") token.content = plain(token.children, placeholders);
    else if (token.children) token.children = withFields(token.children, placeholders);
    return token;
  });
}

const plain = (tokens, placeholders) =>
  tokens.map((token) => (token.children ? plain(token.children, placeholders) : placeholders.restore(token.content)))
    .join("");

const given = defaultMarkdownParser.tokens;
// Paragraphs of a tight list are hidden. A list without paragraphs counts as tight.
function isTight(tokens, at) {
  const { level } = tokens[at];
  for (let next = at + 1; tokens[next].level > level; next++) {
    if (tokens[next].type === "paragraph_open" && tokens[next].level === level + 2) return tokens[next].hidden;
  }
  return true;
}

const listOf = (name) => ({
  block: name,
  getAttrs: (token, tokens, at) => ({
    ...given[name].getAttrs(token, tokens, at),
    tight: isTight(tokens, at),
    marker: token.markup,
  }),
});
const cell = (block) => ({
  block,
  getAttrs: (token) => ({ align: ALIGNED.exec(token.attrGet("style"))?.[1] ?? null }),
});
const parser = new MarkdownParser(schema, { parse: (tokens) => tokens }, {
  ...given,
  bullet_list: listOf("bullet_list"),
  ordered_list: listOf("ordered_list"),
  table: { block: "table" },
  thead: { ignore: true },
  tbody: { ignore: true },
  tr: { block: "table_row" },
  th: cell("table_header"),
  td: cell("table_cell"),
  s: { mark: "strike" },
  link: {
    mark: "link",
    getAttrs: (token) => ({
      href: token.attrGet("href"), title: token.attrGet("title"), button: token.meta?.button ?? false,
    }),
  },
  image: {
    node: "image",
    getAttrs: ({ meta, content, ...token }) => ({
      src: token.attrs.find(([name]) => name === "src")[1],
      title: token.attrs.find(([name]) => name === "title")?.[1] ?? null,
      alt: content,
      width: meta?.width ?? "",
      align: meta?.align ?? "",
    }),
  },
  merge_field: { node: "merge_field", getAttrs: ({ content }) => ({ written: content }) },
  footnote_ref: { node: "footnote_ref", getAttrs: ({ meta }) => ({ label: meta.label }) },
  footnote_reference: { block: "footnote", getAttrs: ({ meta }) => ({ label: meta.label }) },
});

// The tokens of each block of the outermost level.
function* groups(tokens) {
  let group = [];
  for (const token of tokens) {
    group.push(token);
    if (token.level > 0 || token.nesting > 0) continue;
    yield group;
    group = [];
  }
}

function nodeOf(group, placeholders) {
  const made = parser.parse(withFields(group, placeholders));
  return made.childCount === 1 ? made.firstChild : null;
}

// The block that this Markdown alone gives, or null if it gives several blocks.
function readAlone(text, known) {
  const placeholders = new Placeholders(text);
  const labels = Object.keys(known.footnotes?.refs ?? {});
  const refs = Object.fromEntries(labels.map((label) => [label, -1]));
  const env = { references: known.references, footnotes: { refs } };
  const made = [...groups(dialect.parse(placeholders.text, env))];
  // The targets of links that the block defines are added.
  known.references = env.references;
  return made.length === 1 ? nodeOf(made[0], placeholders) : null;
}

// Programs disagree about footnotes inside lists and quotes.
function hasFootnote(node) {
  let found = false;
  node.descendants((one) => void (found ||= one.type === nodes.footnote));
  return found;
}

const asWritten = (text) => nodes.as_written.create(null, schema.text(text));

// How each block was written, by its node: nodes are never changed, only replaced.
const kept = new WeakMap();
// The Markdown of blocks that were changed, and how many original documents have no equal block.
const rewritten = new WeakMap();
const unlike = new WeakMap();

// How an original block with the same content was written: a change that the author took back leaves a new node.
function keptOf(node, originals) {
  if (kept.has(node) || unlike.get(node) === originals.length) return kept.get(node);
  const equal = originals.flatMap((one) => one.children).find((one) => one.eq(node));
  if (equal) kept.set(node, kept.get(equal));
  else unlike.set(node, originals.length);
  return kept.get(equal);
}

// Make the editor's document of a letter. `isVideo` says whether a text is the address of a video.
export function read(markdown, isVideo) {
  const placeholders = new Placeholders(markdown);
  const lines = markdown.split("\n");
  const env = {};
  const blocks = [];
  for (const group of groups(dialect.parse(placeholders.text, env))) {
    const maps = group.map((token) => token.map).filter(Boolean);
    if (!maps.length) continue;
    const from = maps[0][0];
    let to = Math.max(...maps.map(([, end]) => end));
    while (to > from + 1 && !lines[to - 1].trim()) to--;
    blocks.push({ from, to, group });
  }
  const children = [];
  let at = 0;
  let before = "";
  // Blocks whose links have their targets in another block need that block.
  const targets = [];
  const add = (node, source, needsTargets = false) => {
    kept.set(node, { source, before, previous: children.at(-1) ?? null, needs: needsTargets ? targets : [] });
    if (node.type === nodes.as_written) targets.push(node);
    children.push(node);
    before = "";
  };
  const skipTo = (line) => {
    // Text between blocks defines the targets of links, or footnotes without words.
    const between = lines.slice(at, line).join("\n");
    const words = between.trim();
    if (words) {
      const start = between.indexOf(words);
      before += between.slice(0, start);
      add(asWritten(words), words);
      before = between.slice(start + words.length);
    } else before += between;
    if (line < lines.length && line > at) before += "\n";
    at = line;
  };
  for (const { from, to, group } of blocks) {
    skipTo(from);
    const source = lines.slice(from, to).join("\n");
    const node = nodeOf(group, placeholders);
    const isRight = node && !hasFootnote(node) && readAlone(writeBlock(node, isVideo), env)?.eq(node);
    const alone = { footnotes: env.footnotes };
    const needsTargets = isRight && env.references && !readAlone(source, alone)?.eq(node);
    // The target of a link in a list or a quote would be lost.
    add(isRight && !alone.references ? node : asWritten(source), source, needsTargets);
    at = to;
    if (to < lines.length) before = "\n";
  }
  skipTo(lines.length);
  if (children.length) kept.get(children.at(-1)).after = before;
  return nodes.doc.create(null, children.length ? children : nodes.paragraph.create());
}

// Pasted text keeps the ends of short lines, as in an address. Where a text was wrapped, its lines are longer.
export function keepShortLines(text) {
  const lines = text.split("\n");
  for (const { type, level, map } of dialect.parse(text, {})) {
    if (type !== "paragraph_open" || level) continue;
    for (let at = map[0]; at < map[1] - 1; at++) {
      if (lines[at].length < SHORT_LINE && !/(?:\\|\s\s)$/.test(lines[at])) lines[at] += "\\";
    }
  }
  return lines.join("\n");
}

const isSame = (one, other) => one === other || Boolean(one && other?.eq(one));
const DELIMITED = [schema.marks.strong, schema.marks.em, schema.marks.strike];
const SIGNED = [schema.marks.link, schema.marks.code];
const OTHER_MARKER = { "-": "*", "*": "-", "+": "-", ".": ")", ")": "." };

// Write the document as Markdown. `originals` are documents that were read.
export function write(doc, isVideo, originals = []) {
  const present = new Set(doc.children);
  // The editor ends with an empty paragraph.
  const last = doc.children.findLast((node) => node.type !== nodes.paragraph || node.content.size);
  let out = "";
  let previous = null;
  let marker = "";
  for (const node of doc.children) {
    const own = keptOf(node, originals);
    const isLast = node === last;
    const follows = own !== undefined && isSame(own.previous, previous);
    // The last block may be a code block without an end, which must not take in what follows. A block with
    // blanks before it, or a table that begins like a list, would become part of another list.
    const isFree = follows || !/^\s/.test(own?.source) && (node.type !== nodes.table || own?.source.startsWith("|"));
    const isKept = own && isFree && (isLast || own.after === undefined) && own.needs.every((one) => present.has(one));
    // A list directly after a list of the same kind would continue it.
    const continues = node.attrs.marker && node.type === previous?.type && node.attrs.marker === marker;
    const shown = continues
      ? node.type.create({ ...node.attrs, marker: OTHER_MARKER[marker] }, node.content)
      : node;
    const source = isKept && !continues ? own.source : writeBlock(shown, isVideo);
    if (!source.trim()) continue;
    out += (follows ? own.before : previous && "\n\n") ?? "";
    out += source;
    if (isLast) out += own?.after ?? "";
    marker = shown.attrs.marker;
    previous = node;
  }
  return out;
}

// Escape the signs that Markdown would read otherwise.
function escaped(text, isAtStart) {
  const inLine = text
    .replace(/[\\`*[\]]|~(?=~)|(?<=~)~|<(?=[a-z/!?{])|&(?=#?\w+;)|\{\{+|\{(?=\.button\}| ?(?:width|align)=)/gi, "\\$&")
    .replace(/(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, "\\_");
  if (!isAtStart) return inLine;
  return inLine
    .replace(/^\s+/, "")
    .replace(/^(#{1,6}(?=\s|$)|[-+](?=\s|$)|>|=+\s*$|[-:|][-:|\s]*$)/, "\\$&")
    .replace(/^(\d{1,9})([.)])(?=\s|$)/, "$1\\$2");
}

const asNumber = (sign) => `&#${sign.codePointAt(0)};`;

// Whether the formats of `other` could not begin or end between its sign of punctuation and a letter of `node`
// (CommonMark's flanking rules). A letter that is written as a number counts as punctuation.
function isGlued(other, node, isAfter) {
  const isOnlyIn = (one, two) => one.marks.some((mark) => DELIMITED.includes(mark.type) && !mark.isInSet(two.marks));
  if (!other || !isOnlyIn(other, node)) return false;
  const sign = (text, isFirst) => (isFirst ? [...text.slice(0, 2)][0] : [...text.slice(-2)].at(-1));
  const isSigned = !other.isText || other.marks.some(({ type }) => SIGNED.includes(type));
  const mark = isSigned ? ")" : sign(other.text, isAfter);
  return /[\p{P}\p{S}]/u.test(mark) && /[^\s\p{P}]/u.test(sign(node.text, !isAfter));
}

// An address, in angle brackets if it has signs that would end it.
function target(address) {
  const words = new Placeholders(address);
  const isPlain = words.text && !/[\s<>]/.test(words.text) && isBalanced(words.text);
  const safe = words.text.replace(/\\(?=[!-/:-@[-`{-~])|&(?=#?\w+;)/g, "\\$&");
  return words.restore(isPlain ? safe : `<${safe.replace(/[<>]/g, "\\$&").replace(/\n/g, " ")}>`);
}

function isBalanced(text) {
  let depth = 0;
  for (const sign of text) {
    if (sign === "(") depth++;
    if (sign === ")" && --depth < 0) return false;
  }
  return depth === 0;
}

const titled = (title) => (title ? ` "${title.replace(/[\\"]/g, "\\$&").replace(/\s*\n\s*/g, " ")}"` : "");
const { nodes: basicNodes, marks: basicMarks } = defaultMarkdownSerializer;

function serializerFor(isVideo) {
  const inCell = (node) => {
    const words = serializer.serialize(nodes.doc.create(null, nodes.heading.create(null, node.content))).slice(2);
    const placeholders = new Placeholders(words);
    return placeholders.restore(placeholders.text.replace(/\|/g, "\\|"));
  };
  const row = (node) => `| ${node.children.map(inCell).join(" | ")} |`;
  const RULES = { left: ":---", center: ":---:", right: "---:" };
  const serializer = new MarkdownSerializer({
    ...basicNodes,
    horizontal_rule(state, node, parent) {
      // At the beginning of a list item, the item would become a part of the rule.
      state.write(parent.type === nodes.doc ? "---" : "___");
      state.closeBlock(node);
    },
    heading(state, node) {
      state.write(`${"#".repeat(node.attrs.level)} `);
      state.renderInline(node, false);
      state.out = state.out.replace(/ (#+)$/, " \\$1");
      state.closeBlock(node);
    },
    bullet_list(state, node) {
      state.renderList(node, "  ", () => `${node.attrs.marker} `);
    },
    ordered_list(state, node) {
      const first = Math.max(0, node.attrs.order ?? 1);
      const width = String(first + node.childCount - 1).length + 2;
      state.renderList(node, " ".repeat(width), (at) => `${first + at}${node.attrs.marker} `.padEnd(width));
    },
    hard_break(state, node, parent, index) {
      if (parent.type === nodes.paragraph) basicNodes.hard_break(state, node, parent, index);
      else state.write(" ");
    },
    text(state, node, parent, index) {
      if (parent.childCount === 1 && !node.marks.length && isVideo(node.text)) return state.text(node.text, false);
      const isAtStart = (index === 0 && state.atBlockStart) || state.out.endsWith("\n");
      // Joined code brings line breaks into a paragraph.
      const lines = node.text.split("\n").map((line, at) => escaped(line, at > 0 || isAtStart));
      let words = state.inAutolink ? node.text : lines.join(parent.type === nodes.paragraph ? "\\\n" : " ");
      const next = parent.maybeChild(index + 1);
      if (next?.marks.some((mark) => mark.type.name === "link")) words = words.replace(/!$/, "\\!");
      // A number at the beginning, with a colon, would begin a note.
      if (index === 1 && parent.firstChild.type === nodes.footnote_ref) words = words.replace(/^:/, "\\:");
      if (isGlued(next, node, true)) words = words.replace(/.$/u, asNumber);
      if (isGlued(parent.maybeChild(index - 1), node, false)) words = words.replace(/^./u, asNumber);
      state.text(words, false);
    },
    image(state, { attrs: { src, alt, title, width, align } }) {
      const braces = [width && `width=${width}`, align && `align=${align}`].filter(Boolean).join(" ");
      state.write(`![${escaped(alt)}](${target(src)}${titled(title)})${braces && `{${braces}}`}`);
    },
    merge_field(state, node) {
      state.write(node.attrs.written);
    },
    footnote_ref(state, node) {
      state.write(`[^${node.attrs.label}]`);
    },
    footnote(state, node) {
      state.wrapBlock("    ", `[^${node.attrs.label}]: `, node, () => state.renderContent(node));
    },
    as_written(state, node) {
      state.text(node.textContent, false);
      state.closeBlock(node);
    },
    table(state, node) {
      const [head, ...body] = node.children;
      const rule = head.children.map((one) => RULES[one.attrs.align] ?? "---");
      for (const line of [row(head), `| ${rule.join(" | ")} |`, ...body.map(row)]) {
        state.write(line);
        state.ensureNewLine();
      }
      state.closeBlock(node);
    },
  }, {
    ...basicMarks,
    strike: { open: "~~", close: "~~", mixable: true, expelEnclosingWhitespace: true },
    link: {
      open: (state, mark, parent, index) => {
        const { href, title, button } = mark.attrs;
        const only = parent.child(index);
        state.inAutolink = !title && !button && /^https?:[^\s<>]*$/.test(href) && only.text === href &&
          !(parent.maybeChild(index + 1) && mark.isInSet(parent.child(index + 1).marks));
        return state.inAutolink ? "<" : "[";
      },
      close: (state, { attrs: { href, title, button } }) => {
        const end = state.inAutolink ? ">" : `](${target(href)}${titled(title)})${button ? "{.button}" : ""}`;
        state.inAutolink = false;
        return end;
      },
      mixable: true,
    },
  });
  return serializer;
}

const serializers = new Map();

function writeBlock(node, isVideo) {
  if (rewritten.has(node)) return rewritten.get(node);
  if (!serializers.has(isVideo)) serializers.set(isVideo, serializerFor(isVideo));
  const written = serializers.get(isVideo).serialize(nodes.doc.create(null, node)).replace(/\n+$/, "");
  rewritten.set(node, written);
  return written;
}
