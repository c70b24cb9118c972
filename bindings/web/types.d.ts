// Weft for JavaScript. What index.js says of each function holds here. Functions of trees (grad, compile, vmap) take
// tensors, and lists and objects of them.

// An operand: a number has the type of the tensor beside it.
export type Operand = Tensor | number | boolean | bigint;
export type Attribute = number | bigint | boolean | string | readonly (number | bigint)[] | null | undefined;
export type DType =
  | 'f32' | 'f16' | 'bf16' | 'f64' | 'i8' | 'i16' | 'i32' | 'i64' | 'u8' | 'u16' | 'u32' | 'u64' | 'bool' | 'c64'
  | 'f8e4m3' | 'f8e5m2' | 'i4' | 'u4' | 'i2' | 'u2';
export type Shape = readonly number[];
export type TypedArray =
  | Float32Array | Float64Array | Int8Array | Int16Array | Int32Array | Uint8Array | Uint8ClampedArray | Uint16Array
  | Uint32Array | BigInt64Array | BigUint64Array;
export type Scalar = number | bigint | boolean;
export type Nested = Scalar | readonly Nested[];
// The library's errors; `name` is one of "InvalidArgument", "ShapeError", "TypeError", "IndexError", "DeviceError",
// "Unsupported", "LinAlgError", "IoError", "FormatError", "OutOfMemory", "NoDevice", "DeviceLost", "ValidationError",
// "InternalError".
export class WeftError extends Error {}

declare class Handle {
  readonly disposed: boolean;
  dispose(): void;
  [Symbol.dispose](): void;
}

export class Device extends Handle {
  private constructor();
  readonly name: string;
  readonly gpu: boolean;
  readonly reason: string;
  wait(): Promise<null>;
}

export interface OpenOptions {
  // "cpu", "gpu", a part of the adapter's name, or a GPUDevice of the page's.
  device?: string | object;
  // Where weft.wasm is: a URL, its bytes or a WebAssembly.Module.
  wasm?: string | URL | ArrayBuffer | ArrayBufferView | WebAssembly.Module;
  // As weft.wasm comes over the network; total is undefined where the server does not say it.
  progress?: (step: {loaded: number; total?: number}) => void;
}
export function open(options?: OpenOptions): Promise<Device>;
export function use(device: Device): void;

export interface Memory {
  numTensors: number;
  numBytes: number;
  moduleBytes: number;
  gpu?: {live: number; peak: number; cached: number};
}
export function memory(): Memory;

export type Index = number | readonly (number | null)[] | Tensor | null | 'new' | '...';

export class Tensor extends Handle {
  private constructor();
  readonly dtype: DType;
  readonly shape: number[];
  readonly rank: number;
  readonly size: number;
  data(): Promise<TypedArray>;
  item(): Promise<any>;
  toArray(): Promise<any>;
  text(): Promise<string>;
  to(device: Device): Promise<Tensor>;
  T(): Tensor;
  at(...indices: Index[]): Tensor;
  withAt(indices: readonly Index[], value: Operand): Tensor;

  // ---- Operations, made from the library's own table.
  /*METHODS*/
}

// The same as functions, and those of no tensor or of a list of them.
export const ops: {
  /*FUNCTIONS*/
};
export function operation(
  name: string, operands: readonly (Operand | null)[], attributes?: {readonly [name: string]: Attribute},
): Tensor[];

export function tensor(values: TypedArray | Nested, options?: {shape?: Shape; dtype?: DType}): Tensor;
export function full(shape: Shape, value: Scalar, dtype?: DType): Tensor;
export function zeros(shape: Shape, dtype?: DType): Tensor;
export function ones(shape: Shape, dtype?: DType): Tensor;
export function arange(start: number, stop?: number, step?: number, dtype?: DType): Tensor;
export function linspace(start: number, stop: number, count: number, dtype?: DType): Tensor;
export function eye(rows: number, columns?: number, dtype?: DType): Tensor;
export function concat(parts: readonly Tensor[], axis?: number): Tensor;
export function stack(parts: readonly Tensor[], axis?: number): Tensor;
export function where(condition: Operand, a: Operand, b: Operand): Tensor;
export function einsum(subscripts: string, ...operands: Tensor[]): Tensor;

export const random: {
  seed(seed: number | bigint): void;
  key(seed: number | bigint): Tensor;
  split(key: Tensor, count?: number): Tensor;
  uniform(shape: Shape, options?: {low?: number; high?: number; dtype?: DType; key?: Tensor}): Tensor;
  normal(shape: Shape, options?: {mean?: number; deviation?: number; dtype?: DType; key?: Tensor}): Tensor;
  integers(shape: Shape, options: {low: number; high: number; dtype?: DType; key?: Tensor}): Tensor;
  bernoulli(shape: Shape, options?: {probability?: number; key?: Tensor}): Tensor;
  permutation(n: number, options?: {key?: Tensor}): Tensor;
};

export function fromPixels(
  source: object, options?: {channels?: 1 | 2 | 3 | 4; width?: number; height?: number},
): Tensor;
export function toPixels(tensor: Tensor): Promise<any>;
export function evaluate(...tensors: (Tensor | readonly Tensor[])[]): Promise<null>;
export function tidy<T>(f: () => T): T;

export function valueAndGrad<V, R extends unknown[]>(
  f: (variables: V, ...rest: R) => Tensor,
): (variables: V, ...rest: R) => [Tensor, V];
export function grad<V, R extends unknown[]>(
  f: (variables: V, ...rest: R) => Tensor,
): (variables: V, ...rest: R) => V;
export function vmap<A extends unknown[], T>(f: (...given: A) => T): (...given: A) => T;
export function compile<A extends unknown[], T>(f: (...given: A) => T): ((...given: A) => T) & {dispose(): void};

// Sentence encoders.
export * as models from './models.js';
// Models in ONNX's format.
export * as onnx from './onnx.js';
