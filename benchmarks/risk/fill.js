// Before a form is sent: plausible values for its empty fields, so that validation does not hide what it does.
(element) => {
  const form = element.form || element.closest?.("form");
  if (!form || (form.method || "get").toLowerCase() === "get") return 0;
  const values = { email: "ann@example.org", number: "3", date: "2026-03-04", time: "10:20", "datetime-local": "2026-03-04T10:20",
    month: "2026-03", week: "2026-W10", url: "https://example.org/", tel: "+4722334455", password: "only-on-loopback-2", color: "#336699" };
  let filled = 0;
  const set = (field, value) => {
    field.value = value;
    for (const name of ["input", "change"]) field.dispatchEvent(new Event(name, { bubbles: true }));
    filled += 1;
  };
  const seen = (field) => field.getClientRects().length > 0 && !field.disabled && !field.readOnly;
  for (const field of form.elements) {
    if (!seen(field)) continue;
    if (field.localName === "textarea" && !field.value) set(field, "Four figs and a pear");
    else if (field.localName === "select" && !field.value) {
      const option = [...field.options].find((each) => each.value);
      if (option) set(field, option.value);
    } else if (field.localName === "input" && !field.value && !["checkbox", "radio", "file", "submit", "button", "image", "reset"].includes(field.type)) {
      set(field, values[field.type] || (/date/i.test(field.name) ? "2026-03-04" : /price|stock|num|amount|count|order/i.test(field.name) ? "3" :
        /mail/i.test(field.name) ? "ann@example.org" : "figs"));
    }
  }
  const boxes = [...form.elements].filter((each) => each.type === "checkbox" && seen(each));
  if (boxes.length && !boxes.some((each) => each.checked)) { boxes[boxes.length > 1 ? 1 : 0].click(); filled += 1; }
  return filled;
}
