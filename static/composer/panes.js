// Shows the parts of the page: a narrow window shows the letter, the preview or the settings. A wide window shows the
// letter beside the preview or the settings.
const WIDE = matchMedia("(min-width: 62rem)"); // as in homing.css

// `changed` is called after another part is shown.
export function panesOf(form, changed) {
  const tabs = [...form.querySelectorAll("[data-panel-of]")];
  const places = {};

  function mark() {
    const { shows } = form.dataset;
    const pressed = WIDE.matches && shows === "letter" ? "preview" : shows;
    for (const tab of tabs) tab.ariaPressed = String(tab.dataset.panelOf === pressed);
  }

  function show(name) {
    places[form.dataset.shows] = scrollY;
    form.dataset.shows = name;
    mark();
    // Each part of a narrow page is shown again where the author left it.
    if (!WIDE.matches) scrollTo(0, places[name] ?? 0);
    changed();
  }

  // Show the part and the field to which a link leads.
  function follow() {
    const led = document.getElementById(location.hash.slice(1));
    const panel = led?.closest("[data-panel]");
    if (!panel) return;
    show(panel.dataset.panel);
    const group = led.closest("details");
    if (group) group.open = true;
    // If the field is hidden, focus the element that is shown in place of the field.
    const editor = led.closest("[data-letter]")?.querySelector("[data-editor]");
    const shown = [led, editor, ...(group ?? panel).querySelectorAll("textarea")].find((field) => field?.offsetParent);
    shown?.focus();
    shown?.scrollIntoView({ block: "nearest" });
  }

  for (const tab of tabs) tab.addEventListener("click", () => show(tab.dataset.panelOf));
  WIDE.addEventListener("change", mark);
  addEventListener("hashchange", follow);
  mark();
  follow();
}
