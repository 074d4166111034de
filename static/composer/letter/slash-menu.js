// The list of things to insert, which opens when the author types “/” at the beginning of a line.
import { Plugin } from "../../vendor/prosemirror.js";

const TYPED = /^\/([\p{L}\p{N} ]{0,20})$/u;

// `choices` returns the entries (`label` and `run`), and `list` is the element that shows them.
export function slashMenu(choices, list) {
  let shown = [];
  let chosen = 0;
  let dismissed = "";

  const typed = ({ selection: { empty, $from } }) =>
    empty && $from.parent.type.name === "paragraph" &&
    TYPED.exec($from.parent.textBetween(0, $from.parentOffset, null, "\ufffc"));

  function close(view) {
    list.hidden = true;
    shown = [];
    view.dom.removeAttribute("aria-activedescendant");
  }

  function choose(view, entry) {
    const { $from } = view.state.selection;
    view.dispatch(view.state.tr.delete($from.start(), $from.pos));
    close(view);
    view.focus();
    entry.run();
  }

  function show(view, [words, wanted]) {
    const at = ({ label }) => ` ${label.toLowerCase()}`.indexOf(` ${wanted.trim().toLowerCase()}`);
    // A name that begins with the typed letters comes before a name that has them in a later word.
    const found = choices().filter((one) => at(one) >= 0).sort((one, other) => at(one) - at(other));
    if (!found.length || (dismissed && words.startsWith(dismissed))) return close(view);
    if (found.map(({ label }) => label).join() !== shown.map(({ label }) => label).join()) chosen = 0;
    shown = found;
    list.replaceChildren(...found.map((entry, at) => {
      const item = Object.assign(document.createElement("li"), {
        id: `slash_${at}`, role: "option", textContent: entry.label, ariaSelected: String(at === chosen),
      });
      // Keep the focus, and the selection, in the letter.
      item.addEventListener("mousedown", (event) => event.preventDefault());
      item.addEventListener("click", () => choose(view, entry));
      return item;
    }));
    list.hidden = false;
    const caret = view.coordsAtPos(view.state.selection.from);
    const frame = list.offsetParent.getBoundingClientRect();
    const isRtl = getComputedStyle(view.dom).direction === "rtl";
    const most = frame.width - list.offsetWidth;
    const left = caret.left - frame.left - (isRtl ? list.offsetWidth : 0);
    list.style.left = `${Math.max(0, Math.min(left, most))}px`;
    // Where there is no room below the caret, the list is above it.
    const isBelow = caret.bottom + 4 + list.offsetHeight <= innerHeight || caret.top < list.offsetHeight;
    list.style.top = `${(isBelow ? caret.bottom + 4 : caret.top - 4 - list.offsetHeight) - frame.top}px`;
    list.children[chosen].scrollIntoView({ block: "nearest" });
    view.dom.setAttribute("aria-activedescendant", `slash_${chosen}`);
  }

  const KEYS = {
    ArrowDown: () => (chosen = (chosen + 1) % shown.length),
    ArrowUp: () => (chosen = (chosen + shown.length - 1) % shown.length),
  };

  return new Plugin({
    view: () => ({
      update(view) {
        const found = view.hasFocus() && typed(view.state);
        if (!found) dismissed = "";
        if (found) show(view, found);
        else if (shown.length) close(view);
      },
    }),
    props: {
      handleKeyDown(view, event) {
        if (!shown.length) return false;
        if (event.key in KEYS) {
          KEYS[event.key]();
          show(view, typed(view.state));
        } else if (event.key === "Enter" || event.key === "Tab") choose(view, shown[chosen]);
        else if (event.key === "Escape") {
          [dismissed] = typed(view.state);
          close(view);
        } else return false;
        return true;
      },
      handleDOMEvents: { blur: (view) => void close(view) },
    },
  });
}
