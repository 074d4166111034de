// The dialogs of the letter: a link or button, an image, and what a merge field says if it is empty.
import { NodeSelection, TextSelection } from "../../vendor/prosemirror.js";
import { insertBlocks, writeAfter } from "./commands.js";
import { schema } from "./schema.js";

const { nodes, marks } = schema;

// Resolves to the values of the dialog's fields and the pressed button, or null if it was closed.
export function ask(name, values) {
  const dialog = document.querySelector(`[data-dialog=${name}]`);
  const fields = [...dialog.querySelectorAll("[data-of]")];
  for (const field of fields) {
    const value = values[field.dataset.of] ?? "";
    if (field.type === "checkbox") field.checked = Boolean(value);
    else field.value = value;
    // Offer a width that the author typed in Markdown, too.
    if (field.selectedIndex < 0) field.add(new Option(value, undefined, true, true));
  }
  dialog.returnValue = "";
  dialog.showModal();
  const first = dialog.querySelector("[data-first]");
  first.focus();
  first.select();
  return new Promise((resolve) => {
    const over = new AbortController();
    const end = (event, pressed) => {
      event.preventDefault();
      over.abort();
      dialog.close();
      const read = ({ type, checked, value }) => (type === "checkbox" ? checked : value.trim());
      const given = Object.fromEntries(fields.map((field) => [field.dataset.of, read(field)]));
      resolve(pressed ? { ...given, pressed } : null);
    };
    const on = (target, name, pressedOf) =>
      target.addEventListener(name, (event) => end(event, pressedOf(event)), { signal: over.signal });
    // The browser reports a closed dialog a moment later. A key that is pressed meanwhile belongs to the letter.
    on(dialog, "cancel", () => "");
    on(dialog.querySelector("form"), "submit", (event) => event.submitter.value);
    on(dialog, "close", () => dialog.returnValue);
  });
}

// The link around the selection, with the place of all its words.
function linkAt({ doc, selection: { $from, empty } }) {
  const inside = $from.parent.childAfter($from.parentOffset);
  const before = empty ? $from.parent.childBefore($from.parentOffset) : inside;
  const found = [inside, before].find(({ node }) => node && marks.link.isInSet(node.marks));
  if (!found) return null;
  const mark = marks.link.isInSet(found.node.marks);
  let [from, to] = [null, null];
  $from.parent.forEach((node, offset) => {
    const at = $from.start() + offset;
    if (mark.isInSet(node.marks) && (to === null || to === at || at <= $from.start() + found.offset)) {
      if (to !== at) from = at;
      to = at + node.nodeSize;
    }
  });
  return { mark, from, to, words: doc.textBetween(from, to) };
}

const ADDRESS = /^(?:https?:\/\/|mailto:)\S+$/i;

// The address with the scheme that the author left out.
function complete(address) {
  if (/^[^\s/:@]+@[^\s/:@]+\.[^\s/:@]+$/.test(address)) return `mailto:${address}`;
  return /^[\p{L}\p{N}.-]+\.\p{L}{2,}(?:[/?#:]|$)/u.test(address) ? `https://${address}` : address;
}

// Ask for the address of a link or button, and write it.
export async function editLink(view, { button = false, words = "" } = {}) {
  const { state } = view;
  const { from, to, empty } = state.selection;
  const { parent } = state.selection.$from;
  if (!parent.inlineContent || !parent.type.allowsMarkType(marks.link)) return;
  const isInside = !empty || state.selection.$from.marks().some((one) => one.type === marks.link);
  const present = button && !isInside ? null : linkAt(state);
  const place = present ?? { from, to, words: state.doc.textBetween(from, to, " ") };
  const isAddress = !present && ADDRESS.test(place.words);
  const dialog = document.querySelector("[data-dialog=link]");
  const title = dialog.querySelector("h2");
  title.textContent = present?.mark.attrs.button || button ? title.dataset.button : title.dataset.link;
  dialog.querySelector("[value=remove]").hidden = !present;
  const given = await ask("link", {
    words: place.words || words,
    address: present?.mark.attrs.href ?? (isAddress ? place.words : ""),
    button: present?.mark.attrs.button || button,
  });
  view.focus();
  if (!given) return;
  const tr = view.state.tr;
  const isBlock = button && !present && empty;
  if (given.pressed === "remove") {
    tr.removeMark(place.from, place.to, marks.link);
  } else {
    const href = complete(given.address);
    const mark = marks.link.create({ href, title: present?.mark.attrs.title ?? null,
      button: given.button });
    const text = given.words || href;
    if (isBlock) insertBlocks(tr, nodes.paragraph.create(null, schema.text(text, [mark])));
    else if (text === place.words) tr.removeMark(place.from, place.to, marks.link).addMark(place.from, place.to, mark);
    else {
      const others = view.state.doc.resolve(place.from).marksAcross(view.state.doc.resolve(place.to)) ?? [];
      tr.replaceWith(place.from, place.to, schema.text(text, mark.addToSet(marks.link.removeFromSet(others))));
      tr.setSelection(TextSelection.create(tr.doc, place.from + text.length));
    }
  }
  // After a new link, the author writes on without it.
  view.dispatch((present ? tr : tr.removeStoredMark(marks.link)).scrollIntoView());
}

// Ask for what the selected node says, and write it.
const EDIT = {
  image: async (attrs) => {
    const picture = Object.assign(new Image(), { src: attrs.src, alt: "", className: "thumb" });
    document.querySelector("[data-alt-image]").replaceChildren(picture);
    const given = await ask("alt", attrs);
    return given && { ...attrs, alt: given.alt, width: given.width, align: given.align };
  },
  merge_field: async ({ written }) => {
    const [name, ...fallback] = written.slice(2, -2).split("|");
    const given = await ask("field", { fallback: fallback.join("|").trim(), name: name.trim() });
    if (!given) return null;
    const words = given.fallback.replace(/[{}\n`]/g, "");
    return { written: words ? `{{ ${name.trim()}|${words} }}` : `{{ ${name.trim()} }}` };
  },
};

export const isEditable = (node) => node.type.name in EDIT;

export async function editNode(view, at) {
  const node = view.state.doc.nodeAt(at);
  if (!node || !isEditable(node)) return;
  const attrs = await EDIT[node.type.name](node.attrs);
  view.focus();
  if (view.state.doc.nodeAt(at) !== node) return;
  const { tr } = view.state;
  // The second click of a double click selects the blank beside the node, too.
  if (!attrs) return view.dispatch(tr.setSelection(NodeSelection.create(tr.doc, at)));
  tr.setNodeMarkup(at, null, attrs, node.marks);
  // The author writes on after the node: typed words would replace a selected one.
  const { parent, depth } = tr.doc.resolve(at);
  const isAlone = depth === 1 && node.type === nodes.image && parent.childCount === 1;
  view.dispatch(isAlone ? writeAfter(tr, at + 2) : tr.setSelection(TextSelection.create(tr.doc, at + 1)));
}
