// Keeps the text in this browser after every key. Each opening of the page has its own copy.
const PREFIX = "homing-draft";
const FORGET_SAVED_MS = 24 * 3600 * 1000;

export class Device {
  constructor(user, id) {
    this.user = user;
    this.opening = `${Date.now()}-${Math.random().toString(36).slice(2)}`;
    this.belongTo(id);
  }

  // A new form has no draft yet. After the first save, the copy is stored under the draft's id.
  belongTo(id) {
    if (this.key) localStorage.removeItem(this.key);
    this.prefix = `${PREFIX}:${this.user}:${id || "new"}:`;
    this.key = this.prefix + this.opening;
    // Hold this lock while the page is open, so that other pages know that it is.
    navigator.locks?.request(this.key, () => new Promise(() => {}));
  }

  // Returns false if the browser's storage is full or disabled.
  keep(copy) {
    try {
      localStorage.setItem(this.key, JSON.stringify({ ...copy, at: Date.now() }));
      return true;
    } catch {
      return false;
    }
  }

  // Returns the latest unsaved copy of the same draft, from a page that is no longer open.
  async left() {
    const open = new Set((await navigator.locks?.query())?.held.map((lock) => lock.name));
    let latest = null;
    for (const key of Object.keys(localStorage)) {
      if (!key.startsWith(`${PREFIX}:`) || key === this.key || open.has(key)) continue;
      const copy = JSON.parse(localStorage.getItem(key));
      if (copy.saved) {
        if (Date.now() - copy.at > FORGET_SAVED_MS) localStorage.removeItem(key);
      } else if (key.startsWith(this.prefix) && copy.at > (latest?.at ?? 0)) {
        latest = { ...copy, kept: key };
      }
    }
    return latest;
  }

  forget(copy) {
    localStorage.removeItem(copy.kept);
  }
}
