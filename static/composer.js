// Connects the parts of the composer. The server refuses a save that would overwrite a newer save.
import { Device } from "./composer/device.js";
import { findAndReplace } from "./composer/find.js";
import { panesOf } from "./composer/panes.js";
import { previewOf, showPlace } from "./composer/preview.js";
import { ask, csrfToken, refusalSentence } from "./composer/request.js";
import { Saving } from "./composer/saving.js";
import { testLetter } from "./composer/test-letter.js";
import { textPartOf } from "./composer/text-part.js";
import { textOf } from "./composer/texts.js";
import { reveal, tools } from "./composer/tools.js";
import { fieldOf, put, wordsOf } from "./composer/words.js";

const form = document.getElementById("composer");
const state = document.querySelector("[data-state]");
const notices = document.querySelector("[data-notices]");
const note = notices.appendChild(document.createElement("div"));
const found = notices.appendChild(document.createElement("div"));

const preview = previewOf(form);
const textPart = textPartOf(form);
const device = new Device(form.dataset.user, form.dataset.id);
const saving = new Saving(form, showState);
let conflict = {};
let leaving = false;
let isKept = true;

const TONES = { saved: ["sent", "done"], refused: ["fault", "failed"] };
const OTHER_TONE = ["doubt", "attention"];

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function showState(kind, facts) {
  const [tone, glyph] = TONES[kind] ?? OTHER_TONE;
  state.className = `state ${tone}`;
  state.querySelector("use").setAttribute("href", `#${glyph}`);
  const isSaved = kind === "saved";
  setText(state.querySelector("[data-words]"), textOf(kind));
  // The time changes with every save, so it is outside the state, which screen readers announce.
  setText(document.querySelector("[data-clock]"), isSaved ? facts.saved_at : "");
  setText(document.querySelector("[data-more]"), isSaved && isKept ? textOf("also_in_browser") : "");
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
    const crumb = document.querySelector("[data-draft]");
    if (crumb) crumb.textContent = crumb.dataset.draft;
  }
  keep();
  preview.say(facts);
  preview.load();
  textPart.say(facts.automatic_text);
  for (const place of form.querySelectorAll("[data-hints]")) showHints(place, facts.hints[place.dataset.hints]);
  const title = form.elements.title.value.trim();
  const name = title ? textOf("writing", { title }) : textOf("write");
  document.title = document.title.replace(/^.*(?= · )/, () => name);
}

// Unchanged hints stay, because a button in them may have the focus.
function showHints(place, html) {
  const rendered = document.createElement("template");
  rendered.innerHTML = html;
  if (place.textContent.trim() !== rendered.content.textContent.trim()) place.replaceChildren(rendered.content);
}

// The title and the preview text are fields of one line that may be shown in several lines.
for (const field of form.querySelectorAll("[data-one-line]")) {
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    saving.save();
  });
  field.addEventListener("input", () => {
    if (field.value.includes("\n")) field.value = field.value.replace(/\s*\n\s*/g, " ");
  });
}

// Show the text that a hint is about.
function find(button) {
  const { hints } = button.closest("[data-hints]").dataset;
  const { find: words, before } = button.dataset;
  if (hints === "letter") return letter.reveal(words, Number(before));
  const field = fieldOf(form, hints);
  const at = field.value.indexOf(words);
  if (at >= 0) reveal(field, at, at + words.length);
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
    ? textOf("copy_signed_out")
    : (refusalSentence(answer, facts) ?? textOf("copy_failed"));
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
    const [answer, facts] = await ask(form.dataset.begin, fields);
    // An earlier press saved a different text as a copy, but the answer to that press was lost.
    // Save the current text as another copy.
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
    letter.show();
    textPart.show();
    DO.forget(left);
  },
  forget: (left) => {
    device.forget(left);
    found.replaceChildren();
    showNotices();
    letter.focus();
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

// Submit the form only after everything is saved, so that the form posts the saved text.
function pass(button) {
  form.elements.csrfmiddlewaretoken.value = csrfToken() || form.elements.csrfmiddlewaretoken.value;
  leaving = true;
  // Wait a moment: a browser ignores a second submission while the first is still being handled.
  setTimeout(() => form.requestSubmit(button));
}

form.addEventListener("submit", async (event) => {
  if (leaving) return;
  event.preventDefault();
  const button = event.submitter;
  const isSaved = await saving.save();
  if (button?.value === "save" || !isSaved) return;
  pass(button);
});

addEventListener("beforeunload", (event) => {
  if (!leaving && saving.isDirty) event.preventDefault();
});
addEventListener("pageshow", () => (leaving = false));

for (const failure of ["htmx:responseError", "htmx:sendError"]) {
  document.getElementById("video").addEventListener(failure, () => {
    setText(document.getElementById("video_ready"), textOf("video_failed"));
  });
}

const letter = tools(form, (sentence) => showNote("refused", { sentence }));
panesOf(form, () => showPlace());
findAndReplace(form, letter);
testLetter(form, saving);
if (saving.isDirty) {
  keep();
  saving.edited();
}
form.dataset.ready = "";

// Offer the unsaved text that this browser kept when the page was open before.
const left = await device.left();
if (left && JSON.stringify(left.words) !== JSON.stringify(wordsOf(form))) {
  found.replaceChildren(document.querySelector("template[data-note=found]").content.cloneNode(true));
  const options = { dateStyle: "medium", timeStyle: "short", hourCycle: "h23" };
  const time = new Date(left.at).toLocaleString(document.documentElement.lang, options);
  found.querySelector("[data-since]").textContent = textOf("found_since", { time });
  found.querySelector("[data-beginning]").textContent =
    `${left.words.title || textOf("untitled")}: ${left.words.letter.slice(0, 120)}`;
  found.addEventListener("click", (event) => DO[event.target.dataset.do]?.(left));
  showNotices();
} else if (left) {
  device.forget(left);
}
