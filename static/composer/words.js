// Reads the form's fields as one value, and writes them back.
const TAGS = ["with_tags", "without_tags"];

// The page has the names from `delivery/issue_attributes.py`.
const namesOf = (form) => form.dataset.names.split(" ");

// The letter is posted as `html_content` if it is finished HTML.
export const fieldOf = (form, name) => form.elements[name] ?? form.elements[`id_${name}`];

const boxes = (form, name) => [...form.querySelectorAll(`[type=checkbox][name=${name}]`)];

export function wordsOf(form) {
  const valueOf = (name) => {
    // The ticked tags become one text, as on the server: their ids in ascending order.
    if (TAGS.includes(name)) {
      const ids = boxes(form, name).filter((box) => box.checked).map((box) => Number(box.value));
      return ids.sort((one, other) => one - other).join(",");
    }
    const field = fieldOf(form, name);
    if (!field) return name === "goes_to" ? "everyone" : "";
    return field.type === "checkbox" ? (field.checked ? "on" : "") : field.value;
  };
  return Object.fromEntries(namesOf(form).map((name) => [name, valueOf(name)]));
}

// The page's initial values, without text that was typed before the scripts started.
export function wordsDelivered(form) {
  const copy = form.cloneNode(true);
  copy.reset();
  return wordsOf(copy);
}

export function put(form, words) {
  for (const name of namesOf(form)) {
    const field = fieldOf(form, name);
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
  return Object.keys({ ...one, ...other }).every((name) => (one[name] ?? "") === (other[name] ?? ""));
}
