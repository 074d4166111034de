// Posts the same form again after so many seconds, under the same key. With scripts off there is a button.
for (const form of document.querySelectorAll("form[data-look-again]")) {
  setTimeout(() => form.requestSubmit(), Number(form.dataset.lookAgain) * 1000);
}
