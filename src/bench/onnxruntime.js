// onnxruntime under node, for comparisons: the package onnxruntime-node, from NODE_PATH. The program starts it by
// `node --eval`, the tests as a file. The last word of the command line is the number of threads.
//
// Its first line on standard output is {"version": ...}, or {"error": ...} where there is no onnxruntime. Then it takes
// one command a line on standard input, its words separated by tabs, and answers each with one line of JSON,
// {"error": ...} where it fails:
//   load MODEL INPUT.npy   takes both: {}
//   outputs                {"outputs": [{"name", "shape", "values"}, ...]}: all outputs; null for what is no finite number
//   time K                 {"seconds": [...]} of each of K runs, from "input in memory" to "outputs in memory"

const fs = require("fs");
const readline = require("readline");

/** The tensor of an .npy file of little-endian fp32 numbers by rows. */
function readNpy(ort, path) {
  const bytes = fs.readFileSync(path);
  const length = bytes[6] === 1 ? bytes.readUInt16LE(8) : bytes.readUInt32LE(8);
  const begin = (bytes[6] === 1 ? 10 : 12) + length;
  const header = bytes.toString("latin1", begin - length, begin);
  if (!header.includes("'<f4'") || !header.includes("False")) throw new Error(`${path}: expected fp32 by rows`);
  const shape = header.match(/'shape': *\(([^)]*)\)/)[1].split(",").filter((text) => text.trim()).map(Number);
  const numbers = bytes.buffer.slice(bytes.byteOffset + begin, bytes.byteOffset + bytes.length);
  return new ort.Tensor("float32", new Float32Array(numbers), shape);
}

/** A model and an input in memory. */
class Loaded {
  static async make(ort, model, input, threads) {
    const loaded = new Loaded();
    loaded.session = await ort.InferenceSession.create(model, {
      intraOpNumThreads: threads,
      interOpNumThreads: 1,
      executionProviders: ["cpu"],
      graphOptimizationLevel: "all",
      logSeverityLevel: 3,
    });
    loaded.feeds = { [loaded.session.inputNames[0]]: readNpy(ort, input) };
    return loaded;
  }
  run() {
    return this.session.run(this.feeds);
  }
}

async function main(threads) {
  const say = (found) => console.log(JSON.stringify(found));
  let ort = null;
  try {
    ort = require("onnxruntime-node");
  } catch (error) {
    return say({ error: String(error.message).split("\n")[0] });
  }
  say({ version: ort.env.versions.node });
  let loaded = null;
  const answer = async (command, ...words) => {
    if (command === "load") {
      loaded = await Loaded.make(ort, ...words, threads);
      return {};
    }
    if (command === "outputs") {
      const made = await loaded.run();
      const named = (name) => ({ name, shape: made[name].dims, values: Array.from(made[name].data, Number) });
      return { outputs: loaded.session.outputNames.map(named) };
    }
    const seconds = [];
    for (let i = 0; i < Number(words[0]); ++i) {
      const before = process.hrtime.bigint();
      await loaded.run();
      seconds.push(Number(process.hrtime.bigint() - before) / 1e9);
    }
    return { seconds };
  };
  for await (const line of readline.createInterface({ input: process.stdin }))
    say(await answer(...line.split("\t")).catch((error) => ({ error: String(error) })));
}

main(Number(process.argv.at(-1)));
