// In Django, the label of a search field is an icon without a role. Screen readers need a role.
addEventListener("load", () => {
  for (const icon of document.querySelectorAll(".selector .search-label-icon")) icon.setAttribute("role", "img");
});
