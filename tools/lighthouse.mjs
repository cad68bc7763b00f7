// Measures every page of the built book with Lighthouse as a phone on a slow network sees it, and
// says what holds each below 100: node tools/lighthouse.mjs FOLDER [PAGE ...]
// The browser is $CHROMIUM, else chromium on PATH. Scores under load are lower than they should be.
import { createServer } from "node:http";
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { delimiter, dirname, extname, join, normalize } from "node:path";
import { gzipSync } from "node:zlib";
import { launch } from "chrome-launcher";
import lighthouse from "lighthouse";

const SWITCHES = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
];
const TYPES = {
  ".html": "text/html; charset=utf-8", ".css": "text/css", ".js": "text/javascript",
  ".json": "application/json", ".svg": "image/svg+xml", ".png": "image/png",
  ".woff2": "font/woff2",
};
const PACKED = new Set([".html", ".css", ".js", ".json", ".svg"]);
const ATTEMPTS = 3;
// What the book promises; the README names the same numbers.
const WANTED = { performance: 95, accessibility: 100, "best-practices": 95, seo: 95 };

function serve(folder) {
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url, "http://localhost").pathname);
    try {
      const file = join(folder, normalize(path));
      const kind = extname(file);
      const body = readFileSync(file);
      response.setHeader("Content-Type", TYPES[kind] ?? "application/octet-stream");
      response.setHeader("Cache-Control", "max-age=600"); // as GitHub Pages says
      if (PACKED.has(kind)) response.setHeader("Content-Encoding", "gzip");
      response.end(PACKED.has(kind) ? gzipSync(body) : body);
    } catch {
      response.writeHead(404).end("not found");
    }
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

const isPage = (name) => name.endsWith(".html");

function pagesOf(folder) {
  const names = readdirSync(join(folder, "book"), { recursive: true }).filter(isPage);
  return names.sort().map((name) => join("book", name));
}

function browserPath() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  const folders = [...process.env.PATH.split(delimiter), "/usr/bin"];
  const found = folders.map((folder) => join(folder, "chromium"));
  return found.find((path) => statSync(path, { throwIfNoEntry: false })?.isFile());
}

// What counts in a score and is not perfect, and what else Lighthouse would save.
function shortfalls({ categories, audits }) {
  const counted = Object.values(categories).flatMap(({ auditRefs }) =>
    auditRefs.filter(({ weight }) => weight > 0).map(({ id }) => audits[id]),
  );
  const below = counted.filter(({ score }) => score !== null && score < 1);
  return below.map(({ id, score, displayValue }) => ({
    id,
    score: Math.round(100 * score),
    value: (displayValue ?? "").replaceAll("\u00a0", " "),
  }));
}

// A busy machine may keep the browser from answering in time: then once more, in a new one.
async function report(address, chromePath) {
  for (let attempt = 1; ; attempt++) {
    const chrome = await launch({ chromePath, chromeFlags: SWITCHES });
    const options = { port: chrome.port, logLevel: "error", onlyCategories: Object.keys(WANTED) };
    try {
      const { lhr } = await lighthouse(address, options); // the mobile preset is the default
      if (lhr.runtimeError) throw new Error(lhr.runtimeError.message);
      return lhr;
    } catch (error) {
      if (attempt === ATTEMPTS) throw error;
    } finally {
      await chrome.kill();
    }
  }
}

function summary(lhr) {
  const scores = Object.fromEntries(
    Object.entries(lhr.categories).map(([id, { score }]) => [id, Math.round(100 * score)]),
  );
  const audit = (id) => Math.round(lhr.audits[id].numericValue);
  return {
    scores,
    first_paint_ms: audit("first-contentful-paint"),
    largest_paint_ms: audit("largest-contentful-paint"),
    blocking_ms: audit("total-blocking-time"),
    layout_shift: Number(lhr.audits["cumulative-layout-shift"].numericValue.toFixed(3)),
    transferred_bytes: audit("total-byte-weight"),
    below_100: shortfalls(lhr),
  };
}

function tell(page, result) {
  const scores = Object.values(result.scores).map((score) => String(score).padStart(4));
  const below = result.below_100.map(({ id, score, value }) => `${id} ${score} (${value})`);
  const weight = String(Math.round(result.transferred_bytes / 1000)).padStart(5);
  console.log(`${scores.join("")}${weight} kB  ${page}`);
  for (const line of below) console.log(`${" ".repeat(26)}${line}`);
}

const [folder, ...named] = process.argv.slice(2);
const path = browserPath();
if (!path) {
  console.error("lighthouse: no Chromium found; install it or set CHROMIUM to its path");
  process.exit(2);
}
const server = await serve(folder);
const results = {};
try {
  console.log("perf a11y best seo, weight, page; below it what is not perfect");
  for (const page of named.length ? named : pagesOf(folder)) {
    const address = `http://127.0.0.1:${server.address().port}/${page}`;
    results[page] = summary(await report(address, path));
    tell(page, results[page]);
  }
} finally {
  server.close();
}
const target = join(dirname(folder), "measures", "lighthouse.json");
mkdirSync(dirname(target), { recursive: true });
writeFileSync(target, `${JSON.stringify(results, null, 2)}\n`);
console.log(`Written: ${target}`);
const missed = Object.entries(results).flatMap(([page, { scores }]) =>
  Object.entries(WANTED)
    .filter(([id, wanted]) => scores[id] < wanted)
    .map(([id, wanted]) => `${page}: ${id} ${scores[id]}, wanted ${wanted}`),
);
if (missed.length) {
  console.error(missed.join("\n"));
  process.exitCode = 1;
}
