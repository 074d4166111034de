// A button that prints. Without scripts there is none, and the browser's own way is as short.
for (const button of document.querySelectorAll("[data-print]")) {
  button.hidden = false;
  button.addEventListener("click", () => print());
}
