// Show the buttons that copy a field. Without https the browser has no clipboard, so they stay
// hidden.
for (const button of navigator.clipboard ? document.querySelectorAll("button[data-copy]") : []) {
  const field = document.getElementById(button.dataset.copy);
  const status = button.parentElement.querySelector("output");
  button.hidden = false;
  button.addEventListener("click", async () => {
    field.select();
    await navigator.clipboard.writeText(field.value);
    status.textContent = button.dataset.copied;
  });
}
