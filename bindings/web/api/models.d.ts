// Sentence encoders for JavaScript. What models.js says of each function holds here.
import type {Device, Tensor} from './index.js';

export const CACHE: string;

// What a file may be given as.
export type FileContents = Blob | ArrayBuffer | ArrayBufferView<ArrayBuffer> | string | ReadableStream<Uint8Array<ArrayBuffer>> | Response;

export interface LoadOptions {
  progress?: (step: {file: string; loaded: number; total?: number}) => void;
  cache?: boolean;
  prompt?: string;
  device?: Device;
  signal?: AbortSignal;
}
export function load(
  source: string | URL | {files: {readonly [name: string]: FileContents} | Iterable<File>}, options?: LoadOptions,
): Promise<SentenceEncoder>;

export interface EmbedOptions {
  batch?: number;
  progress?: (step: {done: number; total: number}) => void;
  signal?: AbortSignal;
}

export class SentenceEncoder {
  private constructor();
  readonly dimension: number;
  readonly maxLength: number;
  readonly gpu: boolean;
  embed(texts: string | Iterable<string>, options?: EmbedOptions): Promise<Tensor>;
  vectors(texts: string | Iterable<string>, options?: EmbedOptions): Promise<Float32Array[]>;
  tokenize(texts: string | Iterable<string>): number[][];
  readonly disposed: boolean;
  dispose(): void;
  [Symbol.dispose](): void;
}

export function similarity(a: Tensor, b: Tensor): Tensor;
export function similarity(a: Float32Array, b: Float32Array): number;
