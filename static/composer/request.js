// Sends the requests of the composer's scripts, and explains refused requests.
import { textOf } from "./texts.js";

const TIMEOUT_MS = 30_000;

// The server does not read a form that is too large, so it answers without JSON.
const REASONS = { 400: "too_large", 403: "no_permission", 413: "too_large" };

// Returns the sentence that says why nothing was saved, or undefined if the reason is unknown.
export function refusalSentence(answer, facts) {
  const reason = REASONS[answer?.status];
  return facts?.sentence ?? (reason && textOf(reason));
}

export function csrfToken() {
  return document.cookie.match(/(?:^|; )csrftoken=([^;]*)/)?.[1] ?? "";
}

// Resolves to the answer and its JSON. Each is null if there is none.
export async function ask(address, fields) {
  const answer = await post(address, fields).catch(() => null);
  return [answer, (await answer?.json().catch(() => null)) ?? null];
}

export function post(address, fields, options = {}) {
  return fetch(address, {
    method: "POST",
    body: fields instanceof FormData ? fields : new URLSearchParams(fields),
    headers: { Accept: "application/json", "X-CSRFToken": csrfToken() },
    redirect: "manual",
    signal: AbortSignal.timeout(TIMEOUT_MS),
    ...options,
  });
}
