// A server of our own for the browser: in a folder that goes away, on a port from the system.

import { execFileSync, spawn } from "node:child_process";
import { createServer } from "node:net";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";

const SEALSTONE = process.env.SEALSTONE ?? path.resolve("../../target/debug/sealstone");

export const PASSWORD = "correct horse battery staple";

/** Nobody listens there: the browser is answered by the test. */
export const CALLBACK = "https://films.example/callback";

export class Server {
  /**
   * Over TLS at an address, or without it at `localhost`, where browsers allow passkeys. `client` is said of its client
   * besides.
   */
  static async start({ plain = false, client = [] } = {}) {
    const port = plain ? await freePort() : 0;
    const folder = mkdtempSync(path.join(tmpdir(), "sealstone-browser-"));
    const config = path.join(folder, "sealstone.toml");
    writeFileSync(config, [
      `data_dir = "${folder}/data"`,
      `listen = "127.0.0.1:${port}"`,
      plain ? `issuer = "http://localhost:${port}"` : "",
      "[log]", 'format = "json"',
      "[passwords]", "memory_kib = 7168", "passes = 5",
      "[tls]", `mode = "${plain ? "plain-loopback" : "self-signed"}"`,
    ].join("\n"));
    const server = new Server(folder, config);
    server.run(["client", "add", "--id", "shop", "--name", "The Corner Shop", ...client]);
    server.run(["client", "add", "--id", "films", "--name", "The Film Archive", "--auth-method", "none", "--redirect-uri", `${CALLBACK}`,
      "--scope", "openid", "--scope", "profile", "--scope", "email", "--scope", "films:read"]);
    server.run(["client", "add", "--id", "tv", "--name", "Living Room Television", "--auth-method", "none", "--grant", "device_code",
      "--scope", "openid", "--scope", "profile", "--scope", "films:read"]);
    server.run(["user", "add", "alice", "--name", "Alice Archer", "--password-stdin"], PASSWORD);
    server.run(["user", "add", "bob", "--password-stdin"], PASSWORD);
    await server.listen();
    return server;
  }

  constructor(folder, config) {
    this.folder = folder;
    this.config = config;
  }

  run([noun, verb, ...rest], input = "") {
    execFileSync(SEALSTONE, [noun, verb, "--config", this.config, ...rest], { input, stdio: ["pipe", "pipe", "inherit"] });
  }

  async listen() {
    this.process = spawn(SEALSTONE, ["serve", "--config", this.config], { stdio: ["ignore", "inherit", "pipe"] });
    for await (const line of createInterface({ input: this.process.stderr })) {
      const said = JSON.parse(line);
      if (said.message === "listening") {
        this.issuer = said.issuer;
        this.process.stderr.resume();
        return;
      }
    }
    throw new Error("the server ended before it listened");
  }

  async stop() {
    const ended = new Promise((resolve) => this.process.once("exit", resolve));
    this.process.kill("SIGTERM");
    await ended;
    rmSync(this.folder, { recursive: true });
  }
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
