// navigator.ml on Weft: the interfaces of the W3C's Web Neural Network API, and install(), which puts them in place.

export type MLPowerPreference = 'default' | 'high-performance' | 'low-power';
export type MLInputOperandLayout = 'nchw' | 'nhwc';
// int4 and uint4 are Weft's own.
export type MLOperandDataType = /*DATA_TYPES*/;
export type MLNumber = number | bigint;
export type MLBufferSource = ArrayBufferLike | ArrayBufferView;

// The browser's WebGPU, as TypeScript knows it where it does.
type Global<Name extends string, Otherwise> =
    typeof globalThis extends {[name in Name]: {prototype: infer T}} ? T : Otherwise;
export type MLDevice = Global<'GPUDevice', {readonly lost: Promise<unknown>; createComputePipeline(descriptor: never): unknown}>;
export type MLBuffer = Global<'GPUBuffer', {readonly size: number; readonly usage: number; destroy(): void}>;

export interface MLContextOptions {
  powerPreference?: MLPowerPreference;
  accelerated?: boolean;
}
export interface MLOperandDescriptor {
  dataType: MLOperandDataType;
  shape: Iterable<number>;
}
export interface MLTensorDescriptor extends MLOperandDescriptor {
  readable?: boolean;
  writable?: boolean;
}
export interface MLOperatorOptions {
  label?: string;
}
export interface MLContextLostInfo {
  message: string;
}
export interface MLTensorLimits {
  dataTypes: MLOperandDataType[];
  rankRange: {min: number; max: number};
}
export interface MLOpSupportLimits {
  preferredInputLayout: MLInputOperandLayout;
  maxTensorByteLength: number;
  input: MLTensorLimits;
  constant: MLTensorLimits;
  output: MLTensorLimits;
  /*LIMITS*/
}

export class ML {
  private constructor();
  createContext(options?: MLContextOptions): Promise<MLContext>;
  createContext(gpuDevice: MLDevice): Promise<MLContext>;
}
export class MLOperand {
  private constructor();
  readonly dataType: MLOperandDataType;
  readonly shape: readonly number[];
}
export class MLTensor {
  private constructor();
  readonly dataType: MLOperandDataType;
  readonly shape: readonly number[];
  readonly readable: boolean;
  readonly writable: boolean;
  readonly constant: boolean;
  destroy(): void;
}
export class MLGraph {
  private constructor();
  destroy(): void;
}
export class MLContext {
  private constructor();
  readonly accelerated: boolean;
  readonly lost: Promise<MLContextLostInfo>;
  createTensor(descriptor: MLTensorDescriptor): Promise<MLTensor>;
  createConstantTensor(descriptor: MLOperandDescriptor, inputData: MLBufferSource): Promise<MLTensor>;
  // A tensor that exportToGPU() takes, of a context that was made of that device.
  createExportableTensor(descriptor: MLTensorDescriptor, gpuDevice: MLDevice): Promise<MLTensor>;
  readTensor(tensor: MLTensor): Promise<ArrayBuffer>;
  readTensor(tensor: MLTensor, outputData: MLBufferSource): Promise<undefined>;
  writeTensor(tensor: MLTensor, inputData: MLBufferSource): void;
  dispatch(graph: MLGraph, inputs: Record<string, MLTensor>, outputs: Record<string, MLTensor>): void;
  // The tensor's own buffer, for the page alone until it calls the buffer's destroy().
  exportToGPU(tensor: MLTensor): MLBuffer;
  opSupportLimits(): MLOpSupportLimits;
  destroy(): void;
}
export class MLGraphBuilder {
  constructor(context: MLContext);
  input(name: string, descriptor: MLOperandDescriptor): MLOperand;
  constant(descriptor: MLOperandDescriptor, buffer: MLBufferSource): MLOperand;
  constant(dataType: MLOperandDataType, value: MLNumber): MLOperand;
  constant(tensor: MLTensor): MLOperand;
  build(outputs: Record<string, MLOperand>): Promise<MLGraph>;
  /*OPERATIONS*/
}

export interface InstallOptions {
  // Also where the browser has a navigator.ml of its own, which else stays.
  force?: boolean;
  // The device of contexts that are made from options, instead of what they ask for: 'cpu', 'gpu', a part of the
  // adapter's name, or a GPUDevice of the page's.
  device?: string | MLDevice;
  // Whether what depends on constants alone is computed while a graph is built (true).
  constantFolding?: boolean;
  // Where weft.wasm is, if not beside the module: a URL, its bytes or a WebAssembly.Module.
  wasm?: string | URL | ArrayBuffer | ArrayBufferView | WebAssembly.Module;
}
// Puts the interfaces in place, and gives navigator.ml once it can be used.
export function install(options?: InstallOptions): Promise<ML>;
// What install() puts at navigator.ml.
export const ml: ML;

type BuilderClass = typeof MLGraphBuilder;
declare global {
  var MLGraphBuilder: BuilderClass;
  interface Navigator {
    readonly ml: ML;
  }
  interface WorkerNavigator {
    readonly ml: ML;
  }
}
