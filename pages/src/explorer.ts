/** The state of a run's page: where in the space of codes we are, where we started, and who wants to know. */

import { loadBytes } from "./files";
import { Network } from "./model";
import { fromBytes, fromFile, fromTensor } from "./pixels";
import type { Latent, RunData } from "./types";

/** Where a walk started: an image of the data set, a picture of the user's own, or the middle of the prior. */
export interface Place {
  code: Float32Array;
  label: string;
  image: ImageData | null;
  /** Position in the gallery, or -1. */
  at: number;
}

export class Explorer {
  readonly code: Float32Array;
  start: Place;
  private listeners: (() => void)[] = [];
  private encoder: Promise<Network> | null = null;

  private constructor(
    readonly run: RunData,
    readonly assets: string,
    readonly decoder: Network | null,
    private readonly images: Uint8Array | null,
  ) {
    this.code = new Float32Array(run.latents.length);
    this.start = run.gallery ? this.place(0) : this.middle();
    this.code.set(this.start.code);
  }

  static async open(run: RunData, assets: string): Promise<Explorer> {
    const images = run.gallery ? await loadBytes("images") : null;
    return new Explorer(run, assets, run.decoder ? await Network.open("decoder", assets) : null, images);
  }

  /** Call when the code has changed. */
  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  changed(): void {
    for (const listener of this.listeners) listener();
  }

  set(latent: number, value: number): void {
    this.code[latent] = value;
    this.changed();
  }

  setAll(code: ArrayLike<number>): void {
    this.code.set(code);
    this.changed();
  }

  walkFrom(place: Place): void {
    this.start = place;
    this.setAll(place.code);
  }

  place(at: number): Place {
    const gallery = this.run.gallery!;
    return { code: Float32Array.from(gallery.codes[at]), label: this.describe(at), image: this.image(at), at };
  }

  middle(): Place {
    return { code: new Float32Array(this.run.latents.length), label: "the middle of the prior", image: null, at: -1 };
  }

  random(): Place {
    return this.place(Math.floor(Math.random() * this.run.gallery!.index.length));
  }

  image(at: number): ImageData {
    return fromBytes(this.images!, this.run.shape!, at);
  }

  /** What an image of the gallery shows, in words. */
  describe(at: number): string {
    const gallery = this.run.gallery!;
    const shown = gallery.factors ? this.run.factors.map((name, k) => `${name} ${gallery.factors![at][k]}`) : [];
    return [`image ${gallery.index[at]}`, ...shown].join(", ");
  }

  /** Images `[n, c, h, w]` of codes `[n, d]`. */
  decode(codes: Float32Array): Promise<Float32Array> {
    if (!this.decoder) throw new Error("this model has no decoder");
    const latents = this.run.latents.length;
    return this.decoder.run(codes, [codes.length / latents, latents]);
  }

  async pictures(codes: Float32Array[]): Promise<ImageData[]> {
    const latents = this.run.latents.length;
    const batch = new Float32Array(codes.length * latents);
    codes.forEach((code, row) => batch.set(code, row * latents));
    const values = await this.decode(batch);
    return codes.map((_, row) => fromTensor(values, this.run.shape!, row));
  }

  /** The code of a picture file. */
  async encodeFile(file: File): Promise<Place> {
    const shape = this.run.shape!;
    const [height, width, channels] = shape;
    const values = await fromFile(file, shape);
    const code = await this.encode(values, [1, channels, height, width]);
    return { code, label: file.name, image: fromTensor(values, shape), at: -1 };
  }

  async encode(values: Float32Array, shape: number[]): Promise<Float32Array> {
    this.encoder ??= Network.open("encoder", this.assets);
    return (await this.encoder).run(values, shape);
  }

  with(base: ArrayLike<number>, latent: number, value: number): Float32Array {
    const code = Float32Array.from(base);
    code[latent] = value;
    return code;
  }

  /** The factor a latent tells most about, with the share of its entropy; nothing if that may be chance. */
  carries(latent: number): { factor: string; share: number } | null {
    const row = this.run.information?.[latent];
    if (!row?.length) return null;
    const share = Math.max(...row);
    const factor = row.indexOf(share);
    return this.knows(latent, factor) ? { factor: this.run.factors[factor], share } : null;
  }

  /** Whether a latent tells clearly more about a factor than chance would. */
  knows(latent: number, factor: number): boolean {
    return this.run.information![latent][factor] > Math.max(0.03, 2 * this.run.chance[factor]);
  }

  /** Latents by activity, or by what they tell about one factor. */
  ranked(factor: number | null): Latent[] {
    const information = this.run.information;
    if (factor === null || !information) return this.run.latents;
    return [...this.run.latents].sort((a, b) => information[b.index][factor] - information[a.index][factor]);
  }
}

/** Values from low to high, both included. */
export function steps(low: number, high: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => low + ((high - low) * i) / (count - 1));
}

/** Only the latest call goes on: `busy()` says whether a newer one has come. */
export class Latest {
  private count = 0;

  next(): () => boolean {
    const mine = ++this.count;
    return () => mine !== this.count;
  }
}

/** Let the page draw and react before more is computed. */
export function breathe(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}
