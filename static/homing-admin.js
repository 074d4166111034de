// Django's script names a field by a label on an icon that says of nothing that it is one.
addEventListener("load", () => {
  for (const icon of document.querySelectorAll(".selector .search-label-icon")) icon.setAttribute("role", "img");
});
