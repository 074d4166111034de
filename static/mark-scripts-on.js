// Runs before the first paint: show the parts that need scripts, so that nothing moves later.
document.documentElement.classList.add("scripted");
