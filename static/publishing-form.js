// A comfort for the author; that a letter is published once is the server's doing.
//
// Words and key belong together. When a browser comes back to this page it may fetch a fresh form,
// with a fresh key, and put the old words into it: pressed again, they would be another issue. So
// the browser is told not to (autocomplete="off" on the form), and both are kept here, for this
// place in the history of this tab: who comes back finds the words, under the key they had.
const PREFIX = "homing-letter:";

for (const form of document.querySelectorAll("form[data-once]")) {
  const button = form.querySelector("button");
  const key = form.elements.idempotency_key;
  const written = ["title", "html_content", "text_content"].map((name) => form.elements[name]);
  let pressed = false;
  let touched = false;

  const kept = history.state?.key && sessionStorage.getItem(PREFIX + history.state.key);
  if (kept) {
    key.value = history.state.key;
    JSON.parse(kept).forEach((words, number) => { written[number].value = words; });
  } else {
    // Without words of its own an old key is worth nothing, and the page may hold words of its key.
    history.replaceState({ key: key.value }, "");
  }

  function keep() {
    try {
      const words = written.map((field) => field.value);
      sessionStorage.setItem(PREFIX + key.value, JSON.stringify(words));
    } catch {
      // The letter is longer than this browser keeps. It still stands in the form.
    }
  }

  form.addEventListener("input", () => {
    touched = true;
    keep();
  });
  form.addEventListener("submit", (event) => {
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
