// Sends a test of the words in the form to one address, and shows the result in the dialog.
import { post } from "./request.js";
import { wordsOf } from "./words.js";

export function testLetter(form, saving) {
  const dialog = form.querySelector("[data-dialog=test]");
  const to = dialog.querySelector("#test_email");
  const status = dialog.querySelector("#test_said");
  const send = dialog.querySelector("[data-test=send]");
  const close = dialog.querySelector("[data-test=close]");

  form.querySelector("[data-test=open]").addEventListener("click", () => {
    status.textContent = "";
    close.textContent = "Not now";
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
    status.textContent = "Sending…";
    // A letter that was never saved has no page to come back to.
    const next = form.dataset.id ? form.getAttribute("action") : "";
    const fields = { ...saving.fields(wordsOf(form)), test_email: to.value, next };
    const answer = await post(form.dataset.testLetter, fields).catch(() => null);
    const facts = await answer?.json().catch(() => null);
    send.ariaDisabled = "false";
    if (!facts) {
      status.textContent =
        "The test could not be sent just now. Look whether you are signed in and online, and press again.";
    } else if (facts.errors) {
      status.textContent = Object.values(facts.errors).flat().join(" ");
    } else {
      status.textContent = `${facts.sentence} It goes to ${fields.test_email.trim()} alone. `;
      close.textContent = "Back to the letter";
      status.append(Object.assign(document.createElement("a"),
        { href: facts.address, target: "_blank", textContent: "View status" }));
    }
  });
}
