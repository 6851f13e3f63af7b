// Before a form is sent by POST: plausible values for what must be filled in, and one value changed if nothing was empty, so that
// neither validation nor saving what is there already hides what the form does. Fields whose name fits ``leave`` stay as they are.
(element, leave) => {
  const form = element.form || element.closest?.("form");
  if (!form || (form.method || "get").toLowerCase() === "get") return 0;
  const values = { email: "ann@example.org", number: "3", date: "2026-03-04", time: "10:20", "datetime-local": "2026-03-04T10:20",
    month: "2026-03", week: "2026-W10", url: "https://example.org/", tel: "+4722334455", password: "only-on-loopback-1", color: "#336699" };
  const BUTTONS = ["checkbox", "radio", "file", "submit", "button", "image", "reset", "hidden", "range"];
  let filled = 0;
  const set = (field, value) => {
    field.value = value;
    for (const name of ["input", "change"]) field.dispatchEvent(new Event(name, { bubbles: true }));
    filled += 1;
  };
  const fields = [...form.elements].filter((each) => each.getClientRects().length > 0 && !each.disabled && !each.readOnly &&
    !(leave && new RegExp(leave).test(each.name)));
  const marked = (each) => each.required || each.getAttribute("aria-required") === "true" || each.type === "password" ||
    [...(each.labels || [])].some((label) => /required/i.test(label.className) || /\*/.test(label.textContent));
  const some = fields.some(marked);
  const typed = (each) => each.localName === "textarea" || (each.localName === "input" && !BUTTONS.includes(each.type));
  for (const field of fields) {
    if (field.value || (some && !marked(field))) continue;
    const name = field.name + field.id;
    if (field.localName === "select") {
      const option = [...field.options].find((each) => each.value);
      if (option) set(field, option.value);
    } else if (field.localName === "textarea") set(field, "Four figs and a pear");
    else if (typed(field) && (some || !/date|time|_0$|_1$/i.test(name))) {
      set(field, values[field.type] || (/date/i.test(name) ? "2026-03-04" : /price|stock|num|amount|count|order|qty|quantity/i.test(name) ? "3" :
        /mail/i.test(name) ? "ann@example.org" : "figs"));
    }
  }
  if (!filled && element.localName !== "textarea" && !(typed(element) && element.localName === "input")) {
    const first = fields.find((each) => typed(each) && ["text", "textarea", "number", "email"].includes(each.type) && !/slug|token|key|date|time/i.test(each.name));
    if (first) set(first, first.type === "number" || /^[0-9.]+$/.test(first.value) ? String(Number(first.value) + 1) : first.type === "email" ? "ann2@example.org" : `${first.value}x`);
  }
  const boxes = fields.filter((each) => each.type === "checkbox");
  if (boxes.length > 1 && !boxes.some((each) => each.checked)) { boxes[1].click(); filled += 1; }
  return filled;
}
