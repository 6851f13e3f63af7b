// Exchanges the token of a one-time link for a cookie. The token leaves the address and the history at once.
"use strict";
(async () => {
  const said = document.getElementById("said");
  const token = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
  if (!token) {
    said.textContent = "A link to this page comes from a terminal:";
    return;
  }
  said.textContent = "Opening …";
  try {
    const answer = await fetch(location.pathname, { method: "POST", body: token });
    if (answer.ok) {
      location.replace((await answer.json()).root);
      return;
    }
    said.textContent = "This link was used, or is too old. A new one comes from a terminal:";
  } catch {
    said.textContent = "The node does not answer. A new link starts it:";
  }
})();
