// Post the form again after some seconds, with the same key. Without scripts, the reader uses the button.
for (const form of document.querySelectorAll("form[data-post-again]")) {
  setTimeout(() => form.requestSubmit(), Number(form.dataset.postAgain) * 1000);
}
