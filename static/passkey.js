// Creates a passkey or signs in with one. The form posts the browser's answer. Its button is hidden until this
// script runs.

const toBytes = (text) =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (sign) => sign.charCodeAt(0));
const toText = (bytes) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const withBytes = (thing) => ({ ...thing, id: toBytes(thing.id) });

// The two functions below do what newer browsers do themselves.
function readOptions(options) {
  const { challenge, user, allowCredentials, excludeCredentials } = options;
  return {
    ...options,
    challenge: toBytes(challenge),
    ...(user && { user: withBytes(user) }),
    ...(allowCredentials && { allowCredentials: allowCredentials.map(withBytes) }),
    ...(excludeCredentials && { excludeCredentials: excludeCredentials.map(withBytes) }),
  };
}

function toJson({ id, rawId, type, response }) {
  const parts = ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"];
  const given = parts.filter((part) => response[part]).map((part) => [part, toText(response[part])]);
  return { id, rawId: toText(rawId), type, response: Object.fromEntries(given) };
}

async function create(form) {
  const options = JSON.parse(form.dataset.options);
  const read = PublicKeyCredential.parseCreationOptionsFromJSON?.bind(PublicKeyCredential) ?? readOptions;
  return navigator.credentials.create({ publicKey: read(options) });
}

async function signIn(form) {
  const answer = await fetch(form.dataset.optionsFrom, { method: "POST", body: new FormData(form) });
  if (!answer.ok) throw new Error("no options");
  const read = PublicKeyCredential.parseRequestOptionsFromJSON?.bind(PublicKeyCredential) ?? readOptions;
  return navigator.credentials.get({ publicKey: read(await answer.json()) });
}

const form = document.querySelector("form[data-passkey]");
for (const button of window.PublicKeyCredential ? document.querySelectorAll(`button[form="${form?.id}"]`) : []) {
  const status = document.getElementById(form.dataset.status);
  button.hidden = false;
  status.hidden = true;
  button.addEventListener("click", async (event) => {
    event.preventDefault();
    status.hidden = true;
    button.disabled = true;
    try {
      const passkey = await (form.dataset.options ? create(form) : signIn(form));
      form.elements.credential.value = JSON.stringify(passkey.toJSON?.() ?? toJson(passkey));
      form.submit();
    } catch (error) {
      // The form has a sentence for each error that a user can do something about.
      status.textContent = form.dataset[error.name] ?? form.dataset.otherError;
      status.hidden = false;
      button.disabled = false;
      button.focus();
    }
  });
}
