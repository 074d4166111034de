// Finds text in the letter, and replaces it. “Replace all” is one step to undo.
import { SearchQuery, findNext, replaceAll, replaceNext, setSearchState } from "../vendor/prosemirror.js";
import { textOf } from "./texts.js";
import { insert, reveal } from "./tools.js";

// Each of `findIn…` has the same functions. `next` returns the place of the shown match, from 1, and their
// number; `replace` replaces the shown match; `all` returns how many it replaced.
function findInText(field, wanted, other, exact) {
  const pattern = () => new RegExp(wanted.value.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&"), exact.checked ? "gu" : "giu");
  const found = () => [...field.value.matchAll(pattern())];
  const place = () => `${field.selectionStart}-${field.selectionEnd}`;
  let shown = "";
  return {
    mark() {},
    next() {
      const matches = found();
      if (!matches.length) return null;
      // Take the first match after the selection. If there is none, take the first in the letter.
      const at = Math.max(0, matches.findIndex((match) => match.index >= field.selectionEnd));
      reveal(field, matches[at].index, matches[at].index + matches[at][0].length);
      shown = place();
      return { place: at + 1, number: matches.length };
    },
    isShown: () => shown === place(),
    replace: () => insert(field, other.value),
    all() {
      const { length } = found();
      const { scrollTop } = field;
      if (length) insert(field, field.value.replace(pattern(), () => other.value), 0, field.value.length);
      field.scrollTop = scrollTop;
      return length;
    },
  };
}

function findInEditor({ view }, wanted, other, exact) {
  const query = (search = wanted.value) => new SearchQuery({
    search, replace: other.value.replaceAll("$", "$$$$"), caseSensitive: exact.checked, literal: true,
  });
  const matches = () => {
    const found = [];
    for (let at = 0, one; (one = query().findNext(view.state, at)); at = one.to) found.push(one);
    return found;
  };
  const mark = (search) => view.dispatch(setSearchState(view.state.tr, query(search)));
  const run = (command) => {
    mark();
    command(view.state, view.dispatch);
  };
  return {
    mark,
    // The focus stays in the panel: in the letter, the next key would replace the match.
    next() {
      run(findNext);
      const { node } = view.domAtPos(view.state.selection.from);
      (node.nodeType === Node.TEXT_NODE ? node.parentElement : node).scrollIntoView({ block: "center" });
      const found = matches();
      const at = found.findIndex(({ from }) => from === view.state.selection.from);
      return found.length ? { place: at + 1, number: found.length } : null;
    },
    isShown: () => {
      const { selection } = view.state;
      return matches().some(({ from, to }) => from === selection.from && to === selection.to);
    },
    replace: () => run(replaceNext),
    all() {
      const { length } = matches();
      if (length) run(replaceAll);
      return length;
    },
  };
}

export function findAndReplace(form, letter) {
  const panel = form.querySelector("[data-find-panel]");
  const { id_letter: field, find_text: wanted, replace_text: other, match_case: exact } = form.elements;
  const say = (name, values) => (panel.querySelector("[role=status]").textContent = textOf(name, values));
  const inText = findInText(field, wanted, other, exact);
  const finder = () => (letter.editor ? findInEditor(letter.editor, wanted, other, exact) : inText);

  const DO = {
    next() {
      const shown = wanted.value ? finder().next() : null;
      say(shown ? "find_place" : "find_nothing", shown ?? {});
    },
    replace() {
      if (finder().isShown()) finder().replace();
      DO.next();
    },
    all() {
      const number = wanted.value ? finder().all() : 0;
      panel.scrollIntoView({ block: "nearest" });
      say(number ? "find_replaced" : "find_nothing", { number });
    },
  };

  panel.addEventListener("click", ({ target }) => DO[target.dataset.search]?.());
  panel.addEventListener("input", (event) => {
    event.stopPropagation();
    finder().mark();
  });
  panel.addEventListener("toggle", () => {
    if (panel.open) wanted.select();
    else finder().mark("");
  });
  // Enter in the textarea finds the next match too, because a line break would replace the shown match.
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    if (event.target === field ? letter.editor || !inText.isShown() : event.target !== wanted) return;
    event.preventDefault();
    DO.next();
  });
}
