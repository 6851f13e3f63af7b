// Keeps the page fresh, turns the pages of the player in place, and copies lines. Without it, every link still works.
"use strict";
(() => {
  const main = () => document.getElementById("main");
  const away = document.getElementById("away");
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));

  // A document that is read this way runs no script and is no string of markup.
  const read = (address) =>
    new Promise((done, failed) => {
      const request = new XMLHttpRequest();
      request.open("GET", address);
      request.responseType = "document";
      request.onload = () => (request.response && request.response.getElementById("main") ? done(request.response) : failed(request.status));
      request.onerror = () => failed(0);
      request.send();
    });

  const tell = (text) => {
    away.textContent = text;
    away.hidden = !text;
  };

  const place = (element) => {
    const found = [];
    for (let each = element; each && each !== main(); each = each.parentElement) found.unshift([...each.parentElement.children].indexOf(each));
    return found;
  };
  const at = (path) => path.reduce((each, index) => each && each.children[index], main());

  // A notification names no site and no text of a page: it may show on a locked screen.
  const notify = (fresh) => {
    const [before, now] = [main(), fresh].map((each) => Number(each.dataset.waiting));
    if (now <= before || !("Notification" in window) || Notification.permission !== "granted" || (document.hasFocus() && !document.hidden)) return;
    const said = new Notification(document.title.replace(/^\(\d+\) /, ""), { body: now === 1 ? "Something needs you." : `${now} things need you.`, tag: "trailmesh" });
    said.onclick = () => {
      window.focus();
      location.assign(main().dataset.root);
    };
  };
  const offer = () => {
    const heading = document.getElementById("needs");
    if (!heading || heading.nextElementSibling?.matches("button") || !("Notification" in window) || Notification.permission !== "default") return;
    const button = document.createElement("button");
    button.className = "copy";
    button.type = "button";
    button.textContent = "Notify me";
    button.addEventListener("click", () => Notification.requestPermission().then(() => button.remove()));
    heading.after(button);
  };

  let written = main().innerHTML; // as the node wrote it, before `dress`
  const put = (fresh) => {
    const next = fresh.getElementById("main");
    notify(next);
    if (next.innerHTML === written) {
      for (const name of ["since", "waiting", "moves"]) {
        if (next.dataset[name] === undefined) delete main().dataset[name];
        else main().dataset[name] = next.dataset[name];
      }
      document.title = fresh.title;
      return;
    }
    written = next.innerHTML;
    // A picture that stays is not loaded again.
    const pictures = new Map([...main().querySelectorAll("img")].map((each) => [each.getAttribute("src") + each.className, each]));
    for (const each of next.querySelectorAll("img")) {
      const same = pictures.get(each.getAttribute("src") + each.className);
      if (!same || each.alt !== same.alt) continue;
      pictures.delete(each.getAttribute("src") + each.className);
      each.replaceWith(document.adoptNode(same));
    }
    const [typed, field] = [main().querySelector("#find"), next.querySelector("#find")];
    const focus = main().contains(document.activeElement) && document.activeElement !== main() ? place(document.activeElement) : null;
    const scrolled = [...main().querySelectorAll(".scroll, .strip, .diff")].map((each) => [each.scrollLeft, each.scrollTop]);
    const open = [...main().querySelectorAll("details")].map((each) => each.open);
    if (typed && field) field.replaceWith(typed); // what is being typed stays
    main().replaceWith(document.adoptNode(next));
    [...main().querySelectorAll("details")].forEach((each, index) => (each.open = Boolean(open[index])));
    document.title = fresh.title;
    [...main().querySelectorAll(".scroll, .strip, .diff")].forEach((each, index) => {
      if (scrolled[index] && !each.classList.contains("diff")) [each.scrollLeft, each.scrollTop] = scrolled[index];
    });
    dress();
    if (focus) at(focus)?.focus({ preventScroll: true });
  };

  // A time beside now, for whoever looks at the page; its title has the whole of it.
  const units = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
  const beside = new Intl.RelativeTimeFormat("en", { numeric: "always" });
  const told = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
  const tick = () => {
    for (const each of document.querySelectorAll("time[datetime]")) {
      const at = new Date(each.dateTime);
      const seconds = Math.round((at - Date.now()) / 1000);
      const [unit, length] = units.find(([, length]) => Math.abs(seconds) >= length) || units[3];
      const said = Math.abs(seconds) < 86400 ? beside.format(Math.trunc(seconds / length), unit) : told.format(at);
      each.title = `${told.format(at)}, ${each.dateTime}`;
      if (each.textContent !== said) each.textContent = said;
    }
  };
  setInterval(tick, 5000);

  const dress = () => {
    tick();
    offer();
    for (const line of document.querySelectorAll(".paste")) {
      if (line.querySelector("button")) continue;
      const button = document.createElement("button");
      button.className = "copy";
      button.type = "button";
      button.textContent = "Copy";
      button.addEventListener("click", async () => {
        try {
          await navigator.clipboard.writeText(line.querySelector("code").textContent);
          button.textContent = "Copied";
        } catch {
          getSelection().selectAllChildren(line.querySelector("code"));
          button.textContent = "Selected";
        }
        setTimeout(() => (button.textContent = "Copy"), 1500);
      });
      line.append(button);
    }
    const here = document.querySelector("nav [aria-current]");
    if (here) here.closest("nav").scrollLeft = here.offsetLeft - here.closest("nav").clientWidth / 2;
    const current = document.querySelector(".strip [aria-current]");
    const strip = current?.closest(".strip");
    if (strip) {
      const [box, row] = [strip.getBoundingClientRect(), current.getBoundingClientRect()];
      if (row.top < box.top || row.bottom > box.bottom) strip.scrollTop += row.top - box.top - box.height / 3;
      if (row.left < box.left || row.right > box.right) strip.scrollLeft += row.left - box.left - box.width / 3;
    }
  };

  const turn = async (address, remember) => {
    try {
      put(await read(address));
      if (remember) history.pushState(null, "", address);
    } catch {
      location.assign(address);
    }
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-swap]");
    if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    turn(link.href, true);
  });
  addEventListener("popstate", () => turn(location.href, false));
  document.addEventListener("keydown", (event) => {
    if (event.metaKey || event.ctrlKey || event.altKey || event.target.closest(".scroll, .diff, input")) return;
    const steps = event.target.closest(".player") ? [...document.querySelectorAll(".strip a")] : [];
    const link = event.shiftKey
      ? { ArrowLeft: document.querySelector(".looks a[rel=before]"), ArrowRight: document.querySelector(".looks a[rel=after]") }[event.key]
      : {
          ArrowLeft: document.querySelector(".player a[rel=prev]"),
          ArrowRight: document.querySelector(".player a[rel=next]"),
          Home: steps[0],
          End: steps.at(-1),
        }[event.key];
    if (!link) return;
    event.preventDefault();
    turn(link.href, true);
  });

  // No form: the policy allows none.
  document.addEventListener("change", (event) => {
    if (event.target.id !== "find") return;
    const text = event.target.value.trim();
    location.assign(location.pathname + (text ? `?text=${encodeURIComponent(text)}` : ""));
  });

  const seen = (ms) =>
    new Promise((done) => {
      document.addEventListener("visibilitychange", done, { once: true });
      setTimeout(done, ms);
    });
  const follow = async () => {
    for (;;) {
      // A page that nobody looks at holds no connection, since a web browser opens only six to a node. Its title still counts.
      if (document.hidden) await seen(20000);
      const { root, since, moves } = main().dataset;
      const when = document.hidden ? "now" : moves === undefined ? "" : "moves";
      const hidden = new AbortController();
      const hide = () => document.hidden && hidden.abort();
      document.addEventListener("visibilitychange", hide);
      try {
        const answer = await fetch(`${root}changes?since=${since}&when=${when}`, { signal: hidden.signal });
        if (answer.status === 401) {
          tell("This page is closed. `trailmesh ui` opens it again.");
          return;
        }
        if (!answer.ok) throw new Error();
        tell("");
        if (String((await answer.json()).last) !== since || when === "moves") put(await read(location.href));
        await pause(700);
      } catch {
        if (hidden.signal.aborted) continue;
        tell("The node does not answer. What is shown may be old.");
        await pause(3000);
      } finally {
        document.removeEventListener("visibilitychange", hide);
      }
    }
  };
  dress();
  const tree = main().querySelector(".trees");
  if (tree) tree.scrollTop = (tree.scrollHeight - tree.clientHeight) / 2; // its start is in the middle
  follow();
})();
