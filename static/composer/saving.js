// Saves the text. A save names its base revision, and the server refuses to replace any other revision.
import { csrfToken, post, refusalSentence } from "./request.js";
import { same, wordsDelivered, wordsOf } from "./words.js";

const AFTER_THE_LAST_KEY_MS = 1000;
const AT_LATEST_MS = 10_000;
const FIRST_PAUSE_MS = 2000;
const LONGEST_PAUSE_MS = 60_000;
const AT_ONCE_WHILE_LEAVING = 60_000; // a browser sends at most 64 KiB after a page is closed
const MOST_UNANSWERED = 100;

export class Saving {
  // `report(kind, facts)` is called when the state changes: saved, offline, unanswered,
  // signed_out, not_allowed, conflict, published, gone, refused.
  constructor(form, report) {
    this.form = form;
    this.report = report;
    this.saved = wordsDelivered(form);
    this.unanswered = [];
    this.pause = FIRST_PAUSE_MS;
    this.isOver = false;
    addEventListener("online", () => this.retry());
    addEventListener("focus", () => this.retry());
    addEventListener("pagehide", () => this.leave());
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "hidden") this.leave();
      else this.retry();
    });
  }

  get isDirty() {
    return !same(wordsOf(this.form), this.saved);
  }

  edited() {
    if (this.isOver || this.running) return;
    this.since ??= Date.now();
    const left = AT_LATEST_MS - (Date.now() - this.since);
    this.saveIn(Math.max(0, Math.min(AFTER_THE_LAST_KEY_MS, left)));
  }

  saveIn(ms) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.save(), ms);
  }

  retry() {
    if (this.isDirty && !this.isOver) this.save();
  }

  // Resolves to true if everything in the form is saved.
  async save(options) {
    clearTimeout(this.timer);
    if (this.running) await this.running;
    while (this.isDirty && !this.isOver) {
      this.running = this.send(wordsOf(this.form), options);
      const arrived = await this.running.finally(() => (this.running = null));
      if (!arrived) return false;
    }
    return !this.isDirty;
  }

  leave() {
    if (!this.isDirty || this.isOver || this.running) return;
    const length = JSON.stringify(wordsOf(this.form)).length;
    this.save(length < AT_ONCE_WHILE_LEAVING ? { keepalive: true } : {});
  }

  fields(words) {
    const { idempotency_key: key, revision, issue, writer } = this.form.elements;
    return { ...words, idempotency_key: key.value, revision: revision.value, issue: issue.value, writer: writer.value };
  }

  async send(words, options) {
    this.since = null;
    // If the cookies are gone, the author is signed out.
    if (!csrfToken()) return this.wait("signed_out");
    let answer;
    try {
      answer = await post(this.form.getAttribute("action"), this.fields(words), options);
    } catch {
      return this.wait("offline", words);
    }
    if (answer.type === "opaqueredirect") return this.wait("signed_out");
    if (answer.status >= 500 || answer.status === 429) return this.wait("unanswered", words);
    const facts = await answer.json().catch(() => null);
    if (answer.status === 403) {
      // The text is saved again when the author writes, presses a button or returns to the page.
      this.report("not_allowed", { sentence: refusalSentence(answer, facts) });
      return false;
    }
    if (facts === null && (answer.status === 400 || answer.status === 413)) {
      return this.refused(400, { sentence: refusalSentence(answer, facts) });
    }
    if (facts === null) return this.wait("unanswered", words);
    this.pause = FIRST_PAUSE_MS;
    if (answer.ok) {
      this.accept(words, facts);
      this.report("saved", facts);
      return true;
    }
    const own = this.unanswered.find((earlier) => same(facts.present ?? {}, earlier));
    if (answer.status === 409 && !facts.published && own) {
      this.accept(own, facts);
      return true;
    }
    return this.refused(answer.status, facts);
  }

  // A save without an answer may have arrived. If the server has that text later, there is no
  // conflict.
  remember(words) {
    if (this.unanswered.some((earlier) => same(words, earlier))) return;
    this.unanswered.push(words);
    if (this.unanswered.length > MOST_UNANSWERED) this.unanswered.splice(1, 1);
  }

  accept(words, facts) {
    this.saved = words;
    this.unanswered = [];
    this.form.elements.revision.value = facts.revision;
    this.form.action = facts.address;
  }

  refused(status, facts) {
    // A shorter text can be saved. Every other refusal needs the author's decision.
    this.isOver = status !== 400;
    const kind = status === 400 ? "refused" : facts.gone ? "gone" : facts.published ? "published" : "conflict";
    this.report(kind, facts);
    return false;
  }

  wait(kind, words) {
    if (words) this.remember(words);
    this.report(kind, {});
    this.saveIn(this.pause);
    this.pause = Math.min(2 * this.pause, LONGEST_PAUSE_MS);
    return false;
  }
}
