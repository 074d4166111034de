// Shows how many readers an issue has when the author chooses others. Without it, the check sheet shows the number.
const CHOICES = ["goes_to", "with_tags", "without_tags", "issue"];

for (const place of document.querySelectorAll("[data-readers-now]")) {
  const form = place.closest("form");
  let asking;

  form.addEventListener("change", async (event) => {
    if (!CHOICES.includes(event.target.name)) return;
    asking?.abort();
    asking = new AbortController();
    const chosen = [...new FormData(form)].filter(([name]) => CHOICES.includes(name));
    try {
      const headers = { Accept: "application/json" };
      const address = `${place.dataset.readersNow}?${new URLSearchParams(chosen)}`;
      const answer = await fetch(address, { headers, redirect: "error", signal: asking.signal });
      if (answer.ok) place.innerHTML = (await answer.json()).html;
    } catch {
      // A newer choice asks again. An author who is signed out sees the number on the check sheet.
    }
  });
}
