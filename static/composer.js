// Joins the parts of the composer. The server keeps a save from replacing another.
import { Device } from "./composer/device.js";
import { Images } from "./composer/images.js";
import { Preview } from "./composer/preview.js";
import { csrfToken, post, refusalSentence } from "./composer/request.js";
import { Saving } from "./composer/saving.js";
import { testLetter } from "./composer/test-letter.js";
import { TextPart } from "./composer/text-part.js";
import { tools } from "./composer/tools.js";
import { put, wordsOf } from "./composer/words.js";

const form = document.getElementById("composer");
const state = document.querySelector("[data-state]");
const notices = document.querySelector("[data-notices]");
const note = notices.appendChild(document.createElement("div"));
const found = notices.appendChild(document.createElement("div"));

const preview = new Preview(form);
const textPart = new TextPart(form);
const device = new Device(form.dataset.user, form.dataset.id);
const saving = new Saving(form, showState);
let conflict = {};
let leaving = false;
let isKept = true;

const STATES = {
  saved: ["sent", "done", "Saved"],
  offline: ["doubt", "attention",
    "You are offline. Every word is kept on this device and will be saved when the connection returns."],
  unanswered: ["doubt", "attention",
    "Homing does not answer. Every word is kept on this device and will be saved when it does."],
  signed_out: ["doubt", "attention", "Not saved: you are signed out"],
  not_allowed: ["doubt", "attention", "Not saved"],
  conflict: ["doubt", "attention", "Not saved: the draft was changed elsewhere"],
  published: ["doubt", "attention", "Not saved: the draft is an issue now"],
  gone: ["doubt", "attention", "Not saved: the draft was deleted"],
  refused: ["fault", "failed", "Not saved"],
};

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function showState(kind, facts) {
  const [tone, glyph, words] = STATES[kind];
  state.className = `state ${tone}`;
  state.querySelector("use").setAttribute("href", `#${glyph}`);
  setText(state.querySelector("[data-words]"), words);
  const isSaved = kind === "saved";
  setText(document.querySelector("[data-clock]"), isSaved ? facts.saved_at : "");
  setText(document.querySelector("[data-more]"),
    isSaved ? `automatically${isKept ? "; also kept on this device" : ""}` : "");
  showNote(kind, facts);
  if (isSaved) saved(facts);
  else conflict = facts;
}

function saved(facts) {
  if (form.dataset.id !== facts.id) {
    form.dataset.id = facts.id;
    device.belongTo(facts.id);
    history.replaceState(history.state, "", facts.address);
    const remove = document.querySelector("[data-delete]");
    remove.href = `${facts.address}delete/`;
    remove.hidden = false;
  }
  keep();
  preview.say(facts);
  preview.load();
  textPart.say(facts.automatic_text);
  setText(form.querySelector("[data-count]"), facts.count);
  for (const place of form.querySelectorAll("[data-hints]")) showHints(place, facts.hints[place.dataset.hints]);
  const title = form.elements.title.value.trim();
  document.title = document.title.replace(/^.*(?= · )/, title ? `Writing: ${title}` : "Write an issue");
}

// Unchanged hints stay: a button in them may have the focus.
function showHints(place, html) {
  const rendered = document.createElement("template");
  rendered.innerHTML = html;
  if (place.textContent.trim() !== rendered.content.textContent.trim()) place.replaceChildren(rendered.content);
}

// Selects the words that a hint is about, and scrolls the field to them.
function find(button) {
  const field = form.elements[button.closest("[data-hints]").dataset.hints];
  const at = field.value.indexOf(button.dataset.find);
  if (at < 0) return;
  field.focus();
  field.setSelectionRange(at, at + button.dataset.find.length);
  if (field.type !== "textarea") return;
  // A hidden copy of the field measures how tall the words before the hint are.
  const above = field.cloneNode();
  above.removeAttribute("name");
  above.value = field.value.slice(0, at);
  const width = `${field.offsetWidth}px`;
  Object.assign(above.style, { position: "absolute", visibility: "hidden", width, height: "0", minHeight: "0" });
  field.after(above);
  field.scrollTop = above.scrollHeight - field.clientHeight / 2;
  above.remove();
}

function showNote(kind, facts) {
  if (note.dataset.kind !== kind) {
    note.dataset.kind = kind;
    const ready = document.querySelector(`template[data-note=${kind}]`);
    note.replaceChildren(...(ready ? [ready.content.cloneNode(true)] : []));
  }
  const sentence = note.querySelector("[data-sentence]");
  if (sentence) setText(sentence, facts.sentence);
  const signIn = note.querySelector("[data-sign-in]");
  if (signIn) signIn.href = form.dataset.signIn;
  showNotices();
}

function notCopied(answer, facts) {
  const isSignedOut = answer?.type === "opaqueredirect";
  const sentence = isSignedOut
    ? "The copy was not saved: you are signed out. Sign in in another tab, come back and press again."
    : (refusalSentence(answer, facts) ?? "The copy could not be saved just now; press again.");
  const place = Object.assign(document.createElement("p"), { role: "alert", textContent: sentence });
  note.querySelector(".note > div").append(place);
}

function showNotices() {
  notices.hidden = !notices.querySelector(".note");
}

function keep() {
  const { revision, idempotency_key: key } = form.elements;
  isKept = device.keep({ words: wordsOf(form), revision: revision.value, key: key.value, saved: !saving.isDirty });
}

const DO = {
  again: () => saving.save(),
  compare: () => pass(form.querySelector("[name=then][value=save]")),
  other: () => {
    leaving = true;
    location.assign(conflict.address);
  },
  copy: async () => {
    note.querySelector("[role=alert]")?.remove();
    const fields = { ...saving.fields(wordsOf(form)), idempotency_key: conflict.copy_key, beside: "on" };
    const answer = await post(form.dataset.begin, fields).catch(() => null);
    const facts = await answer?.json().catch(() => null);
    // An earlier press arrived, with other words, and its answer did not: these are a copy of their own.
    if (answer?.status === 409 && facts) {
      conflict.copy_key = facts.copy_key;
      return DO.copy();
    }
    if (!answer?.ok || !facts) return notCopied(answer, facts);
    device.keep({ saved: true });
    leaving = true;
    location.assign(facts.address);
  },
  put_back: (left) => {
    form.elements.revision.value = left.revision;
    form.elements.idempotency_key.value = left.key;
    put(form, left.words);
    textPart.show();
    DO.forget(left);
  },
  forget: (left) => {
    device.forget(left);
    found.replaceChildren();
    showNotices();
    form.elements.letter.focus();
  },
};

note.addEventListener("click", (event) => DO[event.target.dataset.do]?.());

form.addEventListener("click", (event) => {
  if (event.target.dataset.find) find(event.target);
});

form.addEventListener("input", (event) => {
  if (event.target.id === "automatic") return;
  keep();
  saving.edited();
});

// Everything is saved before a button leads away; the words that go with it are those.
function pass(button) {
  form.elements.csrfmiddlewaretoken.value = csrfToken() || form.elements.csrfmiddlewaretoken.value;
  leaving = true;
  // Not at once: while a form is still being submitted, a browser takes no second submission of it.
  setTimeout(() => form.requestSubmit(button));
}

form.addEventListener("submit", async (event) => {
  if (leaving) return;
  event.preventDefault();
  const button = event.submitter;
  const isSaved = await saving.save();
  if (button?.value === "save" || !isSaved) return;
  // A letter that was never begun has no draft to lead to: its first save is this one.
  pass(button);
});

addEventListener("beforeunload", (event) => {
  if (!leaving && saving.isDirty) event.preventDefault();
});
addEventListener("pageshow", () => (leaving = false));

tools(form);
testLetter(form, saving);
new Images(form, (sentence) => showNote("refused", { sentence }));
if (saving.isDirty) {
  keep();
  saving.edited();
}
form.dataset.ready = "";

// What an earlier opening of this page kept and never saved is offered, not forced upon anybody.
const left = await device.left();
if (left && JSON.stringify(left.words) !== JSON.stringify(wordsOf(form))) {
  found.replaceChildren(document.querySelector("template[data-note=found]").content.cloneNode(true));
  const since = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short", hourCycle: "h23" });
  found.querySelector("[data-since]").textContent = `, from ${since.format(left.at)}`;
  found.querySelector("[data-beginning]").textContent =
    `${left.words.title || "Untitled"}: ${left.words.letter.slice(0, 120)}`;
  found.addEventListener("click", (event) => DO[event.target.dataset.do]?.(left));
  showNotices();
} else if (left) {
  device.forget(left);
}
