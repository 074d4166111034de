// The plain text: automatic, or edited by the author. An edited text that was replaced can be restored.
import { textOf } from "./texts.js";

export class TextPart {
  constructor(form) {
    this.own = form.elements.text_content;
    this.panel = form.querySelector("[data-panel=text]");
    this.automatic = form.querySelector("#automatic");
    this.is = form.querySelector("[data-text-is]");
    this.back = form.querySelector("[data-text-back]");
    form.querySelector("[data-text-own]").addEventListener("click", () => this.put(this.automatic.value));
    form.querySelector("[data-text-again]").addEventListener("click", () => {
      this.aside = this.own.value;
      this.back.hidden = this.aside.trim() === "";
      this.put("");
    });
    this.back.addEventListener("click", () => this.put(this.aside));
    this.own.addEventListener("blur", () => this.show());
    this.show();
  }

  put(words) {
    this.own.value = words;
    this.own.dispatchEvent(new Event("input", { bubbles: true }));
    this.show();
    (words ? this.own : this.automatic).focus();
  }

  show() {
    const own = this.own.value !== "";
    this.panel.classList.toggle("own", own);
    this.is.textContent = textOf(own ? "text_edited" : "text_automatic");
  }

  say(text) {
    if (this.automatic.value !== text) this.automatic.value = text;
  }
}
