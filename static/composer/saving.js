// Saves the words, and knows whether they are saved. A save names the revision it was made from; the
// server refuses to save over any other.
import { same, wordsDelivered, wordsOf } from "./words.js";

const AFTER_THE_LAST_KEY_MS = 1000;
const AT_LATEST_MS = 10_000;
const ANSWER_MS = 30_000;
const FIRST_PAUSE_MS = 2000;
const LONGEST_PAUSE_MS = 60_000;
const AT_ONCE_WHILE_LEAVING = 60_000; // a browser sends no more than 64 KiB after the page is gone

const MOST_UNANSWERED = 100;

// What is larger than any form may be is not read, so the answer is no JSON.
const TOO_LARGE = "The letter and its text part together are larger than Homing takes. " +
  "Nothing was saved; your words are still here. Make them shorter.";
const NOT_ALLOWED = "Homing does not let you save this draft any more. Nothing was saved.";

// Why nothing was saved, where that is known.
export function whyNot(answer, facts) {
  return facts?.sentence ?? { 400: TOO_LARGE, 403: NOT_ALLOWED, 413: TOO_LARGE }[answer?.status];
}

export function token() {
  return document.cookie.match(/(?:^|; )csrftoken=([^;]*)/)?.[1] ?? "";
}

export function ask(address, fields, options = {}) {
  return fetch(address, {
    method: "POST",
    body: fields instanceof FormData ? fields : new URLSearchParams(fields),
    headers: { Accept: "application/json", "X-CSRFToken": token() },
    redirect: "manual",
    signal: AbortSignal.timeout(ANSWER_MS),
    ...options,
  });
}

export class Saving {
  // `tell(kind, facts)` is called when it stands otherwise than before: saved, offline, unanswered,
  // signed_out, not_allowed, conflict, published, gone, refused.
  constructor(form, tell) {
    this.form = form;
    this.tell = tell;
    this.saved = wordsDelivered(form);
    this.unanswered = [];
    this.pause = FIRST_PAUSE_MS;
    this.isOver = false;
    addEventListener("online", () => this.again());
    addEventListener("focus", () => this.again());
    addEventListener("pagehide", () => this.leave());
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "hidden") this.leave();
      else this.again();
    });
  }

  get isDirty() {
    return !same(wordsOf(this.form), this.saved);
  }

  // Somebody wrote something.
  touched() {
    if (this.isOver || this.running) return;
    this.since ??= Date.now();
    const left = AT_LATEST_MS - (Date.now() - this.since);
    this.in(Math.max(0, Math.min(AFTER_THE_LAST_KEY_MS, left)));
  }

  in(ms) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.save(), ms);
  }

  again() {
    if (this.isDirty && !this.isOver) this.save();
  }

  // Resolves to whether everything in the form is saved.
  async save(options) {
    clearTimeout(this.timer);
    if (this.running) await this.running;
    while (this.isDirty && !this.isOver) {
      this.running = this.post(wordsOf(this.form), options);
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

  async post(words, options) {
    this.since = null;
    // Who cleared the cookies is signed out with them.
    if (!token()) return this.wait("signed_out");
    let answer;
    try {
      answer = await ask(this.form.getAttribute("action"), this.fields(words), options);
    } catch {
      return this.wait("offline", words);
    }
    if (answer.type === "opaqueredirect") return this.wait("signed_out");
    if (answer.status >= 500 || answer.status === 429) return this.wait("unanswered", words);
    const facts = await answer.json().catch(() => null);
    if (answer.status === 403) return this.notAllowed(whyNot(answer, facts));
    if (facts === null && (answer.status === 400 || answer.status === 413)) {
      return this.refused(400, { sentence: whyNot(answer, facts) });
    }
    if (facts === null) return this.wait("unanswered", words);
    this.pause = FIRST_PAUSE_MS;
    if (answer.ok) return this.arrived(words, facts);
    const own = this.unanswered.find((earlier) => same(facts.present ?? {}, earlier));
    if (answer.status === 409 && !facts.published && own) {
      this.stands(own, facts);
      return true;
    }
    return this.refused(answer.status, facts);
  }

  // What is unanswered may have arrived: where it meets itself later, that is no conflict. Of very
  // many it is the first and the latest that are likely to.
  remember(words) {
    if (this.unanswered.some((earlier) => same(words, earlier))) return;
    this.unanswered.push(words);
    if (this.unanswered.length > MOST_UNANSWERED) this.unanswered.splice(1, 1);
  }

  stands(words, facts) {
    this.saved = words;
    this.unanswered = [];
    this.form.elements.revision.value = facts.revision;
    this.form.action = facts.address;
  }

  arrived(words, facts) {
    this.stands(words, facts);
    this.tell("saved", facts);
    return true;
  }

  refused(status, facts) {
    // Too long: shorter words may be saved. Anything else a person has to decide.
    this.isOver = status !== 400;
    const kind = status === 400 ? "refused" : facts.gone ? "gone" : facts.published ? "published" : "conflict";
    this.tell(kind, facts);
    return false;
  }

  // Time alone changes nothing about it: it is tried again when somebody writes, presses or comes back.
  notAllowed(sentence) {
    this.tell("not_allowed", { sentence });
    return false;
  }

  wait(kind, words) {
    if (words) this.remember(words);
    this.tell(kind, {});
    this.in(this.pause);
    this.pause = Math.min(2 * this.pause, LONGEST_PAUSE_MS);
    return false;
  }
}
