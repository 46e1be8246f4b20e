// onnxruntime on one model: what it computes, and how fast. It is no Debian package: `npm install onnxruntime-node` in
// some folder, and NODE_PATH=FOLDER/node_modules for this program.
//
//   node onnxruntime_peer.js MODEL INPUT.npy THREADS
//
// then takes one command a line on standard input and answers each with one line of JSON:
//   outputs   the version, and the first output's shape and values
//   time K    the seconds of each of K runs, from "input in memory" to "output in memory"

const fs = require("fs");
const readline = require("readline");
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

async function main(model, input, threads) {
  const session = await ort.InferenceSession.create(model, {
    intraOpNumThreads: Number(threads),
    interOpNumThreads: 1,
    executionProviders: ["cpu"],
    graphOptimizationLevel: "all",
  });
  const feeds = { [session.inputNames[0]]: readNpy(input) };
  const run = async () => (await session.run(feeds))[session.outputNames[0]];
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [command, count] = line.split(" ");
    if (command === "outputs") {
      const output = await run();
      const version = ort.env.versions.node;
      console.log(JSON.stringify({ version, shape: output.dims, values: Array.from(output.data) }));
    } else {
      const seconds = [];
      for (let i = 0; i < Number(count); ++i) {
        const before = process.hrtime.bigint();
        await run();
        seconds.push(Number(process.hrtime.bigint() - before) / 1e9);
      }
      console.log(JSON.stringify({ seconds }));
    }
  }
}

main(...process.argv.slice(2)).catch((error) => {
  console.error(String(error));
  process.exit(1);
});
