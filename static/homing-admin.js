// Django labels a search field by an icon that has no role; screen readers need one.
addEventListener("load", () => {
  for (const icon of document.querySelectorAll(".selector .search-label-icon")) icon.setAttribute("role", "img");
});
