// Shows the plain text, which is automatic or edited by the author. If the automatic text replaced
// an edited text, the author can restore the edited text.
import { textOf } from "./texts.js";

export function textPartOf(form) {
  const { automatic, text_content: own } = form.elements;
  const back = form.querySelector("[data-text-back]");
  let aside = "";

  function show() {
    const isOwn = own.value !== "";
    form.querySelector(".text-part").classList.toggle("own", isOwn);
    form.querySelector("[data-text-is]").textContent = textOf(isOwn ? "text_edited" : "text_automatic");
  }

  function put(words) {
    own.value = words;
    own.dispatchEvent(new Event("input", { bubbles: true }));
    show();
    (words ? own : automatic).focus();
  }

  form.querySelector("[data-text-own]").addEventListener("click", () => put(automatic.value));
  form.querySelector("[data-text-again]").addEventListener("click", () => {
    aside = own.value;
    back.hidden = aside.trim() === "";
    put("");
  });
  back.addEventListener("click", () => put(aside));
  own.addEventListener("blur", show);
  show();

  function say(text) {
    if (automatic.value !== text) automatic.value = text;
  }

  return { show, say };
}
