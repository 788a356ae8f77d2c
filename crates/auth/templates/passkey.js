// Asks the browser for a passkey, and sends what it says with the form. The only script of these pages: without it, or
// where there are no passkeys, the forms that it serves stay hidden.
"use strict";

const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));

const text = (buffer) => {
  const letters = Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join("");
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
};

const key = (id) => ({ type: "public-key", id: bytes(id) });

const make = ({ challenge, rp, user, name, algorithms, known }) => navigator.credentials.create({
  publicKey: {
    challenge: bytes(challenge),
    rp: { id: rp, name: rp },
    user: { id: new TextEncoder().encode(user), name, displayName: name },
    pubKeyCredParams: algorithms.split(" ").map((alg) => ({ type: "public-key", alg: Number(alg) })),
    excludeCredentials: known.split(" ").filter(Boolean).map(key),
    authenticatorSelection: { residentKey: "required", requireResidentKey: true, userVerification: "required" },
    attestation: "none",
  },
});

const use = ({ challenge, rp }) => navigator.credentials.get({
  publicKey: { challenge: bytes(challenge), rpId: rp, userVerification: "required" },
});

const fields = ({ rawId, response }) => ({
  credential: text(rawId),
  client_data: text(response.clientDataJSON),
  authenticator_data: text(response.getAuthenticatorData ? response.getAuthenticatorData() : response.authenticatorData),
  signature: response.signature ? text(response.signature) : "",
  user: response.userHandle ? new TextDecoder().decode(response.userHandle) : "",
});

for (const form of document.querySelectorAll("form[data-passkey]")) {
  if (!window.PublicKeyCredential) continue;
  form.hidden = false;
  const status = form.querySelector("[role=status]");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    status.textContent = "";
    try {
      const credential = await (form.dataset.passkey === "make" ? make : use)(form.dataset);
      for (const [name, value] of Object.entries(fields(credential))) form.elements[name].value = value;
      form.submit();
    } catch (why) {
      status.textContent = why.name === "InvalidStateError" ? "This device has a passkey for you already." : "No passkey was used.";
    }
  });
}
