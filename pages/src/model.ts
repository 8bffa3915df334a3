/** The exported networks, run by ONNX Runtime in this page. */

import * as ort from "onnxruntime-web/wasm";
import { loadBytes } from "./files";

export class Network {
  private queue: Promise<unknown> = Promise.resolve();

  private constructor(private session: ort.InferenceSession) {}

  static async open(name: string, assets: string): Promise<Network> {
    if (!ort.env.wasm.wasmBinary) {
      const wasm = await loadBytes("runtime", assets);
      ort.env.wasm.wasmBinary = wasm.buffer as ArrayBuffer;
      ort.env.wasm.numThreads = 1;
      ort.env.logLevel = "error";
    }
    const bytes = await loadBytes(name);
    return new Network(await ort.InferenceSession.create(bytes, { executionProviders: ["wasm"] }));
  }

  /** One call after the other: a session computes one batch at a time. */
  run(values: Float32Array, shape: number[]): Promise<Float32Array> {
    const result = this.queue.then(async () => {
      const feeds = { [this.session.inputNames[0]]: new ort.Tensor("float32", values, shape) };
      const outputs = await this.session.run(feeds);
      return outputs[this.session.outputNames[0]].data as Float32Array;
    });
    this.queue = result.catch(() => undefined);
    return result;
  }
}
