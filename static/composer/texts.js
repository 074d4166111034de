// The texts of these scripts, by name. They are in the page's template, so that they can be translated.
const texts = document.querySelector("template[data-texts]").content;

// The text of that name, with `values` in the place of names in braces.
export function textOf(name, values = {}) {
  const text = texts.querySelector(`[data-text=${name}]`).textContent.trim();
  return text.replace(/\{(\w+)\}/g, (braces, key) => values[key] ?? braces);
}
