// What a letter can contain: the blocks, the parts of a line, and the formats of words.
import { Schema, basicSchema, tableNodes } from "../../vendor/prosemirror.js";

const { nodes, marks } = basicSchema.spec;
const of = (name) => nodes.get(name);

const tableAttribute = {
  default: null,
  getFromDOM: (cell) => /^(?:left|right|center)$/.exec(cell.dataset.align ?? cell.style.textAlign)?.[0] ?? null,
  setDOMAttr: (align, attributes) => align && (attributes["data-align"] = align),
};

const tables = tableNodes({ tableGroup: "block", cellContent: "inline*", cellAttributes: { align: tableAttribute } });

// A list is tight if no blank line separates its items. `marker` is the sign before or after the number.
const list = (name, marker) => ({
  ...of(name),
  attrs: { ...of(name).attrs, tight: { default: true }, marker: { default: marker } },
  parseDOM: of(name).parseDOM.map((rule) => ({
    ...rule,
    getAttrs: (dom) => ({ ...rule.getAttrs(dom), tight: !dom.querySelector(":scope > li > p + p"), marker }),
  })),
});

export const schema = new Schema({
  nodes: nodes
    .update("heading", { ...of("heading"), content: "inline*" })
    .update("hard_break", { ...of("hard_break"), linebreakReplacement: true })
    .update("blockquote", { ...of("blockquote"), defining: true })
    .update("bullet_list", list("bullet_list", "-"))
    .update("ordered_list", list("ordered_list", "."))
    .update("image", {
      ...of("image"),
      attrs: {
        src: {}, alt: { default: "" }, title: { default: null }, width: { default: "" }, align: { default: "" },
      },
      parseDOM: [{
        tag: "img[src]",
        getAttrs: (image) => ({
          src: image.getAttribute("src"),
          alt: image.alt,
          title: image.getAttribute("title"),
          width: image.dataset.width ?? "",
          align: image.dataset.align ?? "",
        }),
      }],
      toDOM: ({ attrs: { src, alt, title, width, align } }) => ["img", {
        src, alt, title,
        width: width.replace("px", "") || null,
        "data-width": width || null,
        "data-align": align || null,
      }],
    })
    .append({
      ...tables,
      // Between two cells there is no place to write: a new cell there would move all others.
      table: { ...tables.table, allowGapCursor: false },
      table_row: { ...tables.table_row, allowGapCursor: false },
    })
    .append({
      // `{{ name|there }}`, as it is written.
      merge_field: {
        inline: true,
        group: "inline",
        atom: true,
        attrs: { written: {} },
        parseDOM: [{ tag: "[data-written]", getAttrs: (dom) => ({ written: dom.dataset.written }) }],
        toDOM: ({ attrs: { written } }) => {
          const [name, ...fallback] = written.slice(2, -2).split("|");
          const parts = [["span", name.trim()]];
          if (fallback.length) parts.push(["span", { class: "fallback" }, fallback.join("|").trim()]);
          return ["span", { class: "merge-field", "data-written": written }, ...parts];
        },
        leafText: ({ attrs }) => attrs.written,
      },
      footnote_ref: {
        inline: true,
        group: "inline",
        atom: true,
        attrs: { label: {} },
        parseDOM: [{ tag: "sup[data-label]", getAttrs: (dom) => ({ label: dom.dataset.label }), priority: 60 }],
        toDOM: ({ attrs: { label } }) => ["sup", { class: "footnote-ref", "data-label": label }],
      },
      footnote: {
        content: "block+",
        group: "block",
        defining: true,
        isolating: true,
        attrs: { label: {} },
        parseDOM: [{ tag: "aside[data-label]", getAttrs: (dom) => ({ label: dom.dataset.label }) }],
        toDOM: ({ attrs: { label } }) => ["aside", { class: "footnote", "data-label": label }, 0],
      },
      // Markdown that the editor cannot show otherwise. It stays as it is written.
      as_written: {
        content: "text*",
        marks: "",
        group: "block",
        code: true,
        defining: true,
        parseDOM: [{ tag: "pre.as-written", preserveWhitespace: "full", priority: 60 }],
        toDOM: () => ["pre", { class: "as-written" }, 0],
      },
    }),
  marks: marks
    .update("link", {
      ...marks.get("link"),
      attrs: { href: {}, title: { default: null }, button: { default: false } },
      parseDOM: [{
        tag: "a[href]",
        getAttrs: (link) => ({
          href: link.getAttribute("href"),
          title: link.getAttribute("title"),
          button: link.classList.contains("button"),
        }),
      }],
      toDOM: ({ attrs: { href, title, button } }) => ["a", { href, title, class: button ? "button" : null }],
    })
    .addBefore("code", "strike", {
      parseDOM: [{ tag: "s" }, { tag: "del" }, { tag: "strike" }, { style: "text-decoration=line-through" }],
      toDOM: () => ["s"],
    }),
});
