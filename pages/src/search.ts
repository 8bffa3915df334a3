/**
 * The latent of every class whose decoding explains an image best. As in the library, the best of some decodings made
 * beforehand is where it begins; then come steps of Gauss and Newton, damped, with slopes by differences of decodings,
 * instead of many steps along the slope: ONNX models come without gradients.
 */

import type { Network } from "./model";
import type { SynthesisData } from "./types";

export interface Reading {
  energy: number;
  code: Float32Array;
  /** Its decoding `[c, h, w]`. */
  image: Float32Array;
}

/** With the slopes of its decoding along each latent. */
interface Sloped extends Reading {
  slopes: Float32Array[];
}

export const STEPS = 12;
const APART = 0.01;
const TINY = 1e-6;

export class Search {
  constructor(
    private net: Network,
    private about: SynthesisData,
    private starts: Uint8Array,
    private pixels: number,
  ) {}

  /** What each class makes of an image, better and better; the last is the answer. */
  async *explain(image: Float32Array): AsyncGenerator<Reading[]> {
    const { classes, latents } = this.about;
    const best: Sloped[] = classes.map((_, c) => ({ energy: Infinity, code: this.nearest(image, c), image: new Float32Array(this.pixels), slopes: [] }));
    const tried: Float32Array[] = best.map((one) => one.code);
    const damping = new Float64Array(classes.length).fill(0.1);
    for (let step = 0; step <= STEPS; step++) {
      const last = step === STEPS;
      const drawn = await this.draw(tried, last ? 0 : latents);
      for (let c = 0; c < classes.length; c++) {
        const energy = this.energy(image, drawn[0][c], tried[c]);
        const better = energy < best[c].energy;
        damping[c] = better ? damping[c] / 5 : damping[c] * 8;
        if (better) {
          const slopes = drawn.slice(1).map((row) => row[c].map((value, k) => (value - drawn[0][c][k]) / APART));
          best[c] = { energy, code: tried[c], image: drawn[0][c], slopes: last ? best[c].slopes : slopes };
        }
        if (!last) tried[c] = this.step(image, best[c], damping[c]);
      }
      yield best;
    }
  }

  /** Probabilities of the classes: even where none explains the image. */
  posterior(energies: number[]): number[] {
    const { alpha, eta } = this.about;
    const logs = energies.map((energy) => {
      const [a, b] = [-alpha * energy, Math.log(eta)];
      return Math.max(a, b) + Math.log1p(Math.exp(-Math.abs(a - b)));
    });
    const most = Math.max(...logs);
    const shares = logs.map((log) => Math.exp(log - most));
    const sum = shares.reduce((a, b) => a + b, 0);
    return shares.map((share) => share / sum);
  }

  energy(image: Float32Array, decoded: Float32Array, code: Float32Array): number {
    let sum = 0;
    if (this.about.likelihood === "gaussian") for (let k = 0; k < image.length; k++) sum += (image[k] - decoded[k]) ** 2;
    else
      for (let k = 0; k < image.length; k++) {
        const sure = Math.min(1 - TINY, Math.max(TINY, decoded[k]));
        sum -= image[k] * Math.log(sure) + (1 - image[k]) * Math.log(1 - sure);
      }
    return sum + 0.5 * code.reduce((total, value) => total + value * value, 0);
  }

  private nearest(image: Float32Array, c: number): Float32Array {
    const { starts } = this.about;
    const decoded = new Float32Array(this.pixels);
    let [least, found] = [Infinity, 0];
    starts.forEach((code, at) => {
      const first = (c * starts.length + at) * this.pixels;
      for (let k = 0; k < this.pixels; k++) decoded[k] = this.starts[first + k] / 255;
      const energy = this.energy(image, decoded, Float32Array.from(code));
      if (energy < least) [least, found] = [energy, at];
    });
    return Float32Array.from(starts[found]);
  }

  /** Decodings of a code per class, then of the codes with each latent moved a little: `[1 + moved][class]`. */
  private async draw(codes: Float32Array[], moved: number): Promise<Float32Array[][]> {
    const { latents } = this.about;
    const wide = codes.length * latents;
    const batch = new Float32Array((1 + moved) * wide);
    for (let row = 0; row <= moved; row++)
      codes.forEach((code, c) => {
        batch.set(code, row * wide + c * latents);
        if (row) batch[row * wide + c * latents + row - 1] += APART;
      });
    const values = await this.net.run(batch, [1 + moved, wide]);
    const at = (row: number, c: number) => (row * codes.length + c) * this.pixels;
    return Array.from({ length: 1 + moved }, (_, row) => codes.map((_, c) => values.slice(at(row, c), at(row, c) + this.pixels)));
  }

  /** The least of the energy as it looks from here, not too far away. */
  private step(image: Float32Array, from: Sloped, damping: number): Float32Array {
    const { latents, radius, likelihood } = this.about;
    const weight = (k: number) => {
      if (likelihood === "gaussian") return 2;
      const sure = Math.min(1 - TINY, Math.max(TINY, from.image[k]));
      return 1 / (sure * (1 - sure));
    };
    const matrix = Array.from({ length: latents }, () => new Float64Array(latents + 1));
    for (let k = 0; k < this.pixels; k++) {
      const w = weight(k);
      for (let i = 0; i < latents; i++) {
        const slope = w * from.slopes[i][k];
        for (let j = 0; j <= i; j++) matrix[i][j] += slope * from.slopes[j][k];
        matrix[i][latents] += slope * (image[k] - from.image[k]);
      }
    }
    for (let i = 0; i < latents; i++) {
      for (let j = 0; j < i; j++) matrix[j][i] = matrix[i][j];
      matrix[i][i] += 1 + damping;
      matrix[i][latents] -= from.code[i];
    }
    const moved = solve(matrix).map((value, i) => value + from.code[i]);
    const length = Math.hypot(...moved);
    return Float32Array.from(moved, (value) => value * Math.min(1, radius / Math.max(length, TINY)));
  }
}

/** The solution of a positive definite system whose right side is its last column. */
function solve(rows: Float64Array[]): number[] {
  const n = rows.length;
  for (let i = 0; i < n; i++)
    for (let j = i + 1; j < n; j++) {
      const share = rows[j][i] / rows[i][i];
      for (let k = i; k <= n; k++) rows[j][k] -= share * rows[i][k];
    }
  const found = new Array<number>(n).fill(0);
  for (let i = n - 1; i >= 0; i--) {
    let left = rows[i][n];
    for (let k = i + 1; k < n; k++) left -= rows[i][k] * found[k];
    found[i] = left / rows[i][i];
  }
  return found;
}
