// Typing a time chooses “Schedule”. Choosing “Now” clears the time until “Schedule” is chosen again.
for (const part of document.querySelectorAll("[data-when]")) {
  const { at, when } = part.closest("form").elements;
  let typed = "";
  part.addEventListener("input", ({ target }) => {
    if (when && target === at && at.value) when.value = "at";
    else if (target.value === "now") [typed, at.value] = [at.value, ""];
    else if (target.value === "at") at.value ||= typed;
  });
  // The author may have typed a time before this script ran.
  if (at.value !== at.defaultValue) at.dispatchEvent(new Event("input", { bubbles: true }));
}
