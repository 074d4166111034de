// Finds text in the letter, and replaces it. “Replace all” is one step to undo.
import { textOf } from "./texts.js";
import { insert, reveal } from "./tools.js";

export function findAndReplace(form) {
  const panel = form.querySelector("[data-find-panel]");
  const { id_letter: letter, find_text: wanted, replace_text: other, match_case: exact } = form.elements;
  const say = (name, values) => (panel.querySelector("[role=status]").textContent = textOf(name, values));
  const places = (field) => `${field.selectionStart}-${field.selectionEnd}`;
  let shown = "";

  const pattern = () => new RegExp(wanted.value.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&"), exact.checked ? "gu" : "giu");

  const DO = {
    next() {
      const found = wanted.value ? [...letter.value.matchAll(pattern())] : [];
      if (!found.length) return say("find_nothing");
      // Take the first match after the selection. If there is none, take the first in the letter.
      const at = Math.max(0, found.findIndex((match) => match.index >= letter.selectionEnd));
      reveal(letter, found[at].index, found[at].index + found[at][0].length);
      shown = places(letter);
      say("find_place", { place: at + 1, number: found.length });
    },
    replace() {
      if (shown === places(letter)) insert(letter, other.value);
      DO.next();
    },
    all() {
      const { value, scrollTop } = letter;
      const found = wanted.value ? value.match(pattern()) : null;
      if (!found) return say("find_nothing");
      insert(letter, value.replace(pattern(), () => other.value), 0, value.length);
      letter.scrollTop = scrollTop;
      panel.scrollIntoView({ block: "nearest" });
      say("find_replaced", { number: found.length });
    },
  };

  panel.addEventListener("click", ({ target }) => DO[target.dataset.search]?.());
  panel.addEventListener("input", (event) => {
    event.stopPropagation();
    shown = "";
  });
  // Enter in the letter finds the next match too, because a line break would replace the shown match.
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || (event.target === letter ? shown !== places(letter) : event.target !== wanted)) return;
    event.preventDefault();
    DO.next();
  });
}
