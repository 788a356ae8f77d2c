// Follows docs/tutorial.md to the letter: its `sh` blocks in an empty folder, with what the `text` block behind each says
// must come out, and its `browser` blocks in Chromium. `sh stays` marks what goes on running.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { connect } from "node:net";
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import { chromium } from "playwright-core";

const ROOT = path.resolve("../..");
const PAGE = readFileSync(process.env.TUTORIAL ?? path.join(ROOT, "docs/tutorial.md"), "utf8");
const SEALSTONE = process.env.SEALSTONE ?? path.join(ROOT, "target/debug/sealstone");
const PORTS = [8443, 3400, 3401];
const PATIENCE = 30_000;

/** What a line of a `browser` block says, and does. */
const ACTS = [
  [/^open (.+)$/, (page, address) => page.goto(address)],
  [/^see (.+)$/, (page, text) => page.getByText(text).first().waitFor({ timeout: PATIENCE })],
  [/^click (.+)$/, (page, name) => page.getByRole("button", { name, exact: true }).or(page.getByRole("link", { name, exact: true })).click()],
  [/^type (.+) into (.+)$/, (page, text, label) => page.getByLabel(label, { exact: true }).fill(text)],
];

let [passed, failed] = [0, 0];
for (const port of PORTS) {
  if (await answers(port)) {
    console.log(`error: something listens on 127.0.0.1:${port}, which the tutorial needs\nhint: end it, and run this again`);
    process.exit(1);
  }
}
const newest = path.join(ROOT, `interop/node/node_modules/node-linux-${process.arch}/bin`); // which has ML-DSA
await follow("as it is written", blocks(PAGE), [newest]);
// What it says to people with an older Node, with the one of this machine.
await follow("with --alg ES256", blocks(withEs256(PAGE)), []);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);

function withEs256(page) {
  const changed = page.replace("--id web-app ", "--id web-app --alg ES256 ").replace("that ML-DSA-65 has signed", "that ES256 has signed");
  assert.notEqual(changed, page);
  return changed;
}

async function follow(name, steps, paths) {
  const place = mkdtempSync(path.join(tmpdir(), "sealstone-tutorial-"));
  const [home, folder, bin] = ["home", "empty", "bin"].map((part) => path.join(place, part));
  [home, folder, bin].forEach((part) => mkdirSync(part));
  symlinkSync(ROOT, path.join(home, "sealstone"));
  symlinkSync(SEALSTONE, path.join(bin, "sealstone"));
  const env = {
    ...process.env, HOME: home, npm_config_cache: process.env.npm_config_cache ?? path.join(homedir(), ".npm"),
    PATH: [bin, ...paths, process.env.PATH].join(path.delimiter),
    NODE_OPTIONS: "--no-deprecation", // of this machine's npm, under a Node that is newer
  };
  const staying = [];
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: process.getuid() === 0 ? ["--no-sandbox"] : [],
  });
  try {
    const person = await (await browser.newContext()).newPage();
    for (const step of steps) {
      const what = `${name}: ${step.code.split("\n")[0]}`;
      try {
        if (step.kind === "browser") await play(person, step.code);
        else await type(step, { cwd: folder, env }, staying);
        passed += 1;
        console.log(`ok      ${what}`);
      } catch (why) {
        failed += 1;
        console.log(`FAILED  ${what}\n${why.stack}`);
        for (const shell of staying) console.log(`${shell.spawnargs.at(-1)} said:\n${shell.said()}`);
        return; // each step stands on those before it
      }
    }
  } finally {
    await browser.close();
    for (const shell of staying) await end(shell);
    rmSync(place, { recursive: true });
  }
}

/** The fenced blocks: what is typed, with what comes out, and what is done in a browser. */
function blocks(page) {
  const found = [...page.matchAll(/^```(\w+)([^\n]*)\n([\s\S]*?)^```$/gm)].map(([, kind, more, code]) => ({ kind, more: more.trim(), code: code.trimEnd() }));
  const steps = found.filter(({ kind }) => ["sh", "browser"].includes(kind));
  for (const step of steps) {
    const next = found[found.indexOf(step) + 1];
    if (step.kind === "sh") step.out = next?.kind === "text" ? lines(next.code) : [];
  }
  assert.ok(steps.some(({ kind }) => kind === "sh") && steps.some(({ kind }) => kind === "browser"), "the page has no steps");
  return steps;
}

async function type({ code, out, more }, options, staying) {
  const shell = spawn("bash", ["-c", `set -e\n${code}`], { ...options, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  shell.said = () => said;
  let enough = () => {};
  for (const stream of [shell.stdout, shell.stderr]) {
    stream.setEncoding("utf8").on("data", (piece) => {
      said += piece;
      enough();
    });
  }
  const ended = once(shell, "close");
  if (more !== "stays") {
    const [status] = await within(ended, () => `it does not end, and said:\n${said}`);
    assert.equal(status, 0, `exit code ${status}, and said:\n${said}`);
    assert.deepEqual(lines(said), out);
    return;
  }
  staying.push(shell);
  const all = new Promise((resolve) => { enough = () => lines(said).length >= out.length && resolve(); });
  enough();
  await within(Promise.race([all, ended]), () => `it has not said everything, only:\n${said}`);
  assert.deepEqual(lines(said).slice(0, out.length), out);
  assert.equal(shell.exitCode, null, `it ended, and said:\n${said}`);
}

/** Lines that say something; times and durations, which differ, by their form alone. */
function lines(text) {
  const alike = (line) => line.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z/g, "TIME").replace(/\d+m?s$/, "DURATION");
  return text.split("\n").map((line) => alike(line.trim())).filter((line) => line);
}

async function play(page, code) {
  for (const line of code.split("\n")) {
    const [[form, act]] = [ACTS.find(([form]) => form.test(line)) ?? assert.fail(`nobody can: ${line}`)];
    try {
      await act(page, ...form.exec(line).slice(1));
    } catch (why) {
      throw new Error(`${line}: ${why.message}\nat ${page.url()}\n${await page.locator("body").innerText()}`);
    }
  }
}

async function within(promise, why) {
  let timer;
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(why())), PATIENCE); });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The shell and what it started, which are a group of processes of their own. */
async function end(shell) {
  if (shell.exitCode !== null || shell.signalCode !== null) return;
  const ended = once(shell, "close");
  process.kill(-shell.pid, "SIGTERM");
  await ended;
}

function answers(port) {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(true)).on("error", () => resolve(false));
    socket.on("connect", () => socket.destroy());
  });
}
