// What happens while the author types: shortcuts, Markdown signs, and merge fields that become chips.
import {
  InputRule,
  Plugin,
  Decoration,
  DecorationSet,
  addRowAfter,
  baseKeymap,
  buildKeymap,
  chainCommands,
  goToNextCell,
  inputRules,
  isInTable,
  keymap,
  liftListItem,
  sinkListItem,
  textblockTypeInputRule,
  wrappingInputRule,
} from "../../vendor/prosemirror.js";
import { TOOLS } from "./commands.js";
import { FIELD } from "./markdown.js";
import { schema } from "./schema.js";

const { nodes, marks } = schema;
// Stands for a merge field, a footnote or an image in the text of which the patterns read.
const LEAF = "\uFFFC";
const TYPED_ADDRESS = /(^|\s)(https?:\/\/[^\s<>\uFFFC]*[^\s<>\uFFFC.,;:!?)\]])\s$/;

// `**bold**`: the signs go, and what is between them gets the format. The last sign may not be in the letter yet.
const formatting = (pattern, type) =>
  new InputRule(pattern, (state, [whole, before, words], start, end) => {
    const from = start + before.length;
    const signs = (whole.length - before.length - words.length) / 2;
    const isCode = state.doc.rangeHasMark(from, end, marks.code) || (type === marks.code && words.includes(LEAF));
    if (isCode) return null;
    const tr = state.tr.delete(from + signs + words.length, end).delete(from, from + signs);
    return tr.addMark(from, from + words.length, type.create()).removeStoredMark(type);
  });

const block = (pattern, make) =>
  new InputRule(pattern, (state, match, start) => {
    const $start = state.doc.resolve(start);
    return $start.depth === 1 ? state.tr.replaceWith($start.before(), $start.after(), make(match)) : null;
  });

export const markdownSigns = (isVideo) => inputRules({
  rules: [
    wrappingInputRule(/^\s*>\s$/, nodes.blockquote),
    wrappingInputRule(/^\s*([-+*])\s$/, nodes.bullet_list, ([, marker]) => ({ marker })),
    wrappingInputRule(
      /^(\d+)([.)])\s$/,
      nodes.ordered_list,
      ([, order, marker]) => ({ order: Number(order), marker }),
      ([, order], { childCount, attrs }) => childCount + attrs.order === Number(order),
    ),
    textblockTypeInputRule(/^(#{1,4})\s$/, nodes.heading, ([, signs]) => ({ level: signs.length })),
    textblockTypeInputRule(/^```$/, nodes.code_block),
    block(/^(?:---|\*\*\*|___)$/, () => [nodes.horizontal_rule.create(), nodes.paragraph.create()]),
    formatting(/(^|[^*])\*\*([^*\s](?:[^*]*[^*\s])?)\*\*$/, marks.strong),
    formatting(/(^|[^_\p{L}\p{N}])__([^_\s](?:[^_]*[^_\s])?)__$/u, marks.strong),
    formatting(/(^|[^*])\*([^*\s](?:[^*]*[^*\s])?)\*$/, marks.em),
    formatting(/(^|[^_\p{L}\p{N}])_([^_\s](?:[^_]*[^_\s])?)_$/u, marks.em),
    formatting(/(^|[^~])~~([^~\s](?:[^~]*[^~\s])?)~~$/, marks.strike),
    formatting(/(^|[^`])`([^`]+)`$/, marks.code),
    new InputRule(/\[([^[\]]+)\]\((\S+)\)$/, (state, [, words, target], start, end) => {
      const after = start + 1 + words.length;
      // The text of the letter has merge fields as they are written.
      const href = state.doc.textBetween(after + 2, after + 2 + target.length);
      const link = marks.link.create({ href });
      const tr = state.tr.delete(after, end).delete(start, start + 1);
      return tr.addMark(start, after - 1, link).removeStoredMark(marks.link);
    }),
    // An address becomes a link after the blank that ends it.
    new InputRule(TYPED_ADDRESS, (state, [, before, href], start, end) => {
      const from = start + before.length;
      const to = from + href.length;
      if (isVideo(href) || state.doc.rangeHasMark(from, to, marks.link)) return null;
      const link = marks.link.create({ href });
      return state.tr.insertText(" ", to, end).addMark(from, to, link).removeStoredMark(marks.link);
    }),
    new InputRule(new RegExp(`${FIELD.source}$`), (state, [written], start, end) =>
      state.tr.replaceWith(start, end, nodes.merge_field.create({ written }))),
  ],
});

// In the last cell, Tab adds a row.
const nextCell = (state, dispatch, view) => {
  if (goToNextCell(1)(state, dispatch) || !isInTable(state)) return isInTable(state);
  addRowAfter(state, dispatch);
  return goToNextCell(1)(view.state, dispatch);
};

// Markdown has no line break in a heading or in a table.
const breakLine = (state, dispatch) => {
  const { type } = state.selection.$from.parent;
  return type === nodes.heading ? baseKeymap.Enter(state, dispatch) : isInTable(state);
};

// At the end of code, the right arrow leaves the code.
const leaveCode = ({ selection: { empty, $from }, storedMarks, tr }, dispatch) => {
  const isIn = (found) => Boolean(found && marks.code.isInSet(found));
  if (!empty || !isIn(storedMarks ?? $from.marks()) || isIn($from.nodeAfter?.marks)) return false;
  dispatch(tr.removeStoredMark(marks.code));
  return true;
};

// Below a table, an image, a code block or a footnote at the end of the letter, the author can write on. An empty
// paragraph is not a part of the Markdown.
export const lastParagraph = new Plugin({
  appendTransaction: (_changes, _before, { doc, tr }) =>
    doc.lastChild.type === nodes.paragraph && doc.lastChild.lastChild?.type !== nodes.image
      ? null
      : tr.insert(doc.content.size, nodes.paragraph.create()).setMeta("addToHistory", false),
});

export const keys = [
  keymap({
    Tab: chainCommands(nextCell, sinkListItem(nodes.list_item)),
    "Shift-Tab": chainCommands(goToNextCell(-1), liftListItem(nodes.list_item)),
    ArrowRight: leaveCode,
    "Shift-Enter": breakLine,
    "Mod-Enter": breakLine,
    "Mod-Shift-x": TOOLS.strike.run,
    "Mod-Alt-2": TOOLS.heading2.run,
    "Mod-Alt-3": TOOLS.heading3.run,
  }),
  // Escape would select the paragraph, and the next typed sign would replace it.
  keymap(buildKeymap(schema, { Escape: false })),
  keymap(baseKeymap),
];

const isButton = (node) => node.marks.some(({ type, attrs }) => type === marks.link && attrs.button);

// Things that are not in the letter: the words of an empty letter, the numbers of footnotes, which footnotes no
// reader gets, and which paragraphs become videos and buttons.
export function decorations({ placeholder, unused }, isVideo) {
  function of({ doc }) {
    const found = [];
    const numbers = new Map();
    const used = new Set();
    doc.descendants(({ type, attrs }) => void (type === nodes.footnote_ref && used.add(attrs.label)));
    if (doc.childCount === 1 && doc.firstChild.type === nodes.paragraph && !doc.firstChild.content.size) {
      found.push(Decoration.node(0, doc.firstChild.nodeSize, { "data-placeholder": placeholder }));
    }
    doc.descendants((node, at, parent) => {
      if (node.attrs.label) {
        if (!numbers.has(node.attrs.label)) numbers.set(node.attrs.label, String(numbers.size + 1));
        const note = node.type === nodes.footnote && !used.has(node.attrs.label) ? { "data-unused": unused } : {};
        found.push(Decoration.node(at, at + node.nodeSize, { "data-number": numbers.get(node.attrs.label), ...note }));
      } else if (parent === doc && node.type === nodes.paragraph && isVideo(node.textContent)) {
        found.push(Decoration.node(at, at + node.nodeSize, { class: "video" }));
      } else if (node.type === nodes.paragraph && node.childCount && node.children.every(isButton)) {
        found.push(Decoration.node(at, at + node.nodeSize, { class: "button" }));
      }
    });
    return DecorationSet.create(doc, found);
  }
  return new Plugin({
    state: { init: (_, state) => of(state), apply: (tr, old, _before, state) => (tr.docChanged ? of(state) : old) },
    props: { decorations(state) { return this.getState(state); } },
  });
}
