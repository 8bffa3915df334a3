import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

const ORT = "node_modules/onnxruntime-web/";
const WASM = "ort-wasm-simd-threaded.wasm";

/**
 * The page is one classic script without modules, workers or fetches, so that it also works when the folder is opened
 * from a disk. The runtime's WebAssembly is therefore packed into a script like all other data, and its own way of
 * finding that file is taken out of the bundle.
 */
function packRuntime(): Plugin {
  return {
    name: "pack-runtime",
    enforce: "pre",
    transform(code, id) {
      if (!id.includes("onnxruntime-web")) return null;
      const found = code.split(`new URL("${WASM}",import.meta.url).href`);
      if (found.length < 2) throw new Error(`${id} does not look for ${WASM} the way it used to`);
      return found.join(`"${WASM}"`);
    },
    generateBundle() {
      const packed = gzipSync(readFileSync(`${ORT}dist/${WASM}`), { level: 9 }).toString("base64");
      this.emitFile({ type: "asset", fileName: "runtime.js", source: `unbraid("runtime", "${packed}");\n` });
      this.emitFile({ type: "asset", fileName: "sources.sha256", source: `${sources()}\n` });
      this.emitFile({ type: "asset", fileName: "page.html", source: readFileSync("page.html", "utf8") });
      this.emitFile({ type: "asset", fileName: "LICENCES.txt", source: readFileSync("LICENCES.txt", "utf8") });
    },
  };
}

/** A fingerprint of everything the build reads, so that a test without Node sees that the shipped files are stale. */
function sources(): string {
  const own = ["LICENCES.txt", "package-lock.json", "package.json", "page.html", "tsconfig.json", "vite.config.ts"];
  const hash = createHash("sha256");
  for (const name of [...own, ...readdirSync("src").sort().map((file) => `src/${file}`)])
    hash.update(`${name}\0`).update(readFileSync(name)).update("\0");
  return hash.digest("hex");
}

export default defineConfig({
  plugins: [packRuntime()],
  build: {
    target: "es2022",
    outDir: "../src/unbraid/report/explorer/static",
    emptyOutDir: true,
    reportCompressedSize: false,
    lib: { entry: "src/main.ts", name: "unbraidPages", formats: ["iife"], fileName: () => "explorer.js", cssFileName: "explorer" },
  },
});
