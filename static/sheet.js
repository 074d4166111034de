// Opens the confirmation page of an action as a dialog. Without scripts, or if anything fails, the link or form
// opens that page itself.

async function open(address, opener) {
  const answer = await fetch(address, { headers: { Accept: "text/html" }, cache: "no-store" });
  const asked = new DOMParser().parseFromString(await answer.text(), "text/html");
  const block = asked.querySelector("main .sheet");
  if (!answer.ok || answer.redirected || !block) throw new Error("no sheet");
  const dialog = document.createElement("dialog");
  dialog.className = "sheet";
  dialog.append(...document.adoptNode(block).childNodes);
  const heading = document.createElement("h2");
  heading.append(...dialog.querySelector("h1").childNodes);
  heading.id = "asked";
  heading.tabIndex = -1;
  dialog.querySelector("h1").replaceWith(heading);
  dialog.setAttribute("aria-labelledby", heading.id);
  dialog.querySelector("[data-not-now]").addEventListener("click", (event) => {
    event.preventDefault();
    dialog.close();
  });
  let pressed = false;
  dialog.querySelector("form").addEventListener("submit", (event) => {
    if (pressed) event.preventDefault(); // a second press does nothing
    pressed = true;
  });
  dialog.addEventListener("close", () => {
    dialog.remove();
    // The browser returns the focus to the link, unless the link was removed.
    if (!opener.checkVisibility()) document.querySelector("h1").focus();
  });
  document.body.append(dialog);
  dialog.showModal();
  heading.focus();
  htmx.process(dialog); // Let htmx update the numbers that change while the dialog is open.
}

let opening = false;
async function ask(address, opener) {
  if (opening) return;
  opening = true;
  try {
    await open(address, opener);
  } catch {
    location.assign(address);
  } finally {
    opening = false;
  }
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-sheet]");
  const isPlain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
  if (!link || !isPlain) return;
  event.preventDefault();
  ask(link.href, link);
});

// A GET form sends its choices in the URL.
document.addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-sheet]");
  if (!form) return;
  event.preventDefault();
  const address = new URL(form.action);
  address.search = new URLSearchParams(new FormData(form)).toString();
  ask(address.href, event.submitter ?? form);
});
