// A help for the author. The server makes sure that a form becomes one draft, published once.
//
// Words and key belong together. When a browser comes back to this page it may fetch a fresh form,
// with a fresh key, and put the old words into it: pressed again, they would be another issue. So
// the browser is told not to (autocomplete="off" on the form), and both are kept here, for this
// place in the history of this tab: who comes back finds the words, under the key they had.
const PREFIX = "homing-letter:";

for (const form of document.querySelectorAll("form[data-once]")) {
  const button = form.querySelector("[data-publish]");
  const key = form.elements.idempotency_key;
  // Which version it is and whom it goes to belong to the key as much as the words do.
  const written = ["title", "preheader", "html_content", "text_content", "issue", "version", "goes_to", "unlisted"]
    .filter((name) => form.elements[name]);
  let pressed = false;
  let touched = false;

  // A box says whether it is ticked; its value never changes.
  const said = (field) => (field.type === "checkbox" ? field.checked : field.value);
  const put = (field, words) => {
    field[field.type === "checkbox" ? "checked" : "value"] = words;
  };

  // What was typed before this script came is as good as what is typed now.
  const delivered = (field) => (field.type === "checkbox" ? field.defaultChecked : field.defaultValue);
  const isTyped = written
    .filter((name) => !(form.elements[name] instanceof RadioNodeList))
    .some((name) => said(form.elements[name]) !== delivered(form.elements[name]));
  const kept = !isTyped && history.state?.key && sessionStorage.getItem(PREFIX + history.state.key);
  if (kept) {
    key.value = history.state.key;
    const words = JSON.parse(kept);
    for (const name of written) {
      if (name in words) put(form.elements[name], words[name]);
    }
  } else {
    // Without words of its own an old key is worth nothing, and the page may hold words of its key.
    history.replaceState({ key: key.value }, "");
  }

  function keep() {
    try {
      const words = Object.fromEntries(written.map((name) => [name, said(form.elements[name])]));
      sessionStorage.setItem(PREFIX + key.value, JSON.stringify(words));
    } catch {
      // The letter is longer than this browser keeps. It still stands in the form.
    }
  }

  function touch() {
    touched = true;
    keep();
  }
  form.addEventListener("input", touch);
  if (isTyped) touch();
  form.addEventListener("submit", (event) => {
    // A test letter opens in a window of its own, and the words stay here to be published.
    if (event.submitter?.hasAttribute("formaction")) return;
    if (pressed) {
      event.preventDefault();
      return;
    }
    pressed = true;
    keep();
    button.setAttribute("aria-disabled", "true");
  });
  addEventListener("beforeunload", (event) => {
    if (touched && !pressed) event.preventDefault();
  });
  // Back from the next page, the form may be pressed again.
  addEventListener("pageshow", () => {
    pressed = false;
    button.removeAttribute("aria-disabled");
  });
}
document.getElementById("errors")?.focus();
