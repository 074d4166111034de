// Sends a test of the letter in the form to one address, and shows the result in the dialog.
import { ask } from "./request.js";
import { textOf } from "./texts.js";
import { wordsOf } from "./words.js";

export function testLetter(form, saving) {
  const dialog = form.querySelector("[data-dialog=test]");
  const to = dialog.querySelector("#test_email");
  const status = dialog.querySelector("#test_said");
  const send = dialog.querySelector("[data-test=send]");
  const close = dialog.querySelector("[data-test=close]");

  form.querySelector("[data-test=open]").addEventListener("click", () => {
    status.textContent = "";
    close.textContent = textOf("test_not_now");
    dialog.showModal();
    to.focus();
  });
  close.addEventListener("click", () => dialog.close());
  to.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    send.click();
  });
  send.addEventListener("click", async () => {
    if (send.ariaDisabled === "true") return;
    send.ariaDisabled = "true";
    status.textContent = textOf("test_sending");
    // A letter that was never saved has no page to return to.
    const next = form.dataset.id ? form.getAttribute("action") : "";
    const fields = { ...saving.fields(wordsOf(form)), test_email: to.value, next };
    const [, facts] = await ask(form.dataset.testLetter, fields);
    send.ariaDisabled = "false";
    if (!facts) {
      status.textContent = textOf("test_failed");
    } else if (facts.errors) {
      status.textContent = Object.values(facts.errors).flat().join(" ");
    } else {
      status.textContent = `${facts.sentence} ${textOf("test_to", { address: fields.test_email.trim() })} `;
      close.textContent = textOf("test_back");
      status.append(Object.assign(document.createElement("a"),
        { href: facts.address, target: "_blank", textContent: textOf("test_status") }));
    }
  });
}
