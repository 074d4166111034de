// Keeps the page of an import up to date while it runs, and loads it again when it has ended.
// What it writes comes ready from the server; without scripts the page loads itself again.
const EVERY_MS = 1500;
const page = document.querySelector("[data-import]");

async function look() {
  try {
    const answer = await fetch(page.dataset.import, { headers: { Accept: "application/json" } });
    if (answer.redirected) return; // signed out meanwhile: the next click leads to the login page
    if (answer.ok) {
      const reading = await answer.json();
      if (!reading.under_way) return location.reload();
      for (const element of page.querySelectorAll("[data-text]")) {
        const text = reading.text[element.dataset.text];
        if (text !== undefined && element.textContent !== text) element.textContent = text;
      }
      page.querySelector("[data-bar]").setAttribute("width", `${reading.percent}%`);
    }
  } catch {
    // Not to be reached just now; it is asked again.
  }
  setTimeout(look, EVERY_MS);
}

setTimeout(look, EVERY_MS);
