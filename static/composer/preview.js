// The preview, reloaded after every save. A new frame replaces the last one at the same scroll position.
export class Preview {
  constructor(form) {
    this.form = form;
    this.paper = form.querySelector("[data-paper]");
    this.frames = form.querySelector("[data-frames]");
    this.tabs = [...form.querySelectorAll("#preview [name=then]")];
    this.scrolled = {};
    this.shown = this.tabs.find((tab) => tab.ariaPressed === "true").value;
    for (const tab of this.tabs) {
      tab.addEventListener("click", (event) => {
        event.preventDefault();
        this.show(tab.value);
      });
    }
  }

  get part() {
    return this.shown === "text" ? "text" : "html";
  }

  show(name) {
    const before = this.part;
    this.remember();
    this.shown = name;
    for (const tab of this.tabs) tab.ariaPressed = String(tab.value === name);
    this.paper.className = `paper ${name}`;
    if (this.part !== before) this.load();
  }

  remember() {
    const shown = this.frames.querySelector("iframe");
    if (shown?.contentWindow) this.scrolled[shown.dataset.part ?? this.part] = shown.contentWindow.scrollY;
  }

  say(facts) {
    for (const element of this.paper.querySelectorAll("[data-stat]")) {
      element.textContent = facts[element.dataset.stat];
    }
  }

  load() {
    // Before the first save of a next version, show the text of the previous version.
    const { id, preview } = this.form.dataset;
    const address = id ? `${this.form.getAttribute("action")}preview/?part=` : preview;
    if (!address) return;
    const [current, ...late] = this.frames.querySelectorAll("iframe");
    for (const frame of late) frame.remove();
    const next = document.createElement("iframe");
    next.title = this.frames.dataset.title;
    next.setAttribute("sandbox", "allow-same-origin allow-popups allow-popups-to-escape-sandbox");
    next.dataset.part = this.part;
    next.src = `${address}${this.part}`;
    next.addEventListener("load", () => {
      this.remember();
      next.contentWindow.scrollTo(0, this.scrolled[next.dataset.part] ?? 0);
      this.frames.querySelector("[data-nothing-yet]")?.remove();
      current?.remove();
    });
    this.frames.append(next);
  }
}
