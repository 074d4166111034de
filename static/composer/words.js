// Reads the form's fields as one value, and writes them back.
const TAGS = ["with_tags", "without_tags"];
const NAMES = ["title", "preheader", "format", "letter", "text_content", "goes_to", "unlisted", ...TAGS];

const boxes = (form, name) => [...form.querySelectorAll(`[type=checkbox][name=${name}]`)];

// The server writes ticked tags as one text, too: their ids in order.
function ticked(form, name, isTicked) {
  const ids = boxes(form, name).filter(isTicked).map((box) => Number(box.value));
  return ids.sort((one, other) => one - other).join(",");
}

export function wordsOf(form) {
  const isTicked = (box) => box.checked;
  return gathered(form, isTicked, (field) => (field.type === "checkbox" ? (isTicked(field) ? "on" : "") : field.value));
}

// The page's initial values, without text that was typed before the scripts started.
export function wordsDelivered(form) {
  return gathered(form, (box) => box.defaultChecked, (field) => {
    if (field instanceof RadioNodeList) return [...field].find((choice) => choice.defaultChecked)?.value ?? "";
    return field.type === "checkbox" ? (field.defaultChecked ? "on" : "") : field.defaultValue;
  });
}

function gathered(form, isTicked, valueOf) {
  const words = (name) => {
    if (TAGS.includes(name)) return ticked(form, name, isTicked);
    const field = form.elements[name];
    return field ? valueOf(field) : name === "goes_to" ? "everyone" : "";
  };
  return Object.fromEntries(NAMES.map((name) => [name, words(name)]));
}

export function put(form, words) {
  for (const name of NAMES) {
    const field = form.elements[name];
    if (!field || !(name in words)) continue;
    if (TAGS.includes(name)) {
      const ids = words[name].split(",");
      for (const box of boxes(form, name)) box.checked = ids.includes(box.value);
    } else if (field.type === "checkbox") field.checked = words[name] === "on";
    else field.value = words[name];
  }
  form.dispatchEvent(new Event("input", { bubbles: true }));
}

export function same(one, other) {
  return NAMES.every((name) => (one[name] ?? "") === (other[name] ?? ""));
}
