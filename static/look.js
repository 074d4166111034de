// Shows the look that the author is choosing. The next preview loads behind the present one and then replaces it.
const WAIT_MS = 150;
const form = document.querySelector("[data-look]");
const picker = form.querySelector("[data-picker]");
const paper = form.querySelector("[data-paper]");
const frames = form.querySelector("[data-frames]");
const chosen = {}; // each chosen logo that is not saved yet: its size and its content as a data URL
let timer, request;

picker.hidden = false;
form.querySelector("[data-without-script]").hidden = true;

form.addEventListener("input", ({ target }) => {
  const { accent, device, scheme } = form.elements;
  if (target === picker) accent.value = picker.value;
  else if (/^#[0-9a-f]{6}$/i.test(accent.value)) picker.value = accent.value;
  paper.className = `paper ${device.value} ${scheme.value}`;
  if (["device", "scheme"].includes(target.name)) return;
  clearTimeout(timer);
  timer = setTimeout(target.type === "file" ? () => choose(target) : load, target.type === "radio" ? 0 : WAIT_MS);
});

// The browser reads the file; nothing is uploaded before the author saves.
async function choose({ name, files: [file], dataset }) {
  delete chosen[name];
  if (file && file.size <= Number(dataset.most) && ["image/png", "image/svg+xml"].includes(file.type)) {
    const image = new Image();
    image.src = await new Promise((resolve) => {
      const reader = new FileReader();
      reader.addEventListener("load", () => resolve(reader.result));
      reader.readAsDataURL(file);
    });
    const isImage = await image.decode().then(() => true, () => false);
    const { naturalWidth: width, naturalHeight: height, src } = image;
    if (isImage && width && height) chosen[name] = { size: `${width}x${height}`, src };
  }
  load();
}

async function load() {
  request?.abort();
  request = new AbortController();
  const body = new FormData(form);
  body.set("then", "preview");
  for (const { name } of form.querySelectorAll("[type=file]")) {
    body.delete(name);
    if (chosen[name]) body.set(`new_${name}`, chosen[name].size);
  }
  const answer = await fetch(form.action, { method: "POST", body, signal: request.signal }).catch(() => null);
  const source = await answer?.text().catch(() => "");
  const page = new DOMParser().parseFromString(source ?? "", "text/html");
  const next = page.querySelector("[data-frames] iframe");
  // The colour is not complete yet, or the session has ended: the present preview stays.
  if (!next || page.querySelector(".error")) return;
  form.querySelector("#colours").replaceWith(page.querySelector("#colours"));
  show(document.importNode(next));
}

function show(next) {
  const [current, ...late] = frames.querySelectorAll("iframe");
  for (const frame of late) frame.remove();
  next.addEventListener("load", async () => {
    const { contentDocument: shown, contentWindow: view } = next;
    for (const [name, { src }] of Object.entries(chosen)) {
      for (const image of shown.querySelectorAll(`[src="data:,${name}"]`)) image.src = src;
      for (const source of shown.querySelectorAll(`[srcset="data:,${name}"]`)) source.srcset = src;
    }
    await Promise.allSettled([...shown.images].slice(0, 2).map((image) => image.decode()));
    if (!next.isConnected) return;
    view.scrollTo(0, current.contentWindow.scrollY);
    current.remove();
  });
  frames.append(next);
}
