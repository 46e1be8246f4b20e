// onnxruntime on models: what it computes, and how fast. It is no Debian package: `make deps` installs it in
// build/onnxruntime, and this program takes it from there, or from NODE_PATH.
//
//   node onnxruntime_peer.js THREADS
//
// then takes one command a line on standard input, its words separated by tabs, and answers each with one line of JSON, {"error": ...} where it fails:
//   load MODEL INPUT.npy   takes both; the answer is the version
//   outputs                the first output's shape and values
//   time K                 the seconds of each of K runs, from "input in memory" to "output in memory"

const fs = require("fs");
const path = require("path");
const readline = require("readline");
const { Module } = require("module");

process.env.NODE_PATH = [process.env.NODE_PATH, path.join(__dirname, "../../build/onnxruntime")].filter(Boolean).join(":");
Module._initPaths();
const ort = require("onnxruntime-node");

/** The tensor of an .npy file of little-endian fp32 numbers by rows. */
function readNpy(path) {
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
  static async make(model, input, threads) {
    const loaded = new Loaded();
    loaded.session = await ort.InferenceSession.create(model, {
      intraOpNumThreads: threads,
      interOpNumThreads: 1,
      executionProviders: ["cpu"],
      graphOptimizationLevel: "all",
      logSeverityLevel: 3,
    });
    loaded.feeds = { [loaded.session.inputNames[0]]: readNpy(input) };
    return loaded;
  }
  async run() {
    return (await this.session.run(this.feeds))[this.session.outputNames[0]];
  }
}

async function main(threads) {
  let loaded = null;
  const answer = async (command, ...words) => {
    if (command === "load") {
      loaded = await Loaded.make(...words, threads);
      return { version: ort.env.versions.node };
    }
    if (command === "outputs") {
      const output = await loaded.run();
      return { shape: output.dims, values: Array.from(output.data) };
    }
    const seconds = [];
    for (let i = 0; i < Number(words[0]); ++i) {
      const before = process.hrtime.bigint();
      await loaded.run();
      seconds.push(Number(process.hrtime.bigint() - before) / 1e9);
    }
    return { seconds };
  };
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const found = await answer(...line.split("\t")).catch((error) => ({ error: String(error) }));
    console.log(JSON.stringify(found));
  }
}

main(Number(process.argv[2]));
