// Runs the external checks after the page is shown, and shows their results.
const place = document.querySelector("[data-findings]");

async function look(form) {
  const button = form.querySelector("button");
  if (button.getAttribute("aria-disabled") === "true") return;
  button.setAttribute("aria-disabled", "true");
  form.querySelector("[data-looking]").hidden = false;
  try {
    const headers = { Accept: "application/json" };
    const answer = await fetch(form.action, { method: "POST", headers, body: new FormData(form) });
    if (!answer.ok || answer.redirected) throw new Error(answer.statusText);
    const found = await answer.json();
    const held = place.contains(document.activeElement);
    place.innerHTML = found.html;
    const sentence = document.querySelector("[data-sentence]");
    if (sentence.textContent !== found.sentence) sentence.textContent = found.sentence;
    // If the focused element is gone, focus the heading instead of the top of the document.
    if (held) document.querySelector("h1").focus();
  } catch {
    // The author is signed out or the server is unreachable: allow another press.
    button.removeAttribute("aria-disabled");
    form.querySelector("[data-looking]").hidden = true;
  }
}

place.addEventListener("submit", (event) => {
  event.preventDefault();
  look(event.target);
});
const unlooked = place.querySelector("form[data-at-once]");
if (unlooked) look(unlooked);
document.getElementById("errors")?.focus();
