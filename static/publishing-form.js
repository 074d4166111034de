// Keeps the text and its key for this entry of the tab's history. Without it, a browser that goes back could put
// old text into a form with a new key. Pressing the button again would then publish a second issue.
const PREFIX = "homing-form:";

function textOf(form) {
  const text = new URLSearchParams(new FormData(form));
  text.delete("csrfmiddlewaretoken");
  return text.toString();
}

for (const form of document.querySelectorAll("form[data-once]")) {
  const button = form.querySelector("[data-publish]");
  const key = form.elements.idempotency_key;
  let pressed = false;
  let touched = false;

  // The author may have typed before this script ran.
  const delivered = form.cloneNode(true);
  delivered.reset();
  const isTyped = textOf(form) !== textOf(delivered);
  const kept = !isTyped && history.state?.key && sessionStorage.getItem(PREFIX + history.state.key);
  if (kept) {
    key.value = history.state.key;
    const words = new URLSearchParams(kept);
    for (const field of form.elements) {
      if (/checkbox|radio/.test(field.type)) field.checked = words.getAll(field.name).includes(field.value);
      else if (words.has(field.name)) field.value = words.get(field.name);
    }
  } else {
    // The old key needs no copy. The page may have text that belongs to its own key.
    history.replaceState({ key: key.value }, "");
  }

  function keep() {
    try {
      sessionStorage.setItem(PREFIX + key.value, textOf(form));
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
