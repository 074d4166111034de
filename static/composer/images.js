// Uploads images that are chosen, pasted or dropped, and lists those in the letter with their alt texts.
import { post } from "./request.js";
import { textOf } from "./texts.js";
import { insert } from "./tools.js";

const IN_MARKDOWN = /!\[((?:\\.|[^\]\\])*)\]\(\s*<?([^)\s>]+)>?[^)]*\)/g;
const IN_HTML = /<img\b[^>]*>/gi;
const KINDS = ["image/png", "image/jpeg", "image/gif", "image/webp"];

const escaped = (words) => words.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

function attribute(tag, name) {
  const document = new DOMParser().parseFromString(tag, "text/html");
  return document.querySelector("img")?.getAttribute(name) ?? "";
}

// Find each image in the letter: its place, its URL and its alt text.
export function imagesIn(letter, format) {
  if (format !== "html") {
    return [...letter.matchAll(IN_MARKDOWN)].map((match) => ({
      at: match.index,
      source: match[0],
      address: match[2],
      alt: match[1].replace(/\\(.)/g, "$1"),
      with: (alt) => `![${alt.replace(/[[\]\\]/g, "\\$&")}${match[0].slice(2 + match[1].length)}`,
    }));
  }
  return [...letter.matchAll(IN_HTML)].map((match) => ({
    at: match.index,
    source: match[0],
    address: attribute(match[0], "src"),
    alt: attribute(match[0], "alt"),
    with: (alt) => {
      const without = match[0].replace(/\salt\s*=\s*("[^"]*"|'[^']*'|[^\s>]*)/i, "");
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
      const field = this.list.children[number].querySelector("input");
      if (field !== document.activeElement) field.value = image.alt;
    });
  }

  row(image, number) {
    const row = document.createElement("li");
    row.dataset.address = image.address;
    const thumb = Object.assign(document.createElement("img"), { src: image.address, alt: "", className: "thumb" });
    const field = document.createElement("div");
    field.className = "field";
    const id = `image_${number}`;
    const label = Object.assign(document.createElement("label"),
      { htmlFor: id, textContent: textOf("alt_label") });
    const input = Object.assign(document.createElement("input"), { id, autocomplete: "off" });
    input.addEventListener("input", (event) => {
      event.stopPropagation();
      const now = imagesIn(this.letter.value, this.form.elements.format.value)[number];
      this.letter.setRangeText(now.with(input.value), now.at, now.at + now.source.length);
      this.letter.dispatchEvent(new Event("input", { bubbles: true }));
    });
    field.append(label, input);
    row.append(thumb, field);
    return row;
  }
}
