"use strict";
(() => {
  const one = (selector) => document.querySelector(selector);
  const all = (selector) => document.querySelectorAll(selector);
  const make = (tag, text = "", className = "") => {
    const node = document.createElement(tag);
    node.textContent = text;
    if (className) node.className = className;
    return node;
  };
  const getJson = async (path, options) => {
    const response = await fetch(path, options);
    if (!response.ok) throw new Error(`${path}: ${response.status}`);
    return response.json();
  };
  const slugOf = (node) => encodeURIComponent(node.getAttribute("data-{{ d("slug") }}"));

  const showBadge = async () => {
    const badge = one("#{{ i("cart-badge") }}");
    if (badge) badge.textContent = (await getJson("/api/cart")).count;
  };

  const suggest = () => {
    const input = one("#{{ i("site-search") }}");
    const box = one("#{{ i("suggestions") }}");
    if (!input || !box) return;
    input.addEventListener("input", async () => {
      const text = input.value;
      const found = await getJson(`/api/suggest?q=${encodeURIComponent(text)}`);
      // An answer that comes late must not replace a newer one.
      if (input.value !== text) return;
      box.replaceChildren(...found.map((item) => {
        const link = make("a", `${item.name} `, "{{ c("suggestion") }}");
        link.href = item.href;
        link.append(make("span", item.price, "{{ c("muted") }}"));
        return link;
      }));
    });
  };

  const showReviews = async () => {
    const box = one(".{{ c("reviews") }}");
    if (!box) return;
    const reviews = await getJson(`/api/reviews/${slugOf(box)}`);
    box.replaceChildren(...reviews.map((review) => {
      const article = make("article", "", "{{ c("review") }}");
      article.append(make("h3", review.author), make("p", "★".repeat(review.stars), "{{ c("stars") }}"));
      article.lastChild.setAttribute("aria-label", `${review.stars} out of 5`);
      article.append(make("p", review.text));
      return article;
    }));
  };

  const quickView = () => {
    const dialog = one("#{{ i("quick-dialog") }}");
    for (const button of all(".{{ c("quick-view") }}")) {
      button.addEventListener("click", async () => {
        const product = await getJson(`/api/products/${slugOf(button)}`);
        const picture = make("img", "", "{{ c("photo") }}");
        picture.src = `/images/${product.category}/${product.colour}.svg`;
        picture.alt = product.name;
        const link = make("a", product.name, "{{ c("button") }}");
        link.href = `/products/${product.slug}`;
        const close = make("button", "Close", "{{ c("button") }} {{ c("ghost") }}");
        close.addEventListener("click", () => dialog.close());
        const row = make("div", "", "{{ c("row") }}");
        row.append(link, close);
        dialog.replaceChildren(picture, make("h2", product.name),
          make("p", `${product.price_text} · ★ ${product.rating} · ${product.colour}`), make("p", product.description), row);
        dialog.showModal();
      });
    }
  };

  const details = () => {
    for (const button of all(".{{ c("show-details") }}")) {
      button.addEventListener("click", async () => {
        const data = await getJson(`/api/details/${slugOf(button)}`, { method: "POST" });
        const list = make("dl", "", "{{ c("rows") }}");
        for (const [name, value] of data.rows) list.append(make("dt", name), make("dd", value));
        one("#{{ i("details") }}").replaceChildren(list, make("p", data.note, "{{ c("muted") }}"));
      });
    }
  };

  const askFirst = () => {
    for (const form of all("form[data-{{ d("confirm") }}]")) {
      form.addEventListener("submit", (event) => {
        if (!window.confirm(form.getAttribute("data-{{ d("confirm") }}"))) event.preventDefault();
      });
    }
  };

  class MugFinder extends HTMLElement {
    connectedCallback() {
      const root = this.attachShadow({ mode: "open" });
      const style = make("style", `
        div { display: flex; flex-wrap: wrap; gap: .75rem; align-items: center; font: inherit; }
        select, a, button { font: inherit; padding: .55rem .9rem; border-radius: .6rem; border: 1px solid #cfc6b6; background: #fff; color: #24302b; text-decoration: none; cursor: pointer; }
        a { background: #1f4d3f; color: #fff; border-color: #1f4d3f; }`);
      const row = make("div");
      const label = make("label", "{{ w("Colour") }} ");
      const select = make("select");
      for (const colour of {{ colours[1:]|list|tojson }}) select.append(new Option(colour, colour));
      label.append(select);
      const link = make("a", {{ w("Show mugs")|tojson }});
      const aim = () => { link.href = `/products?category=mugs&colour=${encodeURIComponent(select.value)}`; };
      select.addEventListener("change", aim);
      aim();
      const remind = make("button", {{ w("Remind me")|tojson }});
      const note = make("span");
      note.setAttribute("role", "status");
      remind.addEventListener("click", async () => {
        note.textContent = (await getJson("/api/remind", { method: "POST" })).note;
      });
      row.append(label, link, remind, note);
      root.append(style, row);
    }
  }

  customElements.define("mug-finder", MugFinder);
  showBadge();
  suggest();
  showReviews();
  quickView();
  details();
  askFirst();
})();
