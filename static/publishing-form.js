// Keeps the text and its key for this entry of the tab's history. Without it, a browser that goes back could put
// old text into a form with a new key. Pressing the button again would then publish a second issue.
const PREFIX = "homing-letter:";

for (const form of document.querySelectorAll("form[data-once]")) {
  const button = form.querySelector("[data-publish]");
  const key = form.elements.idempotency_key;
  const written = ["title", "preheader", "html_content", "text_content", "issue", "version", "goes_to", "unlisted"]
    .filter((name) => form.elements[name]);
  const boxes = [...form.querySelectorAll("[data-tags] [type=checkbox]")];
  let pressed = false;
  let touched = false;

  const valueOf = (field) => (field.type === "checkbox" ? field.checked : field.value);
  const put = (field, words) => {
    field[field.type === "checkbox" ? "checked" : "value"] = words;
  };

  // The author may have typed before this script ran.
  const delivered = form.cloneNode(true);
  delivered.reset();
  const textOf = (one) => new URLSearchParams(new FormData(one)).toString();
  const isTyped = textOf(form) !== textOf(delivered);
  const kept = !isTyped && history.state?.key && sessionStorage.getItem(PREFIX + history.state.key);
  if (kept) {
    key.value = history.state.key;
    const words = JSON.parse(kept);
    for (const name of written) {
      if (name in words) put(form.elements[name], words[name]);
    }
    for (const box of boxes) box.checked = words.tags?.includes(box.name + box.value) ?? box.checked;
  } else {
    // The old key needs no copy. The page may have text that belongs to its own key.
    history.replaceState({ key: key.value }, "");
  }

  function keep() {
    try {
      const words = Object.fromEntries(written.map((name) => [name, valueOf(form.elements[name])]));
      words.tags = boxes.filter((box) => box.checked).map((box) => box.name + box.value);
      sessionStorage.setItem(PREFIX + key.value, JSON.stringify(words));
    } catch {
      // The letter is too long for the browser's storage. The form still has it.
    }
  }

  const touch = () => {
    touched = true;
    keep();
  };
  form.addEventListener("input", touch);
  if (isTyped) touch();
  form.addEventListener("submit", (event) => {
    // A test letter opens in a new window, and the form stays here to be published.
    if (event.submitter?.hasAttribute("formaction")) return;
    if (pressed) return event.preventDefault();
    pressed = true;
    keep();
    button.setAttribute("aria-disabled", "true");
  });
  addEventListener("beforeunload", (event) => {
    if (touched && !pressed) event.preventDefault();
  });
  // After going back from the next page, the button works again.
  addEventListener("pageshow", () => {
    pressed = false;
    button.removeAttribute("aria-disabled");
  });
}
