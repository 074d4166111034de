// What the tools do to the letter, and whether a tool is on at the caret.
import {
  Fragment,
  Selection,
  TextSelection,
  addColumnAfter,
  addRowAfter,
  deleteColumn,
  deleteRow,
  deleteTable,
  isInTable,
  lift,
  liftListItem,
  redo,
  setBlockType,
  toggleMark,
  undo,
  wrapIn,
  wrapInList,
} from "../../vendor/prosemirror.js";
import { schema } from "./schema.js";

const { nodes, marks } = schema;

// The state with a selection of text in place of a selection of the whole letter.
export function inText(state) {
  if (state.selection.$from.depth || state.selection.node) return state;
  const [$from, $to] = [state.doc.resolve(0), state.doc.resolve(state.doc.content.size)];
  return state.apply(state.tr.setSelection(TextSelection.between($from, $to)));
}

// The innermost node of these types around the caret, with its place.
export function around({ $from }, ...types) {
  for (let depth = $from.depth; depth > 0; depth--) {
    const node = $from.node(depth);
    if (types.includes(node.type)) return { node, at: $from.before(depth) };
  }
  return null;
}

const mark = (type) => ({
  run: toggleMark(type),
  isOn: ({ selection: { from, $from, to, empty }, storedMarks, doc }) =>
    empty ? Boolean(type.isInSet(storedMarks ?? $from.marks())) : doc.rangeHasMark(from, to, type),
});

const textblock = (type, attrs = {}) => {
  const isOn = ({ selection: { $from } }) => $from.parent.type === type && $from.parent.attrs.level === attrs.level;
  return {
    isOn,
    run: (state, dispatch) => setBlockType(...(isOn(state) ? [nodes.paragraph] : [type, attrs]))(state, dispatch),
  };
};

const LISTS = [nodes.bullet_list, nodes.ordered_list];

const list = (type) => {
  const isOn = ({ selection }) => around(selection, ...LISTS)?.node.type === type;
  const run = (state, dispatch) => {
    const other = around(state.selection, ...LISTS);
    if (!other) return wrapInList(type)(state, dispatch);
    if (other.node.type === type) return liftListItem(nodes.list_item)(state, dispatch);
    dispatch?.(state.tr.setNodeMarkup(other.at, type));
    return true;
  };
  return { isOn, run };
};

const quote = {
  isOn: ({ selection }) => Boolean(around(selection, nodes.blockquote)),
  run: (state, dispatch) => (quote.isOn(state) ? lift : wrapIn(nodes.blockquote))(state, dispatch),
};

// Put blocks where the caret is: in place of an empty paragraph, otherwise after the block of the caret. Then the
// caret is in an empty paragraph after them.
export function insertBlocks(tr, blocks) {
  const added = Fragment.from(blocks);
  const { $from } = tr.selection;
  const isEmpty = $from.depth === 1 && $from.parent.type === nodes.paragraph && !$from.parent.content.size;
  const isInside = tr.selection.empty && $from.depth === 1 && $from.parent.isTextblock && $from.parentOffset;
  // In the middle of a paragraph, the words after the caret become a paragraph of their own.
  const isDivided = isInside && $from.parentOffset < $from.parent.content.size;
  if (isDivided) tr.split($from.pos);
  const at = isEmpty ? $from.before() : isDivided ? $from.pos + 1 : $from.depth ? $from.after(1) : $from.pos;
  if (isEmpty) tr.replaceWith(at, $from.after(), added);
  else tr.insert(at, added);
  const end = at + added.size;
  if (tr.doc.resolve(end).nodeAfter?.content.size !== 0) tr.insert(end, nodes.paragraph.create());
  return writeAfter(tr, end);
}

// Put the caret into the block that begins here, or into a new paragraph.
export function writeAfter(tr, at) {
  if (at === tr.doc.content.size) tr.insert(at, nodes.paragraph.create());
  return tr.setSelection(Selection.near(tr.doc.resolve(at)));
}

const inserting = (make, isWrittenInto = false) => ({
  run: (state, dispatch) => {
    const { from } = state.selection;
    const tr = insertBlocks(state.tr, make(state));
    if (isWrittenInto) tr.setSelection(Selection.near(tr.doc.resolve(from + 1)));
    dispatch?.(tr.scrollIntoView());
    return true;
  },
});

const cell = (type, text = "") => type.create(null, text ? schema.text(text) : null);
const row = (type, ...texts) => nodes.table_row.create(null, texts.map((text) => cell(type, text)));
const TABLE = () => nodes.table.create(null, [
  row(nodes.table_header, "", ""), row(nodes.table_cell, "", ""), row(nodes.table_cell, "", ""),
]);

// The smallest number that is no footnote's label.
function freshLabel(doc) {
  const taken = new Set();
  doc.descendants(({ attrs }) => void (attrs.label && taken.add(attrs.label)));
  let number = 1;
  while (taken.has(String(number))) number++;
  return String(number);
}

function footnote(state, dispatch) {
  const label = freshLabel(state.doc);
  if (!state.selection.$to.parent.inlineContent || around(state.selection, nodes.footnote)) return false;
  const tr = state.tr.insert(state.selection.to, nodes.footnote_ref.create({ label }));
  // The empty paragraph at the end stays at the end.
  const { content, lastChild } = tr.doc;
  const at = content.size - (lastChild.content.size ? 0 : lastChild.nodeSize);
  tr.insert(at, nodes.footnote.create({ label }, nodes.paragraph.create()));
  dispatch?.(tr.setSelection(TextSelection.create(tr.doc, at + 2)).scrollIntoView());
  return true;
}

const inTable = (run) => ({ run, isShown: isInTable });

// The tools by the name in `data-tool` (templates/publishing/composer/composer_tools.html).
export const TOOLS = {
  strong: mark(marks.strong),
  em: mark(marks.em),
  strike: mark(marks.strike),
  code: mark(marks.code),
  heading2: textblock(nodes.heading, { level: 2 }),
  heading3: textblock(nodes.heading, { level: 3 }),
  code_block: textblock(nodes.code_block),
  blockquote: quote,
  bullet_list: list(nodes.bullet_list),
  ordered_list: list(nodes.ordered_list),
  divider: inserting(() => nodes.horizontal_rule.create()),
  table: inserting(TABLE, true),
  footnote: { run: footnote },
  undo: { run: undo },
  redo: { run: redo },
  add_row: inTable(addRowAfter),
  add_column: inTable(addColumnAfter),
  delete_row: inTable(deleteRow),
  delete_column: inTable(deleteColumn),
  delete_table: inTable(deleteTable),
};
