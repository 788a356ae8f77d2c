// Drives the pages as people do: without a script, by keyboard alone, in light and dark, on a phone and on a desk.
// `node run.mjs [FOLDER]` writes a picture of each page into FOLDER, to be looked at.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import path from "node:path";
import axe from "axe-core";
import { chromium } from "playwright-core";
import { PASSWORD, Server } from "./server.mjs";

const PICTURES = process.argv[2];
const QUERY = "response_type=code&client_id=shop&state=a%20b";
const SCREENS = {
  phone: { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true },
  desk: { viewport: { width: 1280, height: 800 } },
};

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
if (PICTURES) mkdirSync(PICTURES, { recursive: true });

const server = await Server.start();
// No sandbox of its own where the whole machine is one: it cannot be had as root.
const args = process.getuid() === 0 ? ["--no-sandbox"] : [];
const browser = await chromium.launch({ executablePath, args });
let [passed, failed] = [0, 0];

try {
  await step("keyboard alone, without a script", byKeyboard);
  await step("a wrong password is announced", wrongPassword);
  await step("a form of another site", foreignForm);
  for (const screen of Object.keys(SCREENS)) {
    for (const colorScheme of ["light", "dark"]) {
      await step(`pages, ${screen}, ${colorScheme}`, () => look(screen, colorScheme));
    }
  }
  await step("text at twice its size", largeText);
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

async function look(screen, colorScheme) {
  await person({ ...SCREENS[screen], colorScheme }, async (page) => {
    const see = async (name) => {
      const wide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
      assert.ok(!wide, `${name} must be scrolled sideways`);
      if (PICTURES) await page.screenshot({ path: path.join(PICTURES, `${name}-${screen}-${colorScheme}.png`) });
      await examine(page, name);
    };
    await page.goto(`${server.issuer}/login?${QUERY}`);
    await see("login");
    await page.getByLabel("Username").fill("alice");
    await page.getByLabel("Password").fill("not the password");
    await page.getByRole("button").click();
    await page.getByRole("alert").waitFor();
    await see("login-failed");
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button").click();
    await page.waitForURL(`${server.issuer}/authorize?${QUERY}`);
    await page.goto(`${server.issuer}/login`);
    await see("signed-in");
    await page.goto(`${server.issuer}/logout`);
    await see("logout");
    await page.getByRole("button").click();
    await page.getByRole("heading", { name: "Signed out" }).waitFor();
    await see("signed-out");
    await page.goto(`${server.issuer}/login?%C3%A4${"x".repeat(8192)}`);
    await see("error");
  });
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

/** axe-core, every rule there is, best practices too. */
async function examine(page, name) {
  await page.evaluate(axe.source);
  const { violations, passes } = await page.evaluate(() => globalThis.axe.run(document));
  assert.deepEqual(violations.map(({ id, nodes }) => `${name}: ${id}: ${nodes.map((node) => node.html)}`), []);
  assert.ok(passes.length > 10);
}

function focused(page) {
  return page.evaluate(() => document.activeElement.id);
}
