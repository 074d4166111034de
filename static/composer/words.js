// Reads the form's fields as one value, and writes them back.
const NAMES = ["title", "preheader", "format", "letter", "text_content", "goes_to", "unlisted"];

export function wordsOf(form) {
  return gathered(form, (field) => (field.type === "checkbox" ? (field.checked ? "on" : "") : field.value));
}

// The page's initial values, without text that was typed before the scripts started.
export function wordsDelivered(form) {
  return gathered(form, (field) => {
    if (field instanceof RadioNodeList) return [...field].find((choice) => choice.defaultChecked)?.value ?? "";
    return field.type === "checkbox" ? (field.defaultChecked ? "on" : "") : field.defaultValue;
  });
}

function gathered(form, valueOf) {
  const words = (name) => {
    const field = form.elements[name];
    return field ? valueOf(field) : name === "goes_to" ? "everyone" : "";
  };
  return Object.fromEntries(NAMES.map((name) => [name, words(name)]));
}

export function put(form, words) {
  for (const name of NAMES) {
    const field = form.elements[name];
    if (!field || !(name in words)) continue;
    if (field.type === "checkbox") field.checked = words[name] === "on";
    else field.value = words[name];
  }
  form.dispatchEvent(new Event("input", { bubbles: true }));
}

export function same(one, other) {
  return NAMES.every((name) => (one[name] ?? "") === (other[name] ?? ""));
}
