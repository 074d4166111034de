// Before anything is drawn: what needs scripts is shown, and nothing moves when they begin.
document.documentElement.classList.add("scripted");
