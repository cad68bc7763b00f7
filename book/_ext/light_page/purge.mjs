// Leaves out of a stylesheet what no page uses: {css, words, dynamic, safe} in, CSS out.
import { readFileSync } from "node:fs";
import { PurgeCSS } from "purgecss";

const { css, words, dynamic, safe } = JSON.parse(readFileSync(0, "utf8"));
const [{ css: purged }] = await new PurgeCSS().purge({
  content: [{ raw: words, extension: "txt" }],
  css: [{ raw: css }],
  dynamicAttributes: dynamic,
  safelist: { greedy: safe.map((pattern) => new RegExp(pattern)) },
});
process.stdout.write(purged);
