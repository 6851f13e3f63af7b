// Every control of the document and its open shadow trees, with the path that finds it again in another language.
() => {
  const ROLES = new Set(("button link checkbox radio switch tab menuitem menuitemcheckbox menuitemradio option combobox listbox textbox " +
    "searchbox spinbutton slider treeitem columnheader gridcell").split(" "));
  const NATIVE = "a[href],area[href],button,input:not([type=hidden]),select,textarea,summary,audio[controls],video[controls]";
  const ACTS = "[onclick],[onmouseover],[ondblclick],[tabindex]:not([tabindex='-1']),[contenteditable=''],[contenteditable=true],[draggable=true],label[onclick]";
  const matches = (element, selector) => Element.prototype.matches.call(element, selector); // pages give elements a ``matches`` of their own
  const place = (element) => {
    const parts = [];
    for (let node = element; node && node.nodeType === 1; ) {
      const parent = node.parentNode;
      if (!parent || parent === document) { parts.unshift("html"); break; }
      if (node === document.body) { parts.unshift("body"); break; }
      const index = Array.prototype.indexOf.call(parent.children, node) + 1;
      parts.unshift(`${CSS.escape(node.localName)}:nth-child(${index})`);
      if (parent instanceof ShadowRoot) { parts.unshift(null); node = parent.host; } else node = parent;
    }
    return parts.reduce((all, part) => part === null ? `${all} ` : all && !all.endsWith(" ") ? `${all} > ${part}` : `${all}${part}`, "");
  };
  const visible = (element) => {
    const box = element.getBoundingClientRect(), style = getComputedStyle(element);
    return box.width > 0 && box.height > 0 && style.visibility !== "hidden" && style.display !== "none";
  };
  const digits = (text) => (text || "").replace(/[0-9]+|[0-9a-f]{8,}/g, "#").slice(0, 200);
  const address = (url) => { try { const at = new URL(url, document.baseURI); return digits(at.origin === location.origin ? at.pathname + at.search : at.href); } catch { return "?"; } };
  const text = (element) => (element.getAttribute("aria-label") || element.innerText || element.value || element.title ||
    element.querySelector?.("img")?.alt || element.placeholder || (element.labels && element.labels[0]?.innerText) || "").trim().replace(/\s+/g, " ").slice(0, 120);
  const kind = (element) => {
    const tag = element.localName, type = (element.getAttribute("type") || "").toLowerCase();
    if (tag === "select") return "select";
    if (tag === "textarea" || element.isContentEditable) return "fill";
    if (tag === "input" && !["button", "submit", "reset", "image", "checkbox", "radio", "file", "color", "range"].includes(type)) return "fill";
    if (type === "file") return "";
    return "click";
  };
  const found = [];
  const walk = (root) => {
    for (const element of root.querySelectorAll("*")) {
      if (element.shadowRoot) walk(element.shadowRoot);
      const acts = matches(element, NATIVE) || matches(element, ACTS) || ROLES.has(element.getAttribute("role"));
      if (!acts || element.disabled || !visible(element)) continue;
      const does = kind(element);
      if (!does) continue;
      const form = element.form || element.closest?.("form");
      const role = element.getAttribute("role") || "", type = (element.getAttribute("type") || "").toLowerCase();
      const href = element.href ? address(typeof element.href === "string" ? element.href : element.href.baseVal) : "";
      const target = form ? `${(element.getAttribute("formmethod") || form.method || "get").toLowerCase()} ${address(element.getAttribute("formaction") || form.getAttribute("action") || "")}` : "";
      found.push({
        selector: place(element), kind: does, tag: element.localName, type, role, label: text(element), href, form: target,
        name: element.getAttribute("name") || "", value: type === "submit" || element.localName === "button" ? element.getAttribute("value") || "" : "",
        plain: element.localName === "a" && !!element.href && !element.hasAttribute("onclick") && !role && /^https?:/.test(element.href) && !element.getAttribute("href").startsWith("#"),
        address: element.localName === "a" ? element.href : "",
        lists: element.closest("tr,li,[role=row]") ? 1 : 0,
      });
    }
  };
  walk(document);
  return found;
}
