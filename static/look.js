// The page of the look: post every change as a preview, and show the colours and the frame of the answer.
const form = document.querySelector("[data-look]");
const picker = form.querySelector("[data-picker]");
let late;
let last = 0;

async function show() {
  const number = ++last;
  const fields = new FormData(form);
  fields.delete("logo");
  fields.set("then", "preview");
  const answer = await fetch(form.action, { method: "POST", body: fields });
  if (!answer.ok || number !== last) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of form.querySelectorAll("[data-part]")) {
    part.replaceChildren(...page.querySelector(`[data-part=${part.dataset.part}]`).childNodes);
  }
}

picker.hidden = false;
form.addEventListener("input", (event) => {
  if (event.target.type === "file") return;
  if (event.target === picker) form.elements.accent.value = picker.value;
  else if (/^#[0-9a-f]{6}$/i.test(form.elements.accent.value)) picker.value = form.elements.accent.value;
  clearTimeout(late);
  late = setTimeout(() => show().catch(() => {}), 300);
});
