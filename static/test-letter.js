// Polls the state of a test letter until it is settled, at growing intervals.
const place = document.querySelector("[data-test-letter=open]");
const FIRST_MS = 1000;
const LONGEST_MS = 15000;

async function look(pauseMs) {
  const answer = await fetch(location.href, { headers: { Accept: "application/json" } }).catch(() => null);
  if (answer?.ok) {
    const letter = await answer.json();
    if (letter.settled) return location.reload();
    const sentence = place.querySelector("[data-sentence]");
    if (sentence.textContent !== letter.sentence) sentence.textContent = letter.sentence;
  }
  setTimeout(() => look(Math.min(pauseMs * 1.5, LONGEST_MS)), pauseMs);
}

if (place) setTimeout(() => look(FIRST_MS), FIRST_MS);
