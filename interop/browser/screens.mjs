// Every page of the server, in light and dark, on a phone and on a desk: nothing is cut off, axe-core has no complaint, and
// the keyboard reaches everything in the order in which it stands. `node screens.mjs FOLDER` also writes a picture of each
// into FOLDER, to be looked at.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import axe from "axe-core";
import { chromium } from "playwright-core";
import { CALLBACK, PASSWORD, Server } from "./server.mjs";

const SCREENS = {
  phone: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true },
  desk: { viewport: { width: 1280, height: 800 } },
};
/** WCAG 2.2, 1.4.10: no scrolling in two directions down to here. */
const NARROWEST = 320;
const SETTINGS = Object.keys(SCREENS).flatMap((screen) => ["light", "dark"].map((colorScheme) => ({ screen, colorScheme })));
const CHALLENGE = { code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", code_challenge_method: "S256" };
const SCOPES = ["openid", "profile", "email", "offline_access", "films:read", "films:write", "reviews:write", "payments:initiate:recurring",
  "https://films.example/auth/collections.shared.readonly", "watchlist"];
const LONG = "The Association of Friends of the Municipal Film Archive and Cinematheque";

/** All pages in all settings; `step` runs each setting and tells how it went. */
export async function screens(browser, folder, step) {
  if (folder) mkdirSync(folder, { recursive: true });
  for (const { screen, colorScheme } of SETTINGS) {
    const see = (page, name) => look(page, name, folder && path.join(folder, `${name}-${screen}-${colorScheme}.png`));
    await step(`every page, ${screen}, ${colorScheme}`, async () => {
      const server = await started();
      try {
        await tour(browser, server, { ...SCREENS[screen], colorScheme }, see);
      } finally {
        await server.stop();
      }
    });
  }
}

async function started() {
  const left = ["--post-logout-redirect-uri", "https://films.example/left"];
  const server = await Server.start({ plain: true, client: ["--redirect-uri", CALLBACK, "--consent-implied", ...left] });
  const scopes = SCOPES.flatMap((scope) => ["--scope", scope]);
  server.run(["client", "add", "--id", "friends", "--name", LONG, "--auth-method", "none", "--redirect-uri", CALLBACK, ...scopes]);
  await new Promise((resolve) => setTimeout(resolve, 1200)); // a running server takes clients in within a second
  return server;
}

async function tour(browser, server, setting, see) {
  await visit(browser, setting, async (page) => {
    const to = (address, query = {}) => page.goto(`${server.issuer}/${address}?${new URLSearchParams(query)}`);
    const signIn = (password) => submit(page, { Username: "alice", Password: password }, "Sign in");
    const code = (client_id, more) => ({ client_id, response_type: "code", redirect_uri: CALLBACK, state: "s", ...CHALLENGE, ...more });

    await to("authorize", code("films", { scope: "openid" }));
    await see(page, "login");
    await signIn("not the password");
    await page.getByRole("alert").waitFor();
    await see(page, "login-failed");
    await to("authorize", code("nobody"));
    await see(page, "error");
    await to("authorize", code("films", { redirect_uri: "https://elsewhere.example/callback" }));
    await see(page, "error-redirect");

    await to("authorize", code("films", { scope: "openid profile email films:read" }));
    await signIn(PASSWORD);
    await page.getByRole("heading", { name: "Allow access?" }).waitFor();
    await see(page, "consent");
    await to("authorize", code("friends", { scope: SCOPES.join(" ") }));
    await see(page, "consent-many");
    await to("authorize", code("friends", { scope: "openid" }));
    await see(page, "consent-one");

    await to("login");
    await see(page, "signed-in");
    await passkeys(page, to, see);
    await device(page, server, to, see);

    await to("end_session", { client_id: "films" });
    await see(page, "logout-by-client");
    await page.getByRole("link", { name: "Stay signed in" }).click();
    await page.getByText("You are signed in as alice.").waitFor();
    await to("end_session", { client_id: "films", post_logout_redirect_uri: "https://elsewhere.example/" });
    await see(page, "error-logout");
    await to("logout");
    await see(page, "logout");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Signed out" }).waitFor();
    await see(page, "logged-out");

    await to("login");
    for (let tries = 0; !(await page.getByText("Too many attempts").count()); tries += 1) {
      assert.ok(tries < 20, "nobody is ever held up");
      await signIn("not the password");
      await page.getByRole("alert").waitFor();
    }
    await see(page, "login-throttled");
  });
  // The form of an answer stays only where its script does not run; axe-core itself is one.
  await visit(browser, setting, async (page) => {
    await page.route(/assets\/answer-/, (route) => route.fulfill({ contentType: "text/javascript", body: "" }));
    const query = { client_id: "shop", response_type: "code", response_mode: "form_post", redirect_uri: CALLBACK, ...CHALLENGE };
    await page.goto(`${server.issuer}/authorize?${new URLSearchParams(query)}`);
    await submit(page, { Username: "bob", Password: PASSWORD }, "Sign in");
    await page.getByRole("heading", { name: "Back to the application" }).waitFor();
    await see(page, "form-post");
  });
}

async function passkeys(page, to, see) {
  const devices = await page.context().newCDPSession(page);
  await devices.send("WebAuthn.enable");
  const options = { protocol: "ctap2", ctap2Version: "ctap2_1", transport: "internal", hasResidentKey: true, hasUserVerification: true, isUserVerified: true };
  await devices.send("WebAuthn.addVirtualAuthenticator", { options });
  await to("passkeys");
  await see(page, "passkeys-none");
  await page.getByLabel("A name for the new passkey").fill("My telephone, the one with the cracked screen");
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await page.getByText("cracked screen").waitFor();
  await see(page, "passkeys-one");
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await page.getByText("This device has a passkey for you already.").waitFor();
  await see(page, "passkeys-again");
}

async function device(page, server, to, see) {
  const asked = async () => {
    const body = new URLSearchParams({ client_id: "tv", scope: "openid profile films:read" });
    return (await fetch(`${server.issuer}/device_authorization`, { method: "POST", body })).json();
  };
  await to("device");
  await see(page, "device");
  await submit(page, { Code: "BBBB-BBBB" }, "Continue");
  await page.getByRole("alert").waitFor();
  await see(page, "device-failed");
  for (const [answer, name] of [["Do not connect", "device-denied"], ["Connect", "device-done"]]) {
    await page.goto((await asked()).verification_uri_complete);
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("heading", { name: "Connect this device?" }).waitFor();
    if (name === "device-done") await see(page, "device-confirm");
    await page.getByRole("button", { name: answer, exact: true }).click();
    await page.getByRole("heading", { name: /^Device/ }).waitFor();
    await see(page, name);
  }
}

async function submit(page, fields, button) {
  for (const [label, value] of Object.entries(fields)) await page.getByLabel(label).fill(value);
  await page.getByRole("button", { name: button }).click();
}

/** A browser of somebody who has never been here. */
async function visit(browser, options, act) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const wrong = [];
  page.on("console", (message) => message.type() === "error" && !/status of 4\d\d/.test(message.text()) && wrong.push(message.text()));
  await act(page);
  assert.deepEqual(wrong, []);
  await context.close();
}

async function look(page, name, picture) {
  if (picture) await page.screenshot({ fullPage: true, path: picture });
  await examine(page, name);
  await reach(page, name);
  const { width, height } = page.viewportSize();
  for (const narrow of [width, NARROWEST]) {
    await page.setViewportSize({ width: narrow, height });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
    assert.ok(!wide, `${name} must be scrolled sideways at ${narrow} pixels`);
    assert.deepEqual(await page.evaluate(broken), [], `${name}: words are cut in two at ${narrow} pixels`);
  }
  await page.setViewportSize({ width, height });
}

/** axe-core, every rule there is, best practices too. */
export async function examine(page, name) {
  await page.evaluate(axe.source);
  const { violations, passes } = await page.evaluate(() => globalThis.axe.run(document));
  assert.deepEqual(violations.map(({ id, nodes }) => `${name}: ${id}: ${nodes.map((node) => node.html)}`), []);
  assert.ok(passes.length > 10);
}

/** Words of buttons, links, labels and headings that go over more than one line. */
function broken() {
  const texts = [...document.querySelectorAll("a, button, label, h1")].filter((one) => one.checkVisibility()).map((one) => one.firstChild);
  const words = texts.filter((text) => text?.nodeType === Node.TEXT_NODE).flatMap((text) => [...text.data.matchAll(/\S+/g)].map(({ 0: word, index }) => {
    const range = document.createRange();
    range.setStart(text, index);
    range.setEnd(text, index + word.length);
    return [word, new Set([...range.getClientRects()].map(({ top }) => top)).size];
  }));
  return words.filter(([, lines]) => lines > 1).map(([word]) => word);
}

/** The keyboard comes to whatever can be used, from top to bottom, and where it is can be seen. */
async function reach(page, name) {
  const usable = await page.evaluate(() => {
    const all = [...document.querySelectorAll("a[href], button, input:not([type=hidden])")].filter((one) => one.checkVisibility());
    all.forEach((one, at) => { one.dataset.at = at; });
    return all.map((one) => one.outerHTML);
  });
  const seen = [];
  for (let presses = 0; presses < usable.length + 2; presses += 1) {
    await page.keyboard.press("Tab");
    const stop = await page.evaluate(() => {
      const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
      const { top, height } = document.activeElement.getBoundingClientRect();
      return { at: document.activeElement.dataset.at, outlined: outlineStyle !== "none" && parseFloat(outlineWidth) >= 2, middle: top + scrollY + height / 2 };
    });
    if (stop.at === undefined) continue; // the browser's own
    assert.ok(stop.outlined, `${name}: nothing shows that this has the focus: ${usable[stop.at]}`);
    seen.push(stop);
  }
  assert.equal(new Set(seen.map(({ at }) => at)).size, usable.length, `${name}: the keyboard does not reach each of ${usable}`);
  const back = seen.filter(({ middle }, index) => index > 0 && middle < seen[index - 1].middle - 1);
  assert.ok(back.length <= 1, `${name}: the focus jumps upwards`);
}

export async function launch() {
  // No sandbox of its own where the whole machine is one: it cannot be had as root.
  const args = process.getuid() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args });
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const browser = await launch();
  let failed = 0;
  await screens(browser, process.argv[2], async (name, run) => {
    await run().then(() => console.log(`ok      ${name}`), (why) => {
      failed += 1;
      console.log(`FAILED  ${name}\n${why.stack}`);
    });
  });
  await browser.close();
  process.exit(failed ? 1 : 0);
}
