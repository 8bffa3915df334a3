/** What Python writes into `run.js` and `study.js`; see `unbraid/report/explorer/contents.py` and `study.py`. */

export interface Latent {
  index: number;
  /** Mean KL divergence to the prior in nats; null for a model without a posterior. */
  kl: number | null;
  active: boolean;
  low: number;
  high: number;
  /** Share of the codes in equal bins from low to high, the fullest bin being 1. */
  histogram: number[];
}

export interface Problem {
  what: string;
  detail: string;
}

export interface Gallery {
  /** Positions in the data set. */
  index: number[];
  codes: number[][];
  factors: number[][] | null;
}

/** Of a model that explains images by drawing them. */
export interface SynthesisData {
  classes: string[];
  latents: number;
  /** How far from the origin latents are looked for. */
  radius: number;
  likelihood: "gaussian" | "bernoulli";
  /** Of the library's own search. */
  samples: number;
  iterations: number;
  alpha: number;
  eta: number;
  /** Whether alpha and eta were fitted to the images shown. */
  fitted: boolean;
  /** Latents whose decodings come along. */
  starts: number[][];
  /** What the library's own search found for the images shown, by class. */
  energies: number[][];
  truth: number[] | null;
}

/** Of a bijective classifier: its first outputs are logits. */
export interface NuisanceData {
  classes: string[];
  size: number;
  /** Of what the network sees, margins included. */
  shape: [number, number, number];
  margins: boolean;
  truth: number[] | null;
}

export interface RunData {
  name: string;
  title: string;
  /** The page of the study it belongs to. */
  home: string | null;
  facts: [string, string][];
  /** Height, width, channels. */
  shape: [number, number, number] | null;
  /** Most active first. */
  latents: Latent[];
  factors: string[];
  /** Information of each latent (by its index) about each factor, as a share of the factor's entropy. */
  information: number[][] | null;
  /** What a latent that knows nothing would seem to know about each factor. */
  chance: number[];
  gallery: Gallery | null;
  synthesis: SynthesisData | null;
  nuisance: NuisanceData | null;
  decoder: boolean;
  encoder: boolean;
  problems: Problem[];
  files: [string, number | null][];
  history: { step: number[]; loss: number[] } | null;
  scores: [string, number, number | null][];
}

export interface StudyRow {
  index: number;
  folder: string;
  status: string;
  error: string | null;
  data: string;
  objective: string;
  /** The objective as papers write it. */
  title: string;
  strength_name: string | null;
  strength: number | null;
  seed: number;
  steps: number;
  scores: Record<string, number | null>;
  /** Whether there is a page and a picture of this run. */
  page: boolean;
}

export interface StudyData {
  name: string;
  rows: StudyRow[];
  /** Names of the scores, the most telling first. */
  columns: string[];
  shown: string[];
  planned: number;
  notes: string[];
}
