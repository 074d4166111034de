// Uploads images that are chosen, pasted or dropped, and lists those in the letter with their alt texts.
import { post } from "./request.js";
import { textOf } from "./texts.js";
import { insert } from "./tools.js";

// Alt text, address and title may have pairs of brackets. No part can match in two ways, which could take minutes.
const ALT = /(?<!\\)!\[((?:\\.|[^[\]\\]|\[[^[\]]*\])*)\]/;
const TARGET = /(\(\s*(?:<([^<>\n]+)>|((?:[^\s()<>]|\([^\s()]*\))+))(?:\s+(?:"[^"]*"|'[^']*'|\([^()]*\)))?\s*\))/;
const IN_MARKDOWN = new RegExp(`${ALT.source}${TARGET.source}${/(\{[\w=% ]*\})?/.source}`, "g");
const IN_HTML = /<img\b[^>]*>/gi;
const KINDS = ["image/png", "image/jpeg", "image/gif", "image/webp"];

const escaped = (words) => words.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

function attribute(tag, name) {
  const document = new DOMParser().parseFromString(tag, "text/html");
  return document.querySelector("img")?.getAttribute(name) ?? "";
}

// Find each image in the letter: its place, its URL and what the list can change.
export function imagesIn(letter, format) {
  if (format !== "html") {
    return [...letter.matchAll(IN_MARKDOWN)].map((match) => {
      const [source, alt, target, quoted, address = quoted, braces] = match;
      const [, width = ""] = /width=([\w%]+)/.exec(braces) ?? [];
      const [, align = ""] = /align=(\w+)/.exec(braces) ?? [];
      const written = (one) => {
        const after = [one.width && `width=${one.width}`, one.align && `align=${one.align}`].filter(Boolean).join(" ");
        return `![${one.alt.replace(/[[\]\\]/g, "\\$&")}]${target}${after && `{${after}}`}`;
      };
      return { at: match.index, source, address, alt: alt.replace(/\\(.)/g, "$1"), width, align, written };
    });
  }
  return [...letter.matchAll(IN_HTML)].map(({ index: at, 0: source }) => ({
    at,
    source,
    address: attribute(source, "src"),
    alt: attribute(source, "alt"),
    written: ({ alt }) => {
      const without = source.replace(/\salt\s*=\s*("[^"]*"|'[^']*'|[^\s>]*)/i, "");
      return without.replace(/^<img/i, (start) => `${start} alt="${escaped(alt)}"`);
    },
  }));
}

export class Images {
  constructor(form, refused) {
    this.form = form;
    this.letter = form.elements.letter;
    this.refused = refused;
    this.file = document.querySelector("[data-image-file]");
    this.dialog = document.querySelector("[data-dialog=alt]");
    this.list = form.querySelector("[data-image-list]");
    for (const button of form.querySelectorAll("[data-tool=image]")) {
      button.addEventListener("click", () => this.file.click());
    }
    this.file.addEventListener("change", () => {
      const [file] = this.file.files;
      if (file) this.upload(file);
      this.file.value = "";
    });
    this.letter.addEventListener("paste", (event) => this.receive(event, event.clipboardData));
    this.letter.addEventListener("drop", (event) => this.receive(event, event.dataTransfer));
    this.letter.addEventListener("input", () => this.show());
    this.show();
  }

  receive(event, data) {
    const file = [...(data?.files ?? [])].find((one) => KINDS.includes(one.type));
    if (!file) return;
    event.preventDefault();
    this.upload(file);
  }

  async upload(file) {
    const fields = new FormData();
    fields.append("image", file, file.name || "image");
    const answer = await post(this.form.dataset.images, fields).catch(() => null);
    const facts = await answer?.json().catch(() => null);
    if (!answer?.ok || !facts) {
      return this.refused(facts?.sentence ?? textOf("image_failed"));
    }
    const alt = await this.askForWords(facts);
    if (alt === null) return this.letter.focus();
    const markup =
      this.form.elements.format.value === "html"
        ? facts.html.replace('alt=""', () => `alt="${escaped(alt)}"`)
        : facts.markdown.replace("![]", () => `![${alt.replace(/[[\]\\]/g, "\\$&")}]`);
    this.form.querySelector("[data-panel-of=letter]").click();
    insert(this.letter, markup);
  }

  // Resolves to the alt text; null if the author does not insert the image.
  askForWords(facts) {
    const field = this.dialog.querySelector("#alt_words");
    field.value = "";
    this.dialog.returnValue = "";
    this.dialog.querySelector("[data-alt-image]").src = facts.address;
    this.dialog.showModal();
    field.focus();
    return new Promise((resolve) => {
      const read = () => resolve(this.dialog.returnValue === "insert" ? field.value.trim() : null);
      this.dialog.addEventListener("close", read, { once: true });
    });
  }

  show() {
    const found = imagesIn(this.letter.value, this.form.elements.format.value);
    this.form.querySelector("[data-image-count]").textContent = found.length || "";
    this.form.querySelector("[data-no-images]").hidden = found.length > 0;
    this.list.hidden = found.length === 0;
    const before = [...this.list.children];
    if (before.length !== found.length || before.some((row, n) => row.dataset.address !== found[n].address)) {
      this.list.replaceChildren(...found.map((image, number) => this.row(image, number)));
    }
    found.forEach((image, number) => {
      for (const field of this.list.children[number].querySelectorAll("input, select")) {
        if (field === document.activeElement) continue;
        field.value = image[field.dataset.of];
        // A width that the author typed is no choice yet.
        if (field.selectedIndex < 0) field.add(new Option(image[field.dataset.of], undefined, true, true));
      }
    });
  }

  row(image, number) {
    const row = document.querySelector("[data-image-row]").content.firstElementChild.cloneNode(true);
    row.dataset.address = image.address;
    row.querySelector("img").src = image.address;
    row.addEventListener("input", (event) => {
      event.stopPropagation();
      const now = imagesIn(this.letter.value, this.form.elements.format.value)[number];
      const { of } = event.target.dataset;
      this.letter.setRangeText(now.written({ ...now, [of]: event.target.value }), now.at, now.at + now.source.length);
      this.letter.dispatchEvent(new Event("input", { bubbles: true }));
    });
    return row;
  }
}
