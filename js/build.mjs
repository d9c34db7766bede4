/**
 * Builds the page of the widget into dshq_widget/static: widget.js (one ES module that unpacks the page, its style sheet and, in the
 * page, the worker: gzip in base64, because anywidget loads the module from a Blob URL and nothing beside it can be reached). Fails
 * above the size budget, since the module travels once per widget. widget.css is that style sheet (uPlot's rules and ours, every
 * selector under .dshq-widget) for pages that have other scripts: standalone.js is the same page as a plain script, for matches
 * exported as HTML; match_replay.js plays a match of the class league;
 * play.js is what `dshq play` puts around widget.js; trainer.js is the worker that trains in a page.
 *
 *   node js/build.mjs [--watch] [--out=DIR]
 */
import { createHash } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const elsewhere = process.argv.find((word) => word.startsWith("--out="))?.slice("--out=".length);
const out = elsewhere ?? join(here, "..", "dshq_widget", "static");
const budget = 240 * 1024; // bytes of widget.js
const packing = { level: 9, memLevel: 6 }; // more and smaller blocks, each with codes of its own: 1.2 KB less than the default 8 (measured)

const common = {
  bundle: true,
  minify: true,
  target: ["es2022", "chrome111", "firefox113", "safari16.4"],
  legalComments: "inline",
  logLevel: "warning",
};

/** A shader is its text, without comments and indentation. */
const shadersAsText = {
  name: "shaders-as-text",
  setup(build) {
    build.onLoad({ filter: /\.wgsl$/ }, async ({ path }) => {
      const text = await readFile(path, "utf8");
      return { contents: text.replace(/\s*\/\/.*$/gm, "").replace(/\n\s+/g, "\n"), loader: "text" };
    });
  },
};

/** `import packed from "worker-source"` is js/show_worker.ts bundled as a plain script, which a page opened from a file may start, too, as gzip in base64 (js/session/host/unpack.ts). */
const packedWorker = {
  name: "packed-worker",
  setup(build) {
    build.onResolve({ filter: /^worker-source$/ }, () => ({ path: "worker-source", namespace: "worker" }));
    build.onLoad({ filter: /.*/, namespace: "worker" }, async () => {
      const result = await esbuild.build({
        ...common,
        entryPoints: [join(here, "show_worker.ts")],
        plugins: [shadersAsText],
        format: "iife",
        globalName: "dshqShow",
        footer: { js: "globalThis.dshqShow = dshqShow;" },
        write: false,
        metafile: true,
      });
      return {
        contents: pack(result.outputFiles[0].contents),
        loader: "text",
        watchFiles: Object.keys(result.metafile.inputs),
      };
    });
  },
};

/** uPlot asks for numbers in the browser's language, and fails where that is none: WebKitGTK's is "C" where no locale is set. */
const englishPlots = {
  name: "english-plots",
  setup(build) {
    build.onLoad({ filter: /uPlot\.[a-z]+\.js$/ }, async ({ path }) => {
      const text = await readFile(path, "utf8");
      const contents = text.replace("domEnv ? nav.language : 'en-US'", "'en-US'");
      if (contents === text) throw new Error(`${path} asks for its language in another way: see english-plots in js/build.mjs`);
      return { contents, loader: "js" };
    });
  },
};

/** A notebook's style sheets are global: other people's rules are nested under our root too. */
const scopedPackageStyles = {
  name: "scoped-package-styles",
  setup(build) {
    build.onLoad({ filter: /node_modules.*\.css$/ }, async ({ path }) => ({
      contents: `.dshq-widget { ${await readFile(path, "utf8")} }`,
      loader: "css",
    }));
  },
};

/** `@import "features"` is every style sheet of js/features, folder by folder. */
const featureStyles = {
  name: "feature-styles",
  setup(build) {
    build.onResolve({ filter: /^features$/ }, () => ({ path: "features.css", namespace: "features" }));
    build.onLoad({ filter: /.*/, namespace: "features" }, async () => {
      const folder = join(here, "features");
      const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(".css")).sort();
      return { contents: names.map((name) => `@import ${JSON.stringify(`./${name}`)};`).join("\n"), loader: "css", resolveDir: folder };
    });
  },
};

const pack = (contents) => gzipSync(contents, packing).toString("base64");
const styles = {
  ...common,
  entryPoints: [{ in: join(here, "styles", "style.css"), out: "widget" }],
  outdir: out,
  plugins: [scopedPackageStyles, featureStyles],
};

/** `import source from "page-source"` is js/page.ts bundled as a module and its style sheet, as gzip in base64, and the hash of both. */
const packedPage = {
  name: "packed-page",
  setup(build) {
    build.onResolve({ filter: /^page-source$/ }, () => ({ path: "page-source", namespace: "page" }));
    build.onLoad({ filter: /.*/, namespace: "page" }, async () => {
      const kept = { write: false, metafile: true };
      const page = { ...common, entryPoints: [join(here, "page.ts")], plugins: [shadersAsText, packedWorker, englishPlots], format: "esm" };
      const results = await Promise.all([page, styles].map((one) => esbuild.build({ ...one, ...kept })));
      const [code, css] = results.map(({ outputFiles }) => outputFiles[0].contents);
      const source = {
        packed: pack(code),
        styles: pack(css),
        hash: createHash("sha256").update(code).update(css).digest("hex").slice(0, 16),
      };
      const inputs = results.flatMap(({ metafile }) => Object.keys(metafile.inputs)).filter((path) => !path.startsWith("worker:"));
      return { contents: JSON.stringify(source), loader: "json", watchFiles: inputs };
    });
  },
};

const options = {
  ...common,
  entryPoints: [join(here, "widget.ts")],
  format: "esm",
  outdir: out,
  plugins: [packedPage],
};

const standalone = {
  ...common,
  entryPoints: [
    { in: join(here, "standalone.ts"), out: "standalone" },
    { in: join(here, "match_replay.ts"), out: "match_replay" },
  ],
  format: "iife",
  outdir: out,
  plugins: [shadersAsText, packedWorker, englishPlots],
};

/** The trainer's worker: not a part of widget.js, since few pages train by themselves. */
const trainer = { ...common, entryPoints: [{ in: join(here, "trainer", "worker.ts"), out: "trainer" }], format: "iife", outdir: out, plugins: [shadersAsText] };

const play = { ...common, entryPoints: [join(here, "play.ts")], format: "esm", outdir: out };

async function report() {
  const path = join(out, "widget.js");
  const { size } = await stat(path);
  console.log(`widget.js ${(size / 1024).toFixed(1)} KB of ${budget / 1024} KB (gzip ${(gzipSync(await readFile(path)).length / 1024).toFixed(1)} KB)`);
  if (size > budget) {
    console.error(`wanted at most ${budget} bytes, got ${size}: leave a dependency out, or split what is rarely used`);
    process.exitCode = 1;
  }
}

if (process.argv.includes("--watch")) {
  const context = await esbuild.context({ ...options, logLevel: "info" });
  await context.watch();
} else {
  const bundles = Object.values({
    options,
    styles,
    standalone,
    play,
    trainer,
  });
  await Promise.all(bundles.map((one) => esbuild.build(one)));
  await report();
}
