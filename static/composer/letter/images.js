// Uploads images into the letter. While an image loads, a placeholder has its place.
import { Decoration, DecorationSet, Plugin, PluginKey, TextSelection } from "../../vendor/prosemirror.js";
import { ask, refusalSentence } from "../request.js";
import { textOf } from "../texts.js";
import { insertBlocks } from "./commands.js";
import { editNode } from "./dialogs.js";
import { schema } from "./schema.js";

const KINDS = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const { nodes } = schema;
const key = new PluginKey("images");

export const imagesOf = (data) => [...(data?.files ?? [])].filter((file) => KINDS.includes(file.type));

// Upload one image. Resolves to what the server says of it, or to null after `refused(sentence)`.
export async function upload(form, image, refused) {
  const fields = new FormData();
  fields.append("image", image, image.name || "image");
  const [answer, facts] = await ask(form.dataset.images, fields);
  if (answer?.ok && facts) return facts;
  refused(refusalSentence(answer, facts) ?? textOf("image_failed"));
  return null;
}

function placeholder() {
  const element = document.createElement("span");
  element.className = "loading";
  element.setAttribute("role", "status");
  element.textContent = textOf("image_loading");
  return element;
}

export const placeholders = new Plugin({
  key,
  state: {
    init: () => DecorationSet.empty,
    apply(tr, set) {
      const { add, remove } = tr.getMeta(key) ?? {};
      const moved = set.map(tr.mapping, tr.doc);
      if (add) return moved.add(tr.doc, [Decoration.widget(add.at, placeholder, { id: add.id })]);
      return remove ? moved.remove(moved.find(null, null, ({ id }) => id === remove)) : moved;
    },
  },
  props: { decorations(state) { return key.getState(state); } },
});

// Upload images, and put them where `at` is now: the author may continue to write meanwhile.
export async function insertImages(view, files, at, { form, refused }) {
  for (const file of files) {
    const id = {};
    view.dispatch(view.state.tr.setMeta(key, { add: { id, at } }));
    const facts = await upload(form, file, refused);
    const place = key.getState(view.state).find(null, null, (one) => one.id === id)[0]?.from;
    const tr = view.state.tr.setMeta(key, { remove: id });
    if (!facts || place === undefined) {
      view.dispatch(tr);
      continue;
    }
    const image = nodes.image.create({ src: facts.address });
    const $place = tr.doc.resolve(place);
    // In a list or a table an image is part of the line, elsewhere it is a paragraph of its own.
    if ($place.depth > 1) tr.insert(place, image);
    else insertBlocks(tr.setSelection(TextSelection.near($place)), nodes.paragraph.create(null, image));
    view.dispatch(tr.scrollIntoView());
    let shown = place;
    view.state.doc.descendants((node, where) => void (node === image && (shown = where)));
    at = shown + 1;
    if (files.length === 1) await editNode(view, shown);
  }
}
