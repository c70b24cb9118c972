// Models in ONNX's format for JavaScript. What onnx.js says of each function holds here.
import type {DType, Device, Nested, Tensor, TypedArray} from './index.js';

export const CACHE: string;

// What a model or a file beside it may be given as.
export type FileContents = Blob | ArrayBuffer | ArrayBufferView<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>> | Response;

export interface LoadOptions {
  device?: Device;
  precision?: 'strict' | 'f16' | 'automatic';
  forms?: number;
  progress?: (step: {file: string; loaded: number; total?: number}) => void;
  cache?: boolean;
  files?: {readonly [name: string]: FileContents} | Iterable<File>;
  signal?: AbortSignal;
}
export function load(source: string | URL | FileContents, options?: LoadOptions): Promise<Model>;

export interface Port {
  readonly name: string;
  readonly type: string;
  readonly dtype: DType | null;
  readonly shape: readonly (number | string | null)[] | null;
}
export type Value = Tensor | TypedArray | Nested;

export class Model {
  private constructor();
  readonly inputs: readonly Port[];
  readonly outputs: readonly Port[];
  readonly name: string;
  readonly producer: string;
  readonly opsets: {readonly [domain: string]: number};
  readonly metadata: {readonly [key: string]: string};
  readonly parameters: number;
  readonly gpu: boolean;
  readonly compilations: number;
  readonly reads: number;
  // What an output is follows from the model: name the type of the result where it has other outputs than tensors.
  run<R = {[name: string]: Tensor}>(
    inputs: {readonly [name: string]: Value | readonly Value[] | null | undefined}, options?: {signal?: AbortSignal},
  ): Promise<R>;
  readonly disposed: boolean;
  dispose(): void;
  [Symbol.dispose](): void;
}
