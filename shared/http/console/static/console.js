// What htmx does not do: an answer while it is written, files that are dropped, messages that are closed.
"use strict";

const headers = () => ({ "X-CSRF-Token": document.body.dataset.token, "HX-Request": "true" });

// Server-sent events of a POST, which EventSource cannot make: (name, data) of each, in order.
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    const blocks = (rest + piece.value).replaceAll("\r\n", "\n").split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const lines = block.split("\n");
      const named = lines.find((line) => line.startsWith("event:"));
      const data = lines.filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trim()).join("\n");
      if (named) yield [named.slice(6).trim(), JSON.parse(data)];
    }
  }
}

// Markup comes from the service's own templates, which escape every value.
function put(target, markup) {
  target.innerHTML = markup;
  htmx.process(target);
}

async function refused(response) {
  if (response.headers.get("HX-Refresh")) location.reload();
  put(document.getElementById("messages"), await response.text());
}

let asking = null;

async function ask(form, submitter) {
  asking?.abort();
  asking = new AbortController();
  const fields = new URLSearchParams(new FormData(form, submitter));
  const place = document.getElementById("answer");
  document.getElementById("messages").replaceChildren();
  place.replaceChildren(document.getElementById("working").content.cloneNode(true));
  place.setAttribute("aria-busy", "true");
  const [said, step] = [place.querySelector("[data-text]"), place.querySelector("[data-step]")];
  try {
    const response = await fetch(form.action, { method: "POST", body: fields, headers: headers(), signal: asking.signal });
    if (!response.ok) {
      place.replaceChildren();
      return await refused(response);
    }
    for await (const [name, data] of events(response)) {
      if (name === "step") step.textContent = data;
      else if (name === "text") said.textContent += data;
      else if (name === "void") said.textContent = "";
      else put(place, data); // the answer, or why there is none
    }
  } catch (error) {
    if (error.name !== "AbortError") place.textContent = "The connection broke off. Ask again.";
  } finally {
    place.removeAttribute("aria-busy");
  }
}

async function send(file, list) {
  const form = new FormData();
  form.append("file", file, file.webkitRelativePath || file.path || file.name);
  form.append("labels", document.getElementById("labels")?.value ?? "");
  if (!document.getElementById("labels")?.value) form.delete("labels");
  const response = await fetch(list.dataset.upload, { method: "POST", body: form, headers: headers() });
  if (!response.ok) return await refused(response);
  list.insertAdjacentHTML("afterbegin", await response.text());
  htmx.process(list);
}

async function sendAll(files) {
  const list = document.getElementById("uploads");
  for (const file of files) await send(file, list); // one after the other: a folder must not flood its own edge
  htmx.trigger(document.body, "uploaded");
}

// All files of what was dropped, those in folders too.
async function dropped(items) {
  const files = [];
  const walk = async (entry) => {
    if (entry.isFile) {
      const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
      file.path = entry.fullPath.replace(/^\//, "");
      return void files.push(file);
    }
    const reader = entry.createReader();
    for (let batch; (batch = await new Promise((resolve, reject) => reader.readEntries(resolve, reject))).length; )
      for (const each of batch) await walk(each);
  };
  for (const entry of [...items].map((item) => item.webkitGetAsEntry()).filter(Boolean)) await walk(entry);
  return files;
}

document.addEventListener("submit", (event) => {
  if (event.target.dataset.ask === undefined) return;
  event.preventDefault();
  ask(event.target, event.submitter);
});
document.addEventListener("keydown", (event) => {
  const form = event.target.closest?.("form[data-ask]");
  if (form && event.key === "Enter" && !event.shiftKey && event.target.tagName === "TEXTAREA") {
    event.preventDefault();
    form.requestSubmit();
  }
});
document.addEventListener("click", (event) => {
  if (event.target.dataset.close !== undefined) event.target.parentElement.remove();
});
document.addEventListener("change", (event) => {
  if (event.target.dataset.files === undefined) return;
  sendAll([...event.target.files]).then(() => (event.target.value = ""));
});
for (const name of ["dragover", "dragleave", "drop"])
  document.addEventListener(name, (event) => {
    const zone = event.target.closest?.(".drop");
    if (!zone) return;
    event.preventDefault();
    zone.classList.toggle("over", name === "dragover");
    if (name === "drop") dropped(event.dataTransfer.items).then(sendAll);
  });
document.addEventListener("htmx:after:swap", () => document.querySelector("[data-focus]")?.focus());
