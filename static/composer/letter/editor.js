// The letter as it will look, in which the author writes. The textarea beside it has its Markdown.
import {
  DOMParser,
  EditorState,
  EditorView,
  Fragment,
  NodeSelection,
  Selection,
  Slice,
  TextSelection,
  closeHistory,
  dropCursor,
  gapCursor,
  history,
  search,
  tableEditing,
} from "../../vendor/prosemirror.js";
import { clean } from "./clean-paste.js";
import { TOOLS, around, inText, insertBlocks, writeAfter } from "./commands.js";
import { editLink, editNode, isEditable } from "./dialogs.js";
import { imagesOf, insertImages, placeholders } from "./images.js";
import { FIELD, keepShortLines, read, write } from "./markdown.js";
import { schema } from "./schema.js";
import { slashMenu } from "./slash-menu.js";
import { decorations, keys, lastParagraph, markdownSigns } from "./typing.js";

const ADDRESS = /^(?:https?:\/\/|mailto:)\S+$/i;
const { nodes, marks } = schema;

// The caret stays clear of the bars above and below the letter (static/homing.css).
const padding = (side) => (parseFloat(getComputedStyle(document.documentElement)[`scrollPadding${side}`]) || 0) + 5;
const clearOfBars = {
  get top() { return padding("Top"); },
  get bottom() { return padding("Bottom"); },
  left: 5,
  right: 5,
};

// Merge fields in text become chips.
function withChips(fragment) {
  const made = [];
  fragment.forEach((node) => {
    if (!node.isText) return made.push(node.type.spec.code ? node : node.copy(withChips(node.content)));
    if (marks.code.isInSet(node.marks)) return made.push(node);
    let end = 0;
    for (const { 0: written, index } of node.text.matchAll(FIELD)) {
      if (index > end) made.push(node.cut(end, index));
      made.push(nodes.merge_field.create({ written }, null, node.marks));
      end = index + written.length;
    }
    if (end < node.text.length) made.push(node.cut(end));
  });
  return Fragment.from(made);
}

// The Markdown of pasted rich text; empty if plain text serves as well.
export function markdownOf(html, isVideo) {
  const cleaned = clean(html);
  if (!cleaned) return "";
  const { body } = new window.DOMParser().parseFromString(cleaned, "text/html");
  const doc = DOMParser.fromSchema(schema).parse(body);
  return write(doc.copy(withChips(doc.content)), isVideo);
}

export class LetterEditor {
  // `changed(markdown)` is called after each change of the author.
  constructor(place, { form, changed, refused, words, isVideo, choices, list, toTools }) {
    this.isVideo = isVideo;
    this.images = { form, refused };
    this.changed = changed;
    this.toTools = toTools;
    this.markdown = form.elements.id_letter.value;
    const { lang, dir } = form.elements.id_letter;
    const doc = read(this.markdown, isVideo);
    this.originals = [doc];
    // The images of this letter may be pasted again.
    this.pictures = new Set();
    const state = EditorState.create({
      doc,
      plugins: [
        slashMenu(choices, list), markdownSigns(isVideo), ...keys, history(), dropCursor({ class: "drop-place" }),
        gapCursor(), tableEditing(), search(), placeholders, decorations(words, isVideo), lastParagraph,
      ],
    });
    this.view = new EditorView({ mount: place }, {
      state: state.apply(state.tr),
      scrollMargin: clearOfBars,
      scrollThreshold: clearOfBars,
      attributes: {
        role: "textbox", "aria-multiline": "true", "aria-label": place.dataset.label, lang, dir, spellcheck: "true",
        "aria-describedby": "letter_facts letter_hints letter_errors",
      },
      dispatchTransaction: (tr) => this.apply(tr),
      transformPastedHTML: (html) => clean(html, this.pictures),
      handleDOMEvents: {
        copy: () => this.copied(),
        cut: () => this.copied(),
        mousedown: ({ state: { selection } }) => void (this.pressed = selection.node && selection.from),
      },
      transformPasted: (slice) => new Slice(withChips(slice.content), slice.openStart, slice.openEnd),
      clipboardTextParser: (text, _$context, isPlain) => this.pastedText(text, isPlain),
      handleTextInput: (view, _from, to, text) => this.typedBeside(view.state, to, text),
      handlePaste: (_view, event) => this.pasted(event),
      handleDrop: (view, event) => this.dropped(view, event),
      handleDoubleClickOn: (view, _pos, node, at) => isEditable(node) && (editNode(view, at), true),
      // A phone has no double click: the second tap on a selected node opens its dialog, too.
      handleClickOn: (view, _pos, node, at) => isEditable(node) && this.pressed === at && (editNode(view, at), true),
      handleKeyDown: (view, event) => this.key(view, event),
    });
  }

  apply(tr) {
    this.view.updateState(this.view.state.apply(tr));
    if (tr.docChanged && !tr.getMeta("from markdown")) {
      this.markdown = write(this.view.state.doc, this.isVideo, this.originals);
      this.changed(this.markdown);
    }
    this.moved?.(inText(this.view.state));
  }

  // Show another Markdown. The author can undo this.
  show(markdown) {
    if (markdown === this.markdown) return;
    this.markdown = markdown;
    this.step();
    const doc = read(markdown, this.isVideo);
    this.originals.push(doc);
    const { state } = this.view;
    const tr = state.tr.replaceWith(0, state.doc.content.size, doc.content).setMeta("from markdown", true);
    tr.setSelection(Selection.near(tr.doc.resolve(Math.min(state.selection.from, tr.doc.content.size))));
    this.view.dispatch(tr);
  }

  // What follows is one step to undo, apart from what was typed before.
  step() {
    this.view.dispatch(closeHistory(this.view.state.tr));
  }

  // Let a command of `commands.js` change the letter.
  do(command) {
    this.view.focus();
    this.step();
    command(inText(this.view.state), this.view.dispatch, this.view);
    this.step();
  }

  run(name) {
    this.do(TOOLS[name].run);
  }

  insertField(written) {
    const field = nodes.merge_field.create({ written });
    this.do((state, dispatch) => dispatch(state.tr.replaceSelectionWith(field).scrollIntoView()));
  }

  // The place of the caret in the Markdown.
  get caret() {
    const { doc, selection } = this.view.state;
    return write(doc.cut(0, selection.from), this.isVideo, this.originals).length;
  }

  set caret(at) {
    const { doc } = this.view.state;
    const end = Selection.atEnd(read(this.markdown.slice(0, at), this.isVideo)).from;
    const selection = Selection.near(doc.resolve(Math.min(end, doc.content.size)), -1);
    this.view.dispatch(this.view.state.tr.setSelection(selection).scrollIntoView());
  }

  // Insert Markdown, such as a snippet, as blocks of its own.
  insertMarkdown(markdown) {
    const { content } = read(markdown, this.isVideo);
    this.do((state, dispatch) => dispatch(insertBlocks(state.tr, content).scrollIntoView()));
  }

  insertImages(files) {
    insertImages(this.view, files, this.view.state.selection.to, this.images);
  }

  editLink(options) {
    return editLink(this.view, options);
  }

  // Select the words of a hint, and show them. `before` counts the earlier places that do not count.
  reveal(words, before) {
    let left = before;
    let found = null;
    this.view.state.doc.descendants((node, at) => {
      const text = node.isText ? node.text : (node.attrs.written ?? "");
      if (found === null && text.includes(words) && left-- <= 0) {
        const from = at + (node.isText ? text.indexOf(words) : 0);
        found = [from, from + (node.isText ? words.length : node.nodeSize)];
      }
      return found === null;
    });
    if (!found) return false;
    const { state } = this.view;
    const isChip = state.doc.nodeAt(found[0])?.type === nodes.merge_field;
    const selection = isChip ? NodeSelection.create(state.doc, found[0]) : TextSelection.create(state.doc, ...found);
    this.view.focus();
    this.view.dispatch(state.tr.setSelection(selection).scrollIntoView());
    return true;
  }

  // The number of the block that has the caret, from 0.
  get place() {
    return this.view.state.selection.$from.index(0);
  }

  key(view, event) {
    const isCommand = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
    const { selection } = view.state;
    if (isCommand && event.key === "k") editLink(view);
    else if (event.altKey && event.key === "F10") this.toTools();
    else if (event.key === "Enter" && selection instanceof NodeSelection && isEditable(selection.node)) {
      editNode(view, selection.from);
    } else return false;
    return true;
  }

  // What is typed goes after a selected image, field or divider, and does not replace it.
  typedBeside({ selection, tr }, to, text) {
    if (!(selection instanceof NodeSelection)) return false;
    const after = selection.node.isInline ? tr.setSelection(TextSelection.create(tr.doc, to)) : writeAfter(tr, to);
    this.view.dispatch(after.insertText(text).scrollIntoView());
    return true;
  }

  copied() {
    const { content } = this.view.state.selection.content();
    content.descendants(({ attrs }) => void (attrs.src && this.pictures.add(attrs.src)));
  }

  pasted(event) {
    const { view } = this;
    const { empty, from, to } = view.state.selection;
    const images = imagesOf(event.clipboardData);
    const text = event.clipboardData?.getData("text/plain") ?? "";
    const html = event.clipboardData?.getData("text/html") ?? "";
    const isClean = html && clean(html, this.pictures);
    if (images.length && !isClean) {
      insertImages(view, images, to, this.images);
      return true;
    }
    if (html && !isClean && !around(view.state.selection, nodes.code_block)) {
      view.dispatch(view.state.tr.replaceSelection(this.pastedText(text, false)).scrollIntoView());
      return true;
    }
    const address = text.trim();
    if (empty || !ADDRESS.test(address) || ADDRESS.test(view.state.doc.textBetween(from, to))) return false;
    // An address that is pasted over words becomes their link.
    const link = marks.link.create({ href: address });
    view.dispatch(view.state.tr.removeMark(from, to, marks.link).addMark(from, to, link));
    return true;
  }

  dropped(view, event) {
    const images = imagesOf(event.dataTransfer);
    if (!images.length) return false;
    const at = view.posAtCoords({ left: event.clientX, top: event.clientY })?.pos ?? view.state.doc.content.size;
    insertImages(view, images, at, this.images);
    return true;
  }

  // Pasted text is Markdown, unless the author pastes without formats.
  pastedText(text, isPlain) {
    const lines = text.replace(/\r\n?/g, "\n");
    if (!isPlain) return Slice.maxOpen(read(keepShortLines(lines), this.isVideo).content);
    const paragraph = (words) => nodes.paragraph.create(null, words.split("\n").flatMap((line, at) => [
      ...(at ? [nodes.hard_break.create()] : []), ...(line ? [schema.text(line)] : []),
    ]));
    return Slice.maxOpen(Fragment.from(lines.split(/\n{2,}/).map(paragraph)));
  }
}
