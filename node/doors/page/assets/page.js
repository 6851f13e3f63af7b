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

  const put = (fresh) => {
    const next = fresh.getElementById("main");
    if (next.innerHTML === main().innerHTML.replace(/<button class="copy".*?<\/button>/g, "")) {
      main().dataset.since = next.dataset.since;
      return;
    }
    const focus = main().contains(document.activeElement) && document.activeElement !== main() ? place(document.activeElement) : null;
    const scrolled = [...main().querySelectorAll(".scroll, .strip, .diff")].map((each) => [each.scrollLeft, each.scrollTop]);
    const open = [...main().querySelectorAll("details")].map((each) => each.open);
    main().replaceWith(document.adoptNode(next));
    [...main().querySelectorAll("details")].forEach((each, index) => (each.open = Boolean(open[index])));
    document.title = fresh.title;
    [...main().querySelectorAll(".scroll, .strip, .diff")].forEach((each, index) => {
      if (scrolled[index] && !each.classList.contains("diff")) [each.scrollLeft, each.scrollTop] = scrolled[index];
    });
    dress();
    if (focus) at(focus)?.focus({ preventScroll: true });
  };

  const dress = () => {
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
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || event.target.closest(".scroll, .diff")) return;
    const rel = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
    const link = rel && document.querySelector(`.player a[rel=${rel}]`);
    if (!link) return;
    event.preventDefault();
    turn(link.href, true);
  });

  const follow = async () => {
    for (;;) {
      if (document.hidden) {
        await new Promise((done) => document.addEventListener("visibilitychange", done, { once: true }));
        continue;
      }
      const { root, since } = main().dataset;
      try {
        const answer = await fetch(`${root}changes?since=${since}`);
        if (answer.status === 401) {
          tell("This page is closed. `trailmesh ui` opens it again.");
          return;
        }
        if (!answer.ok) throw new Error();
        tell("");
        if (String((await answer.json()).last) !== since) put(await read(location.href));
        await pause(700);
      } catch {
        tell("The node does not answer. What is shown may be old.");
        await pause(3000);
      }
    }
  };
  dress();
  follow();
})();
