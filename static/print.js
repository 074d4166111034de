// Show the print button, which needs scripts. Without scripts, use the browser's menu.
for (const button of document.querySelectorAll("[data-print]")) {
  button.hidden = false;
  button.addEventListener("click", () => print());
}
