// A comfort, and nothing the page depends on: the server makes a second press harmless by itself.
// One press at a time, and a word of warning before typed text is left behind.
for (const form of document.querySelectorAll("form[data-once]")) {
  const button = form.querySelector("button");
  let pressed = false;
  let touched = false;

  form.addEventListener("input", () => { touched = true; });
  form.addEventListener("submit", (event) => {
    if (pressed) {
      event.preventDefault();
      return;
    }
    pressed = true;
    button.setAttribute("aria-disabled", "true");
  });
  addEventListener("beforeunload", (event) => {
    if (touched && !pressed) event.preventDefault();
  });
  // Back from the next page: the form is as it was, and may be pressed again.
  addEventListener("pageshow", () => {
    pressed = false;
    button.removeAttribute("aria-disabled");
  });
}
document.getElementById("errors")?.focus();
