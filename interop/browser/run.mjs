// Drives the pages as people do: without a script, by keyboard alone, in light and dark, on a phone and on a desk.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { request as ask } from "node:https";
import { launch, screens } from "./screens.mjs";
import { CALLBACK, PASSWORD, Server } from "./server.mjs";

const QUERY = "response_type=code&client_id=shop&state=a%20b";

const server = await Server.start();
const browser = await launch();
let [passed, failed] = [0, 0];

try {
  await step("keyboard alone, without a script", byKeyboard);
  await step("a wrong password is announced", wrongPassword);
  await step("a form of another site", foreignForm);
  await step("a device is let in, by keyboard alone", deviceByKeyboard);
  await screens(browser, undefined, step);
  await step("text at twice its size", largeText);
  await step("an answer in a form, with a script and without", byForm);
  await step("a passkey: made, used, refused a second time, removed", byPasskey);
} finally {
  await browser.close();
  await server.stop();
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);

async function step(name, run) {
  try {
    await run();
    passed += 1;
    console.log(`ok      ${name}`);
  } catch (why) {
    failed += 1;
    console.log(`FAILED  ${name}\n${why.stack}`);
  }
}

/** A browser of a person who has never been here. What the pages try to load or run beyond their own is an error. */
async function person(options, act) {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, ...options });
  const page = await context.newPage();
  const wrong = [];
  page.on("console", (message) => message.type() === "error" && !/status of 40[034]/.test(message.text()) && wrong.push(message.text()));
  page.on("request", (request) => request.url().startsWith(server.issuer) || wrong.push(`asked for ${request.url()}`));
  await act(page, context);
  assert.deepEqual(wrong, []);
  await context.close();
}

async function byKeyboard() {
  await person({ javaScriptEnabled: false }, async (page, context) => {
    await page.goto(`${server.issuer}/login?${QUERY}`);
    assert.equal(await page.title(), "Sign in");
    assert.equal(await focused(page), "username", "the first field has the focus");
    await page.keyboard.type("alice");
    await page.keyboard.press("Tab");
    assert.equal(await focused(page), "password");
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Sign in");
    assert.notEqual(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), "none");
    await page.keyboard.press("Enter");
    await page.waitForURL(`${server.issuer}/authorize?${QUERY}`);
    const cookies = Object.fromEntries((await context.cookies()).map((cookie) => [cookie.name, cookie]));
    assert.deepEqual(Object.keys(cookies).sort(), ["__Host-sealstone-known", "__Host-sealstone-session"]);
    const { secure, httpOnly, sameSite, expires } = cookies["__Host-sealstone-session"];
    assert.deepEqual({ secure, httpOnly, sameSite, expires }, { secure: true, httpOnly: true, sameSite: "Lax", expires: -1 });

    await page.goto(`${server.issuer}/login`);
    await page.getByText("You are signed in as alice.").waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Sign out?" }).waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Signed out" }).waitFor();
    await page.goto(`${server.issuer}/login`);
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
  });
}

async function wrongPassword() {
  await person({ javaScriptEnabled: false }, async (page) => {
    await page.goto(`${server.issuer}/login?${QUERY}`);
    await page.getByLabel("Username").fill("alice");
    await page.getByLabel("Password").fill("not the password");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").waitFor();
    assert.equal(await page.title(), "Not signed in: Sign in", "the title is what is read out first");
    assert.equal(await focused(page), "password", "the name stays, the password is to be typed again");
    const field = page.getByLabel("Password");
    const description = page.locator(`#${await field.getAttribute("aria-describedby")}`);
    assert.equal(await description.textContent(), "The username or the password is not right.");
    assert.equal(await field.inputValue(), "");
    assert.equal(await page.getByLabel("Username").inputValue(), "alice");
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press("Enter");
    await page.waitForURL(`${server.issuer}/authorize?${QUERY}`);
  });
}

/** Another origin posts the login form, with a token that it got for itself. */
async function foreignForm() {
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  const page = await context.newPage();
  await page.goto(`${server.issuer}/login`);
  const token = await page.locator("[name=form_token]").inputValue();
  const fields = { username: "alice", password: PASSWORD, form_token: token };
  const inputs = Object.entries(fields).map(([name, value]) => `<input name="${name}" value="${value}">`).join("");
  await context.route("https://elsewhere.example/", (route) => route.fulfill({
    contentType: "text/html", body: `<form method="post" action="${server.issuer}/login">${inputs}<button>go</button></form>`,
  }));
  await page.goto("https://elsewhere.example/");
  const answered = page.waitForResponse((response) => response.url() === `${server.issuer}/login`);
  await page.getByRole("button").click();
  assert.equal((await answered).status(), 403);
  const names = (await context.cookies(server.issuer)).map((cookie) => cookie.name);
  assert.ok(!names.some((name) => name.includes("session")), names);
  await context.close();
}

/** The device's side: no browser. */
function post(address, form) {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const sent = ask(`${server.issuer}${address}`, { method: "POST", rejectUnauthorized: false, headers }, (answer) => {
      let body = "";
      answer.on("data", (piece) => { body += piece; });
      answer.on("end", () => resolve({ status: answer.statusCode, ...JSON.parse(body) }));
    });
    sent.on("error", reject);
    sent.end(new URLSearchParams({ client_id: "tv", ...form }).toString());
  });
}

function device() {
  return post("/device_authorization", { scope: "openid profile films:read" });
}

function poll(asked) {
  return post("/token", { grant_type: "urn:ietf:params:oauth:grant-type:device_code", device_code: asked.device_code });
}

async function signIn(page) {
  await page.getByLabel("Username").fill("alice");
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
}

async function deviceByKeyboard() {
  await person({ javaScriptEnabled: false }, async (page) => {
    const asked = await device();
    assert.equal((await poll(asked)).error, "authorization_pending");
    await page.goto(asked.verification_uri);
    await signIn(page);
    assert.equal(await page.title(), "Connect a device");
    assert.equal(await focused(page), "user_code");
    await page.keyboard.type("bbbbbbbb");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").waitFor();
    const field = page.getByLabel("Code");
    assert.match(await page.locator(`#${await field.getAttribute("aria-describedby")}`).textContent(), /No device waits/);
    await field.fill(asked.user_code.toLowerCase().replace("-", " "));
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Connect this device?" }).waitFor();
    await page.getByText(asked.user_code, { exact: true }).waitFor();
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Connect");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Device connected" }).waitFor();
    const tokens = await poll(asked);
    assert.equal(tokens.status, 200, JSON.stringify(tokens));
    assert.ok(tokens.id_token);
  });
}

async function byPasskey() {
  const local = await Server.start({ plain: true });
  const context = await browser.newContext();
  const page = await context.newPage();
  const wrong = [];
  page.on("console", (message) => message.type() === "error" && !/status of 40[034]/.test(message.text()) && wrong.push(message.text()));
  const devices = await context.newCDPSession(page);
  await devices.send("WebAuthn.enable");
  const options = { protocol: "ctap2", ctap2Version: "ctap2_1", transport: "internal", hasResidentKey: true, hasUserVerification: true, isUserVerified: true };
  const { authenticatorId } = await devices.send("WebAuthn.addVirtualAuthenticator", { options });
  try {
    await page.goto(`${local.issuer}/login`);
    await page.getByLabel("Username").fill("alice");
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("link", { name: "Passkeys" }).click();
    await page.getByLabel("A name for the new passkey").fill("My <phone>");
    await page.getByRole("button", { name: "Add a passkey" }).click();
    await page.getByText("My <phone>").waitFor();
    await page.getByRole("button", { name: "Add a passkey" }).click();
    await page.getByText("This device has a passkey for you already.").waitFor();
    await page.getByRole("link", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Signed out" }).waitFor();

    await page.goto(`${local.issuer}/login?${QUERY}`);
    await devices.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: false });
    await page.getByRole("button", { name: "Use a passkey" }).click();
    await page.getByText("No passkey was used.").waitFor();
    await devices.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: true });
    const sent = page.waitForRequest((request) => request.url() === `${local.issuer}/passkey`);
    await page.getByRole("button", { name: "Use a passkey" }).click();
    await page.waitForURL(`${local.issuer}/authorize?${QUERY}`);
    await page.goto(`${local.issuer}/login`);
    await page.getByText("You are signed in as alice.").waitFor();

    // The same once more, from a browser that has stolen all of it.
    const request = await sent;
    const headers = { "content-type": "application/x-www-form-urlencoded", cookie: (await request.allHeaders()).cookie };
    const again = await fetch(request.url(), { method: "POST", redirect: "manual", headers, body: request.postData() });
    assert.equal(again.status, 403);
    assert.match(await again.text(), /This passkey cannot be used here/);

    await page.goto(`${local.issuer}/passkeys`);
    await page.getByRole("button", { name: "Remove My <phone>" }).click();
    await page.getByRole("button", { name: "Remove" }).waitFor({ state: "detached" });
    await page.goto(`${local.issuer}/login?${QUERY}`);
    await page.getByRole("button", { name: "Use a passkey" }).click();
    await page.getByText("This passkey cannot be used here.").waitFor();
    assert.deepEqual(wrong, []);
  } finally {
    await context.close();
    await local.stop();
  }
}

/** An answer is posted to a client of another origin, which sends the person on to a third one. */
async function byForm() {
  const got = [];
  const client = createServer((request, response) => {
    let body = "";
    request.on("data", (piece) => { body += piece; });
    request.on("end", () => {
      const posted = request.method === "POST";
      if (posted) got.push([request.url, request.headers["content-type"], new URLSearchParams(body)]);
      const location = `http://localhost:${client.address().port}/there`;
      response.writeHead(posted ? 303 : 200, posted ? { location } : {}).end("there");
    });
  });
  await new Promise((resolve) => client.listen(0, "127.0.0.1", resolve));
  const callback = `http://127.0.0.1:${client.address().port}/callback?own=1`;
  const local = await Server.start({ plain: true, client: ["--redirect-uri", callback, "--consent-implied"] });
  const state = `a "<b>" & c`;
  const query = new URLSearchParams({
    client_id: "shop", response_type: "code", response_mode: "form_post", redirect_uri: callback, state,
    code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", code_challenge_method: "S256",
  });
  try {
    for (const javaScriptEnabled of [true, false]) {
      const context = await browser.newContext({ javaScriptEnabled });
      const page = await context.newPage();
      const wrong = [];
      page.on("console", (message) => message.type() === "error" && wrong.push(message.text()));
      await page.goto(`${local.issuer}/authorize?${query}`);
      await page.getByLabel("Username").fill("alice");
      await page.getByLabel("Password").fill(PASSWORD);
      await page.getByRole("button", { name: "Sign in" }).click();
      if (!javaScriptEnabled) {
        await page.getByRole("heading", { name: "Back to the application" }).waitFor();
        await page.getByRole("button", { name: "Continue" }).click();
      }
      await page.getByText("there").waitFor();
      assert.deepEqual(wrong, []);
      await context.close();
      const [url, type, body] = got.pop();
      assert.equal(url, "/callback?own=1");
      assert.equal(type, "application/x-www-form-urlencoded");
      assert.deepEqual([...body.keys()].sort(), ["code", "iss", "state"]);
      assert.deepEqual([body.get("iss"), body.get("state")], [local.issuer, state]);
      assert.deepEqual(got, []);
    }
  } finally {
    await local.stop();
    client.close();
  }
}

/** WCAG 2.2, 1.4.4: nothing is lost when text has twice its size. */
async function largeText() {
  await person({ viewport: { width: 640, height: 400 }, deviceScaleFactor: 2 }, async (page) => {
    await page.goto(`${server.issuer}/login?${QUERY}`);
    await page.setViewportSize({ width: 320, height: 256 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    assert.ok(!wide, "the page must be scrolled sideways");
    await page.getByRole("button").scrollIntoViewIfNeeded();
  });
}

function focused(page) {
  return page.evaluate(() => document.activeElement.id);
}
