// Reloads the preview after every save. A new frame replaces the old frame, at the same scroll
// position.
export function previewOf(form) {
  const paper = form.querySelector("[data-paper]");
  const frames = form.querySelector("[data-frames]");
  const tabs = [...form.querySelectorAll("#preview [name=then]")];
  const scrolled = {};
  let shown = tabs.find((tab) => tab.ariaPressed === "true").value;

  const part = () => (shown === "text" ? "text" : "html");

  function remember() {
    const frame = frames.querySelector("iframe");
    if (frame?.contentWindow) scrolled[frame.dataset.part ?? part()] = frame.contentWindow.scrollY;
  }

  function show(name) {
    const before = part();
    remember();
    shown = name;
    for (const tab of tabs) tab.ariaPressed = String(tab.value === name);
    paper.className = `paper ${name}`;
    if (part() !== before) load();
  }

  function say(facts) {
    for (const element of paper.querySelectorAll("[data-stat]")) element.textContent = facts[element.dataset.stat];
  }

  function load() {
    // Before the first save of a next version, show the text of the previous version.
    const { id, preview } = form.dataset;
    const address = id ? `${form.getAttribute("action")}preview/?part=` : preview;
    if (!address) return;
    const [current, ...late] = frames.querySelectorAll("iframe");
    for (const frame of late) frame.remove();
    const next = document.createElement("iframe");
    next.title = frames.dataset.title;
    next.setAttribute("sandbox", "allow-same-origin allow-popups allow-popups-to-escape-sandbox");
    next.dataset.part = part();
    next.src = `${address}${part()}`;
    next.addEventListener("load", () => {
      remember();
      next.contentWindow.scrollTo(0, scrolled[next.dataset.part] ?? 0);
      frames.querySelector("[data-nothing-yet]")?.remove();
      current?.remove();
    });
    frames.append(next);
  }

  for (const tab of tabs) {
    tab.addEventListener("click", (event) => {
      event.preventDefault();
      show(tab.value);
    });
  }
  return { say, load };
}
