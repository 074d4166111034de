// The colour picker and the field of the colour show the same colour. htmx shows the preview.
const form = document.querySelector("[data-look]");
const picker = form.querySelector("[data-picker]");

picker.hidden = false;
form.addEventListener("input", ({ target }) => {
  const { accent } = form.elements;
  if (target === picker) accent.value = picker.value;
  else if (/^#[0-9a-f]{6}$/i.test(accent.value)) picker.value = accent.value;
});
