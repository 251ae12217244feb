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
const STOPPED = "stopped"; // why a question is given up: its asker wants that; the service stops its work when the connection closes

async function ask(form, submitter) {
  asking?.abort();
  const own = (asking = new AbortController());
  const fields = new URLSearchParams(new FormData(form, submitter));
  const place = document.getElementById("answer");
  document.getElementById("messages").replaceChildren();
  place.replaceChildren(document.getElementById("working").content.cloneNode(true));
  place.setAttribute("aria-busy", "true");
  const [said, step, seconds] = ["text", "step", "seconds"].map((name) => place.querySelector(`[data-${name}]`));
  const began = Date.now();
  const clock = setInterval(() => (seconds.textContent = Math.floor((Date.now() - began) / 1000)), 500);
  document.getElementById("passage").replaceChildren();
  try {
    const response = await fetch(form.action, { method: "POST", body: fields, headers: headers(), signal: own.signal });
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
    if (own.signal.reason === STOPPED) {
      place.replaceChildren(document.getElementById("stopped").content.cloneNode(true));
      place.firstElementChild.focus();
    } else if (error.name !== "AbortError") place.textContent = "The connection broke off. Ask again.";
  } finally {
    clearInterval(clock);
    if (asking === own) place.removeAttribute("aria-busy");
  }
}

const BUSY = [429, 503];
const pathOf = (file) => file.webkitRelativePath || file.path || file.name;

// A file that stays out, with the reason, in the list of uploads.
function notTaken(file, why, list) {
  const line = document.getElementById("not-taken").content.cloneNode(true);
  line.querySelector("[data-name]").textContent = pathOf(file);
  line.querySelector("[data-why]").textContent = why;
  list.prepend(line);
}

const later = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));

// Markup that answers to one file; null where it is not taken, and the list says so. A service that is busy is asked again.
async function send(file, labels, list, address) {
  const form = new FormData();
  form.append("file", file, pathOf(file));
  if (labels) form.append("labels", labels);
  try {
    let response = await fetch(address, { method: "POST", body: form, headers: headers() });
    for (let left = 20; left && BUSY.includes(response.status) && response.headers.get("Retry-After"); left--) {
      await later(Math.max(1, Number(response.headers.get("Retry-After")) || 1));
      response = await fetch(address, { method: "POST", body: form, headers: headers() });
    }
    const markup = await response.text();
    if (response.ok) return markup;
    if (response.headers.get("HX-Refresh")) location.reload();
    const told = document.createElement("template");
    told.innerHTML = markup;
    notTaken(file, told.content.querySelector("p")?.textContent ?? `the service failed (${response.status}); send it again`, list);
  } catch {
    notTaken(file, "the connection broke off; send it again", list);
  }
  return null;
}

// What can be sent at all: not too large, and of a folder what a reader knows.
function fitting(file, list) {
  const [most, known, path] = [Number(list.dataset.most), list.dataset.suffixes.split(" "), pathOf(file)];
  if (file.size > most) notTaken(file, `it has ${file.size.toLocaleString("en")} bytes, and ${most.toLocaleString("en")} is the most`, list);
  else if (path.includes("/") && !known.some((suffix) => path.toLowerCase().endsWith(suffix))) notTaken(file, "no reader knows such a file", list);
  else return true;
  return false;
}

// The files that may be sent once a person has seen what they cost.
async function agreed(files, labels, list, said) {
  const [place, readable] = [document.getElementById("estimate"), []];
  let totals = "";
  for (const [row, file] of files.entries()) {
    said.textContent = `reading ${row + 1} of ${files.length}: ${pathOf(file)}`;
    const markup = await send(file, labels, list, `${list.dataset.estimate}?${totals}`);
    if (markup === null) continue;
    put(place, markup);
    totals = place.querySelector("[data-totals]").dataset.totals;
    readable.push(file);
  }
  said.textContent = "";
  if (!readable.length) return [];
  const buttons = [...place.querySelectorAll("[data-choice]")];
  for (const button of buttons) button.disabled = false;
  buttons[0].focus();
  const choice = await new Promise((resolve) => buttons.forEach((button) => button.addEventListener("click", () => resolve(button.dataset.choice))));
  place.replaceChildren();
  return choice === "add" ? readable : [];
}

// As the labels and the choice of an estimate were when the files were chosen: what is typed later is for later files.
async function sendAll(chosen, labels, estimated) {
  const [list, said] = [document.getElementById("uploads"), document.getElementById("sending")];
  let files = chosen.filter((file) => fitting(file, list));
  if (estimated) files = await agreed(files, labels, list, said);
  let taken = 0;
  for (const [row, file] of files.entries()) { // one after the other: a folder must not flood its own edge
    said.textContent = `sending ${row + 1} of ${files.length}: ${pathOf(file)}`;
    const markup = await send(file, labels, list, list.dataset.upload);
    if (markup === null) continue;
    list.insertAdjacentHTML("afterbegin", markup);
    if (++taken % 20 === 1) htmx.trigger(document.body, "uploaded");
  }
  said.textContent = files.length ? `${taken} of ${files.length} accepted` : "";
  htmx.trigger(document.body, "uploaded");
}

let sending = Promise.resolve();
function sendLater(files) {
  const [labels, estimated] = [document.getElementById("labels").value.trim(), document.getElementById("estimate-first").checked];
  sending = sending.catch(() => {}).then(() => sendAll(files, labels, estimated)); // what broke off stops nothing later
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
  const given = [...items].filter((item) => item.kind === "file").map((item) => item.webkitGetAsEntry() ?? item.getAsFile()); // now: they are gone later
  for (const each of given) each instanceof File ? files.push(each) : await walk(each);
  return files;
}

document.addEventListener("submit", (event) => {
  if (event.target.dataset.ask === undefined) return;
  event.preventDefault();
  ask(event.target, event.submitter);
});
document.addEventListener("keydown", (event) => {
  if (event.target.dataset?.send !== undefined && event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    event.target.form.requestSubmit();
  }
});
document.addEventListener("click", (event) => {
  if (event.target.dataset.stop !== undefined) asking?.abort(STOPPED);
  if (event.target.dataset.close !== undefined) event.target.parentElement.remove();
  if (event.target.dataset.copy !== undefined) {
    navigator.clipboard?.writeText(document.getElementById(event.target.dataset.copy).textContent).then(() => (event.target.textContent = "Copied"));
  }
});
document.addEventListener("change", (event) => {
  if (event.target.dataset.files === undefined) return;
  sendLater([...event.target.files]);
  event.target.value = ""; // the same file may be chosen again
});
for (const name of ["dragover", "dragleave", "drop"])
  document.addEventListener(name, (event) => {
    const zone = event.target.closest?.(".drop");
    if (!zone) return;
    event.preventDefault();
    zone.classList.toggle("over", name === "dragover");
    if (name === "drop") dropped(event.dataTransfer.items).then(sendLater);
  });
document.addEventListener("htmx:before:request", (event) => { // what was wrong before is over; a list that looks anew is no reason
  if (event.detail.ctx.request.method !== "GET") document.getElementById("messages").replaceChildren();
});
document.addEventListener("htmx:before:swap", (event) => { // what is no markup of ours, as an error from within the service, takes no page's place
  const response = event.detail.ctx?.response;
  if (!response || response.headers.get("content-type")?.startsWith("text/html")) return;
  event.preventDefault();
  document.getElementById("messages").textContent = `The service failed (${response.status}). Load the page again; its log tells more.`;
});
document.addEventListener("htmx:after:swap", () => {
  const wanted = document.querySelector("[data-focus]");
  wanted?.focus();
  wanted?.removeAttribute("data-focus"); // once: a later swap elsewhere leaves the reader where he is
});
