// Requests of the composer's script, and the sentences about refused ones.
const TIMEOUT_MS = 30_000;

// A larger form is not read, so its answer is no JSON.
const TOO_LARGE = "The letter and its text part together are larger than Homing takes. " +
  "Nothing was saved; your words are still here. Make them shorter.";
const NOT_ALLOWED = "Homing does not let you save this draft any more. Nothing was saved.";

// Why nothing was saved, where that is known.
export function refusalSentence(answer, facts) {
  return facts?.sentence ?? { 400: TOO_LARGE, 403: NOT_ALLOWED, 413: TOO_LARGE }[answer?.status];
}

export function csrfToken() {
  return document.cookie.match(/(?:^|; )csrftoken=([^;]*)/)?.[1] ?? "";
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
