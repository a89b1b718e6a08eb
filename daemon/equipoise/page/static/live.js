// Keeps a page live: the daemon's stream says which game servers have changed, and their parts of the page are fetched
// again; public pages of game servers are fetched whole. Without it every page shows what was when it was loaded.

const stream = document.body.dataset.live; // "all", a server's name, or nothing
const again = Number(document.body.dataset.again); // seconds after which a public page, which has no stream, is fetched
const line = document.getElementById("line");
const SILENT_MS = 5000;
const REST_MS = 1000;

if (stream) {
  const home = document.querySelector(".brand").getAttribute("href");
  const changed = new Set();
  let heard = Date.now();
  let busy = false;

  // Times are those of the daemon's zone, as everywhere on the page: it stands in the time that the page came with.
  const [, ahead, hours, minutes] = line.querySelector("time").dateTime.match(/([+-])(\d\d):(\d\d)$/);
  const zone = Number(`${ahead}1`) * (60 * hours + Number(minutes)) * 60_000;
  function clock(at) {
    return new Date(at + zone).toISOString().slice(11, 19);
  }

  const known = new URLSearchParams({ since: document.body.dataset.since }); // what the page came with is not sent again
  if (stream !== "all") known.set("server", stream);
  const address = `${home}live?${known}`;
  connect();

  // A browser tries again by itself only where nobody answered: behind a proxy somebody always does.
  function connect() {
    const source = new EventSource(address);
    source.addEventListener("alive", sign);
    source.addEventListener("server", (event) => {
      sign();
      changed.add(JSON.parse(event.data).server.server);
      refresh();
    });
    source.addEventListener("gone", () => location.reload());
    source.addEventListener("error", async () => {
      if (source.readyState !== EventSource.CLOSED) return;
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } }).catch(() => null);
      if (answer?.redirected || answer?.status === 404) location.reload(); // logged out, or the server is gone
      else setTimeout(connect, SILENT_MS);
    });
  }

  function sign() {
    heard = Date.now();
    document.body.classList.remove("lost");
    line.setAttribute("aria-live", "off"); // nobody wants to hear that every two seconds
    line.textContent = `live · ${clock(heard)}`;
  }

  setInterval(() => {
    if (Date.now() - heard < SILENT_MS || document.body.classList.contains("lost")) return;
    document.body.classList.add("lost");
    line.setAttribute("aria-live", "assertive");
    line.textContent = `no connection since ${clock(heard)}: what you see is old`;
  }, 1000);

  // One request at a time, and a rest after it: however often servers change, the daemon is asked once a second.
  async function refresh() {
    if (busy || !changed.size || document.hidden) return;
    busy = true;
    const servers = [...changed];
    changed.clear();
    try {
      const page = new URL(location.href);
      if (stream === "all" && servers.length < 50) page.searchParams.set("servers", servers.join(","));
      await load(page);
    } catch {
      servers.forEach((server) => changed.add(server)); // the line says it is lost
    }
    setTimeout(() => { busy = false; refresh(); }, REST_MS);
  }
  document.addEventListener("visibilitychange", refresh);
}

if (again) {
  const look = () => document.hidden || load(location.href).catch(() => {}); // the next look may find the daemon again
  setInterval(look, 1000 * again);
  document.addEventListener("visibilitychange", look);
}

async function load(page) {
  const answer = await fetch(page, { headers: { Accept: "text/html" }, cache: "no-cache" });
  if (answer.redirected || answer.status === 404) return location.reload(); // logged out, or the server is gone
  if (!answer.ok) throw new Error(answer.statusText);
  exchange(new DOMParser().parseFromString(await answer.text(), "text/html"));
}

// Clocks go on by themselves: seconds that pass are no change. They stand still with a lost connection.
const starts = new WeakMap();
function tick() {
  if (document.body.classList.contains("lost")) return;
  for (const clock of document.querySelectorAll("[data-seconds]")) {
    if (!starts.has(clock)) starts.set(clock, Date.now() - 1000 * clock.dataset.seconds);
    const seconds = Math.floor((Date.now() - starts.get(clock)) / 1000);
    const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
    const two = (number) => String(number).padStart(2, "0");
    clock.textContent = `${hours ? `${hours}:${two(minutes)}` : minutes}:${two(seconds % 60)}`;
  }
}
// Exchange the parts that differ, by id, and put them into their order. The focus stays where it is: what is being
// written is not exchanged, a link's place is taken by the same one, and a panel with the focus is not lifted out.
function exchange(fresh) {
  const gone = (part) => again && !fresh.getElementById(part.id); // with a stream, a part of the page may have come
  [...document.querySelectorAll("[data-part]")].filter(gone).forEach((part) => part.remove());
  for (const part of fresh.querySelectorAll("[data-part]")) {
    const old = document.getElementById(part.id);
    if (!old) document.querySelector("[data-parts]")?.append(part);
    else if (old.outerHTML !== part.outerHTML) replace(old, part);
  }
  const parts = document.querySelector("[data-parts]");
  if (!parts) return;
  const order = (panel) => Number(panel.dataset.need);
  const panels = [...parts.children];
  const sorted = panels.toSorted((a, b) => order(a) - order(b) || (a.id < b.id ? -1 : 1));
  if (sorted.every((panel, n) => panel === panels[n])) return;
  const held = sorted.findIndex((panel) => panel.contains(document.activeElement));
  parts.prepend(...sorted.slice(0, Math.max(held, 0)));
  parts.append(...sorted.slice(held + 1));
}

function replace(old, part) {
  const held = old.contains(document.activeElement) ? document.activeElement : null;
  if (held && !held.href) return;
  old.replaceWith(part);
  if (held) [...part.querySelectorAll("a")].find((link) => link.href === held.href)?.focus({ preventScroll: true });
}

if (stream || again) {
  tick();
  setInterval(tick, 1000);
}
