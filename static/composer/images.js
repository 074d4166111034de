// Uploads images that are chosen, pasted or dropped, and lists those in the letter with their alt texts.
import { ask } from "./request.js";
import { textOf } from "./texts.js";
import { insert } from "./tools.js";

// Alt text, address and title may contain pairs of brackets. No part of the pattern may match the
// same text in two ways, because the search could then take minutes.
const ALT = /(?<!\\)!\[((?:\\.|[^[\]\\]|\[[^[\]]*\])*)\]/;
const TARGET = /(\(\s*(?:<([^<>\n]+)>|((?:[^\s()<>]|\([^\s()]*\))+))(?:\s+(?:"[^"]*"|'[^']*'|\([^()]*\)))?\s*\))/;
const IN_MARKDOWN = new RegExp(`${ALT.source}${TARGET.source}${/(\{[\w=% ]*\})?/.source}`, "g");
const IN_HTML = /<img\b[^>]*>/gi;
const KINDS = ["image/png", "image/jpeg", "image/gif", "image/webp"];

const escaped = (words) => words.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

function valuesIn(tag) {
  const [image] = new DOMParser().parseFromString(tag, "text/html").images;
  return { address: image?.getAttribute("src") ?? "", alt: image?.alt ?? "" };
}

// Find each image in the letter: its place, its URL and what the list can change.
export function imagesIn(letter, format) {
  if (format !== "html") {
    return [...letter.matchAll(IN_MARKDOWN)].map((match) => {
      const [source, alt, target, quoted, address = quoted, braces] = match;
      const [, width = ""] = /width=([\w%]+)/.exec(braces) ?? [];
      const [, align = ""] = /align=(\w+)/.exec(braces) ?? [];
      const write = (one) => {
        const after = [one.width && `width=${one.width}`, one.align && `align=${one.align}`].filter(Boolean).join(" ");
        return `![${one.alt.replace(/[[\]\\]/g, "\\$&")}]${target}${after && `{${after}}`}`;
      };
      return { at: match.index, source, address, alt: alt.replace(/\\(.)/g, "$1"), width, align, with: write };
    });
  }
  return [...letter.matchAll(IN_HTML)].map(({ index: at, 0: source }) => ({
    at,
    source,
    ...valuesIn(source),
    with: ({ alt }) => {
      const without = source.replace(/\salt\s*=\s*("[^"]*"|'[^']*'|[^\s>]*)/i, "");
      return without.replace(/^<img/i, (start) => `${start} alt="${escaped(alt)}"`);
    },
  }));
}

export function images(form, refused) {
  const { id_letter: letter, format } = form.elements;
  const file = document.querySelector("[data-image-file]");
  const dialog = document.querySelector("[data-dialog=alt]");
  const list = form.querySelector("[data-image-list]");
  let listed = "";

  async function upload(image) {
    const fields = new FormData();
    fields.append("image", image, image.name || "image");
    const [answer, facts] = await ask(form.dataset.images, fields);
    if (!answer?.ok || !facts) return refused(facts?.sentence ?? textOf("image_failed"));
    const alt = await askForWords(facts);
    if (alt === null) return letter.focus();
    const [written] = imagesIn(facts[format.value], format.value);
    form.querySelector("[data-panel-of=letter]").click();
    insert(letter, written.with({ ...written, alt }));
  }

  // Resolves to the alt text; null if the author does not insert the image.
  function askForWords(facts) {
    const field = dialog.querySelector("#alt_words");
    field.value = "";
    dialog.returnValue = "";
    dialog.querySelector("[data-alt-image]").replaceChildren(thumbOf(facts.address));
    dialog.showModal();
    field.focus();
    return new Promise((resolve) => {
      const read = () => resolve(dialog.returnValue === "insert" ? field.value.trim() : null);
      dialog.addEventListener("close", read, { once: true });
    });
  }

  function show() {
    const found = imagesIn(letter.value, format.value);
    form.querySelector("[data-image-count]").textContent = found.length || "";
    form.querySelector("[data-no-images]").hidden = found.length > 0;
    list.hidden = found.length === 0;
    const addresses = found.map((image) => image.address).join(" ");
    if (listed !== addresses) list.replaceChildren(...found.map(rowOf));
    listed = addresses;
    found.forEach((image, number) => {
      for (const field of list.children[number].querySelectorAll("input, select")) {
        if (field === document.activeElement) continue;
        field.value = image[field.dataset.of];
        // Offer a width that the author typed, too.
        if (field.selectedIndex < 0) field.add(new Option(image[field.dataset.of], undefined, true, true));
      }
    });
  }

  function thumbOf(address) {
    return Object.assign(new Image(), { src: address, alt: "", className: "thumb" });
  }

  function rowOf({ address }, number) {
    const row = document.querySelector("[data-image-row]").content.firstElementChild.cloneNode(true);
    row.prepend(thumbOf(address));
    row.addEventListener("input", (event) => {
      event.stopPropagation();
      const now = imagesIn(letter.value, format.value)[number];
      const text = now.with({ ...now, [event.target.dataset.of]: event.target.value });
      letter.setRangeText(text, now.at, now.at + now.source.length);
      letter.dispatchEvent(new Event("input", { bubbles: true }));
    });
    return row;
  }

  for (const button of form.querySelectorAll("[data-tool=image]")) {
    button.addEventListener("click", () => file.click());
  }
  file.addEventListener("change", () => {
    if (file.files.length) upload(file.files[0]);
    file.value = "";
  });
  for (const name of ["paste", "drop"]) {
    letter.addEventListener(name, (event) => {
      const { files } = event.clipboardData ?? event.dataTransfer ?? {};
      const image = [...(files ?? [])].find((one) => KINDS.includes(one.type));
      if (!image) return;
      event.preventDefault();
      upload(image);
    });
  }
  letter.addEventListener("input", show);
  show();
}
