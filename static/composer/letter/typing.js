// What happens while the author types: shortcuts, Markdown signs, and merge fields that become chips.
import {
  InputRule,
  Plugin,
  Decoration,
  DecorationSet,
  baseKeymap,
  buildKeymap,
  chainCommands,
  goToNextCell,
  inputRules,
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

// `**bold**`: the signs go, and the words get the format.
const formatting = (pattern, type) =>
  new InputRule(pattern, (state, match, start, end) => {
    const [whole, before, words] = match;
    const from = start + whole.indexOf(before) + before.length;
    if (state.doc.rangeHasMark(from, end, marks.code)) return null;
    const tr = state.tr.delete(from, end).insertText(words, from).addMark(from, from + words.length, type.create());
    return tr.removeStoredMark(type);
  });

const block = (pattern, make) =>
  new InputRule(pattern, (state, match, start) => {
    const $start = state.doc.resolve(start);
    return $start.depth === 1 ? state.tr.replaceWith($start.before(), $start.after(), make(match)) : null;
  });

export const markdownSigns = inputRules({
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
    new InputRule(/\[([^[\]]+)\]\((\S+)\)$/, (state, [, words, href], start, end) =>
      state.tr.replaceWith(start, end, schema.text(words, [marks.link.create({ href })]))),
    new InputRule(new RegExp(`${FIELD.source}$`), (state, [written], start, end) =>
      state.tr.replaceWith(start, end, nodes.merge_field.create({ written }))),
  ],
});

export const keys = [
  keymap({
    Tab: chainCommands(goToNextCell(1), sinkListItem(nodes.list_item)),
    "Shift-Tab": chainCommands(goToNextCell(-1), liftListItem(nodes.list_item)),
    "Mod-Shift-x": TOOLS.strike.run,
    "Mod-Alt-2": TOOLS.heading2.run,
    "Mod-Alt-3": TOOLS.heading3.run,
  }),
  keymap(buildKeymap(schema)),
  keymap(baseKeymap),
];

// Things that are not in the letter: the words of an empty letter, the numbers of footnotes, and which
// paragraphs become videos.
export function decorations(placeholder, isVideo) {
  function of({ doc }) {
    const found = [];
    const numbers = new Map();
    if (doc.childCount === 1 && doc.firstChild.type === nodes.paragraph && !doc.firstChild.content.size) {
      found.push(Decoration.node(0, doc.firstChild.nodeSize, { "data-placeholder": placeholder }));
    }
    doc.descendants((node, at, parent) => {
      if (node.attrs.label) {
        if (!numbers.has(node.attrs.label)) numbers.set(node.attrs.label, String(numbers.size + 1));
        found.push(Decoration.node(at, at + node.nodeSize, { "data-number": numbers.get(node.attrs.label) }));
      } else if (parent === doc && node.type === nodes.paragraph && isVideo(node.textContent)) {
        found.push(Decoration.node(at, at + node.nodeSize, { class: "video" }));
      }
    });
    return DecorationSet.create(doc, found);
  }
  return new Plugin({
    state: { init: (_, state) => of(state), apply: (tr, old, _before, state) => (tr.docChanged ? of(state) : old) },
    props: { decorations(state) { return this.getState(state); } },
  });
}
