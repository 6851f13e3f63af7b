// Small stand-ins for what frameworks do with a page, so that the traps look and act as pages made with them.
(() => {
  const attempt = (method, url, data) => fetch(url, { method, keepalive: true,
    ...(data ? { headers: { "Content-Type": "application/json" }, body: JSON.stringify(data) } : {}) });
  const show = (element, text = "more") => {
    const line = document.createElement("p");
    line.textContent = text;
    (element.closest("section") || element.parentNode).append(line);
  };
  Object.assign(window, { attempt, show, wait: (ms) => new Promise((done) => setTimeout(done, ms)) });

  // React: one listener at the root for each kind of event; which element has which handler stands in no attribute.
  const handlers = new WeakMap();
  const KINDS = "click dblclick change input keydown keyup focusin focusout mouseover pointerdown pointerup contextmenu dragstart submit";
  for (const kind of KINDS.split(" ")) document.addEventListener(kind, (event) => {
    for (const node of event.composedPath()) handlers.get(node)?.[kind]?.(event, node);
  });
  window.on = (kind, act) => {
    const element = document.currentScript.previousElementSibling;
    handlers.set(element, { ...handlers.get(element), [kind]: act });
  };

  // jQuery and others: one listener for all elements that fit a selector.
  window.delegate = (kind, selector, act) => document.addEventListener(kind, (event) => {
    const element = event.target.closest?.(selector);
    if (element) act(event, element);
  });
  window.post = (url, fields) => fetch(url, { method: "POST", body: new URLSearchParams(fields) });

  // HTMX: an attribute names the method and the address, another one the event.
  const field = (element) => element.matches("input,select,textarea");
  const waiting = new WeakMap();
  const hx = async (element, kind) => {
    const [wanted, ...rest] = (element.getAttribute("hx-trigger") || (field(element) ? "change" : "click")).split(/[ ,]+/);
    if (wanted !== kind) return;
    for (const method of ["get", "post", "put", "patch", "delete"]) {
      const url = element.getAttribute(`hx-${method}`);
      if (!url || (element.hasAttribute("hx-confirm") && !confirm(element.getAttribute("hx-confirm")))) continue;
      const delay = Number(/delay:(\d+)/.exec(rest.join(" "))?.[1] || 0);
      clearTimeout(waiting.get(element));
      waiting.set(element, setTimeout(async () => { await attempt(method.toUpperCase(), url); show(element, "swapped"); }, delay));
    }
  };
  // Livewire, Alpine, Stimulus, UJS and Turbo.
  const livewire = async (element, call) => {
    await attempt("POST", element.closest("[data-endpoint]").dataset.endpoint, { components: [{ calls: [{ method: call }] }] });
    show(element, call);
  };
  const controllers = {
    async star(element) { element.classList.toggle("on"); await attempt("POST", element.dataset.url); },
    clipboard(element) { element.textContent += " ✓"; },
    dropdown(element) { element.setAttribute("aria-expanded", "true"); show(element, "Profile Settings"); },
    async autosave(element) { await wait(600); await attempt("PATCH", element.dataset.url, { value: element.value }); },
    async pager(element) { await attempt("GET", element.dataset.url); show(element, "page two"); },
    filter(element) { show(element, `filtered by ${element.value}`); },
  };
  const SELECTORS = "[hx-get],[hx-post],[hx-put],[hx-patch],[hx-delete]";
  for (const kind of ["click", "change", "keyup", "input"]) document.addEventListener(kind, (event) => {
    const start = event.composedPath()[0];
    if (!start.closest) return;
    const at = start.closest(SELECTORS), wired = start.closest("[wire\\:click]"), alpine = start.closest("[x-on\\:click]");
    if (at) { if (at.localName === "a" && kind === "click") event.preventDefault(); hx(at, kind); }
    const model = start.getAttribute("data-model");
    if (kind === "input" && model) { clearTimeout(waiting.get(start)); waiting.set(start, setTimeout(() => livewire(start, `set ${model}`), 500)); }
    const stimulus = start.closest("[data-action]"), action = stimulus && /^(?:(\w+)->)?(\w+)#/.exec(stimulus.dataset.action);
    if (action && (action[1] || "click") === kind) controllers[action[2]](stimulus);
    if (kind !== "click") return;
    if (wired) livewire(wired, wired.getAttribute("wire:click"));
    if (alpine) new Function("$el", alpine.getAttribute("x-on:click"))(alpine);
    const link = start.closest("a[data-turbo-method],a[data-method]");
    if (link && (!link.dataset.confirm || confirm(link.dataset.confirm))) {
      const method = (link.dataset.turboMethod || link.dataset.method).toUpperCase();
      if (method === "GET") return;
      event.preventDefault();
      if (link.dataset.remote) { attempt(method, link.href); return; }
      const form = document.createElement("form");
      form.method = "post"; form.action = link.href;
      form.innerHTML = `<input type=hidden name=_method value=${method}>`;
      document.body.append(form); form.submit();
    }
  });

  // Web components with an open tree.
  const component = (name, inner, act) => customElements.define(name, class extends HTMLElement {
    connectedCallback() {
      this.attachShadow({ mode: "open" }).innerHTML = inner.replace("%", this.getAttribute("label") || "");
      this.shadowRoot.firstElementChild.addEventListener("click", () => act(this));
    }
  });
  window.component = component;
  component("x-like", "<button>%</button>", (host) => attempt("POST", host.getAttribute("url")));
  component("x-fold", "<button aria-expanded=false>%</button>", (host) => show(host, "unfolded"));
  component("x-load", "<button>%</button>", async (host) => { await attempt("GET", host.getAttribute("url")); show(host, "loaded"); });
  component("x-press", "<span role=button tabindex=0>%</span>", (host) => host.dispatchEvent(new CustomEvent("press", { bubbles: true })));
  window.__doPostBack = (target, argument) => {
    const form = document.createElement("form");
    form.method = "post"; form.action = target;
    form.innerHTML = `<input type=hidden name=__EVENTARGUMENT value="${argument}">`;
    document.body.append(form); form.submit();
  };
})();
