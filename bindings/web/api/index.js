// Weft for JavaScript: tensors on the browser's WebGPU or on the cpu.
//
//   import * as weft from 'weft';
//   const device = await weft.open();
//   const x = weft.tensor([1, 2, 3, 4], {shape: [2, 2]});
//   console.log(await x.matmul(x.T()).softmax(-1).data());
//
// Operations describe; what is read is computed, and nothing waits: what comes later is a promise. Tensors that a
// program forgets are released by the browser's garbage collector, which knows nothing of the GPU's memory: loops
// dispose() of what they no longer need, or declare it with `using`, or work in tidy().
import {Handle, WeftError, adopt, call, callJson, callLater, ready, wasm} from './core.js';

export {WeftError} from './core.js';
export * as models from './models.js';

const ARRAYS = {
  f32: Float32Array, f64: Float64Array, i8: Int8Array, i16: Int16Array, i32: Int32Array, u8: Uint8Array,
  u16: Uint16Array, u32: Uint32Array, i64: BigInt64Array, u64: BigUint64Array, bool: Uint8Array,
  f16: globalThis.Float16Array ?? Uint16Array, bf16: Uint16Array, c64: Float32Array,
};

const fail = (message, name = 'InvalidArgument') => {
  throw new WeftError(name, message);
};

// ---- Devices

// Where tensors live and are computed.
export class Device extends Handle {
  static release = 'release_device';
  // `name` is the GPU's, or "cpu"; `gpu` tells whether it is a GPU; `reason` why this device was chosen.
  constructor({address, name, gpu, reason}) {
    super(address);
    Object.assign(this, {name, gpu, reason});
  }
  // Done when everything is done that was submitted until now. A loop that reads nothing awaits this now and then, as
  // nothing else holds it back.
  wait() {
    return callLater('wait', this.address);
  }
}

// Loads the module, opens a device and makes it the one on which tensors are made from then on. `device` is "cpu",
// "gpu", a part of the adapter's name, or a GPUDevice of the page's; without it Weft takes a hardware GPU if there is
// one, else the cpu. `wasm` says where weft.wasm is, if not beside this file: a URL, its bytes or a WebAssembly.Module.
export async function open({device = '', wasm: file} = {}) {
  await ready(file);
  wasm.weft.apply = apply;
  defineMethods();
  const opened = typeof device === 'string' ? new Device(await callLater('open', device)) : adopted(device);
  use(opened);
  return opened;
}

function adopted(device) {
  if (!device?.createComputePipeline) fail(`open: device is ${device}, expected a name or a GPUDevice`, 'TypeError');
  return adopt(device, (found) => new Device(found));
}

// Tensors are made on this device from now on.
export const use = (device) => void call('use', device.address);

// ---- Tensors

// Tensors that the innermost tidy() made.
let made;

export class Tensor extends Handle {
  static release = 'release_tensor';
  // Only for what the module returns; tensor() makes one from values.
  constructor({address, dtype, shape}) {
    super(address);
    this.dtype = dtype;
    this.shape = shape;
    made?.add(this);
  }
  get rank() {
    return this.shape.length;
  }
  get size() {
    return this.shape.reduce((a, b) => a * b, 1);
  }
  // The elements, when they are computed: a typed array of their type. Booleans are bytes, and so is what has no array
  // of its own (bf16 and, in older browsers, f16: 16 bits each); c64 is real and imaginary parts in turn.
  async data() {
    const bytes = await callLater('read', this.address);
    return new (ARRAYS[this.dtype] ?? Uint8Array)(bytes);
  }
  // The only element, as a number, a bigint or a boolean.
  async item() {
    if (this.size !== 1) fail(`item: the tensor has ${this.size} elements, expected one`, 'ShapeError');
    const [value] = await (['f16', 'bf16'].includes(this.dtype) ? this.cast('f32') : this).data();
    return this.dtype === 'bool' ? value !== 0 : value;
  }
  // Nested lists of the elements.
  async toArray() {
    const values = await (['f16', 'bf16'].includes(this.dtype) ? this.cast('f32') : this).data();
    const at = (axis, offset, stride) => {
      if (axis === this.rank) return this.dtype === 'bool' ? values[offset] !== 0 : values[offset];
      stride /= this.shape[axis] || 1;
      return Array.from({length: this.shape[axis]}, (_, i) => at(axis + 1, offset + i * stride, stride));
    };
    return at(0, 0, this.size);
  }
  // As the library prints it.
  text() {
    return callLater('text', this.address);
  }
  // On another device, evaluated: a copy, or itself.
  async to(device) {
    return new Tensor(await callLater('to', this.address, device.address));
  }
  // With the last two axes exchanged.
  T() {
    return this.matrixTranspose();
  }
  // The elements at indices, one of each of the first axes: an integer, [begin, end, step], a tensor, null for all,
  // 'new' for a new axis, '...' for as many whole axes as are needed. NumPy's x[0, 1:3, :] is x.at(0, [1, 3], null).
  at(...indices) {
    const tensors = [];
    return operation('at', [this], {indices: numbered(indices, tensors, 1)}, tensors)[0];
  }
  // A copy in which the elements at the indices are the value, a tensor or a number.
  withAt(indices, value) {
    const tensors = [];
    return operation('with_at', [this, value], {indices: numbered(indices, tensors, 2)}, tensors)[0];
  }
  toString() {
    return `Tensor(${this.dtype} [${this.shape.join(', ')}])`;
  }
}

// Indices, with numbers for the tensors among them.
const numbered = (indices, tensors, first) =>
  indices.map((i) => (i instanceof Tensor ? {tensor: first + tensors.push(i) - 1} : i));

const dimensions = (values) =>
  Array.isArray(values) ? [values.length, ...(values.length ? dimensions(values[0]) : [])] : [];
const checkNested = (values, [count, ...rest]) => {
  if (Array.isArray(values) !== (count !== undefined) || (count !== undefined && values.length !== count)) {
    fail('tensor: the lists have different lengths', 'ShapeError');
  }
  if (count !== undefined) for (const v of values) checkNested(v, rest);
};

// A tensor of a copy of the values, which are a typed array, a number, a boolean, or nested lists of them. Its type is
// the array's; numbers are f32, bigints i64, booleans bool, unless `dtype` says another. (A Uint8Array may also be the
// bytes of bool, f16, bf16 and other types.)
export function tensor(values, {shape, dtype} = {}) {
  let array = values, own;
  if (ArrayBuffer.isView(values)) {
    own = dtype in ARRAYS && values instanceof ARRAYS[dtype] ? dtype : typeOf(values);
    if (own === 'u8' && dtype && !shape) fail(`tensor: ${dtype} of a Uint8Array needs a shape`, 'ShapeError');
    if (own === 'u8' && dtype) own = dtype;
    shape ??= [own === 'c64' ? values.length / 2 : values.length];
  } else {
    const nested = dimensions(values);
    checkNested(values, nested);
    shape ??= nested;
    const flat = nested.length ? values.flat(nested.length - 1) : [values];
    const kind = typeof (flat[0] ?? 0);
    const strange = flat.find((v) => typeof v !== kind || !(kind in LISTS));
    if (strange !== undefined) fail(`tensor: ${String(strange)} is a ${typeof strange} among ${kind}s`, 'TypeError');
    // Integers beyond f32's are exact if they are wanted as such.
    own = kind === 'number' && EXACT.includes(dtype) ? dtype : LISTS[kind];
    array = ARRAYS[own].from(/^[iu]64$/.test(own) ? flat.map(BigInt) : flat);
  }
  const made = new Tensor(callJson('tensor', own, JSON.stringify(shape), array));
  if (!dtype || dtype === own) return made;
  try {
    return made.cast(dtype);
  } finally {
    made.dispose();
  }
}
const LISTS = {number: 'f32', bigint: 'i64', boolean: 'bool'};
const EXACT = ['f64', 'i8', 'i16', 'i32', 'i64', 'u8', 'u16', 'u32', 'u64'];
const typeOf = (array) =>
  Object.keys(ARRAYS).find((name) => array instanceof ARRAYS[name]) ??
  fail(`tensor: the values are a ${array.constructor.name}, expected numbers`, 'TypeError');

// Numbers as JSON can say them.
const written = (value) => (Number.isFinite(value) || typeof value === 'boolean' ? value : String(value));

// ---- Tensors from nothing: full(shape, value, dtype), zeros(shape, dtype), arange(start, stop, step, dtype),
// linspace(start, stop, count, dtype), eye(rows, columns, dtype).
const named = (name) => (...given) => functionOf(name)(...given);
export const full = named('full');
export const zeros = (shape, dtype) => full(shape, 0, dtype);
export const ones = (shape, dtype) => full(shape, 1, dtype);
export const arange = named('arange');
export const linspace = named('linspace');
export const eye = named('eye');

// Random numbers: uniform(shape, {low, high, dtype, key}), normal(shape, {mean, deviation, dtype, key}), integers(shape,
// {low, high, dtype, key}), bernoulli(shape, {probability, key}), permutation(n, {key}). Without a key, which key(seed)
// makes and split(key, count) makes more of, they take the next one of a generator that seed() starts.
const withKey = (name, first) => (value, {key = null, ...rest} = {}) =>
  operation('random.' + name, [key], {[first]: value, ...rest})[0];
export const random = {
  seed: (seed) => void call('seed', seed),
  key: (seed) => operation('random.key', [], {seed})[0],
  split: (key, count = 2) => operation('random.split', [key], {count})[0],
  uniform: withKey('uniform', 'shape'),
  normal: withKey('normal', 'shape'),
  integers: withKey('integers', 'shape'),
  bernoulli: withKey('bernoulli', 'shape'),
  permutation: withKey('permutation', 'n'),
};

// Parts one after the other along an axis, or side by side along a new one; einsum('ij,jk->ik', a, b).
export const concat = named('concat');
export const stack = named('stack');
export const where = named('where');
export const einsum = (subscripts, ...operands) => operation('einsum', operands, {subscripts})[0];

// A picture as [height, width, 3] of f32 from 0 to 1 (channels: 4 with alpha): of an ImageBitmap, a canvas, an image, a
// video's frame or ImageData.
export function fromPixels(source, {channels = 3, width, height} = {}) {
  const w = width ?? source.displayWidth ?? source.videoWidth ?? source.naturalWidth ?? source.width;
  const h = height ?? source.displayHeight ?? source.videoHeight ?? source.naturalHeight ?? source.height;
  let pixels = source;
  if (!(globalThis.ImageData && source instanceof ImageData) || w !== source.width || h !== source.height) {
    const context = new OffscreenCanvas(w, h).getContext('2d', {willReadFrequently: true});
    context.drawImage(source, 0, 0, w, h);
    pixels = context.getImageData(0, 0, w, h);
  }
  return tidy(() => {
    const all = tensor(new Uint8Array(pixels.data.buffer, pixels.data.byteOffset, pixels.data.byteLength),
                       {shape: [h, w, 4]});
    return all.at(null, null, [0, channels]).cast('f32').mul(1 / 255);
  });
}

// The tensor's ImageData: [height, width] or [height, width, 1, 3 or 4], of floats from 0 to 1 or of u8.
export async function toPixels(tensor) {
  const [h, w, channels = 1] = tensor.shape;
  if (tensor.rank < 2 || tensor.rank > 3 || ![1, 3, 4].includes(channels)) {
    fail(`toPixels: the tensor is [${tensor.shape}], expected [height, width] or [height, width, 1, 3 or 4]`, 'ShapeError');
  }
  const floats = ['f32', 'f16', 'bf16', 'f64'].includes(tensor.dtype);
  const values = await (floats ? tensor.cast('f32') : tensor).data();
  const scale = floats ? 255 : 1;
  const pixels = new Uint8ClampedArray(4 * w * h);
  for (let i = 0; i < w * h; ++i) {
    for (let c = 0; c < 3; ++c) pixels[4 * i + c] = values[i * channels + (channels === 1 ? 0 : c)] * scale;
    pixels[4 * i + 3] = channels === 4 ? values[i * channels + 3] * scale : 255;
  }
  return new ImageData(pixels, w, h);
}

// Computes these tensors; done when they are.
export const evaluate = (...tensors) => callLater('eval', addresses(tensors.flat()));

// Calls f, and disposes of all tensors that it made but those in what it returns, which may be an object of tensors or
// the promise of one.
export function tidy(f) {
  const outer = made;
  const mine = (made = new Set());
  const clean = (result) => {
    const kept = new Set(leaves(result));
    for (const t of mine) {
      if (!kept.has(t)) t.dispose();
      else outer?.add(t);
    }
    return result;
  };
  try {
    const result = f();
    if (typeof result?.then !== 'function') return clean(result);
    return result.then(clean, (e) => {
      clean();
      throw e;
    });
  } catch (e) {
    clean();
    throw e;
  } finally {
    made = outer;
  }
}

// ---- Operations by name

// The results of an operation of docs/ops.md. Operands are tensors, numbers, or null for one that is left out; `more`
// are those behind them.
export function operation(name, operands, attributes = {}, more = []) {
  const list = [...operands, ...more].map((o) => {
    if (o instanceof Tensor) return o.address;
    if (o === null || o === undefined) return null;
    if (typeof o === 'number' || typeof o === 'boolean') return {number: written(o)};
    return fail(`${name}: an operand is ${o}, expected a tensor or a number`, 'TypeError');
  });
  const given = Object.fromEntries(Object.entries(attributes).filter(([, v]) => v !== undefined && v !== null)
                                         .map(([k, v]) => [snake(k), typeof v === 'number' ? written(v) : v]));
  return callJson('call', name, JSON.stringify(list), JSON.stringify(given)).map((t) => new Tensor(t));
}

const camel = (name) => name.replace(/_([a-z0-9])/g, (_, c) => c.toUpperCase());
const snake = (name) => name.replace(/[A-Z]/g, (c) => '_' + c.toLowerCase());

// Each operation as a function, and as a method of its first operand: operands, then attributes in their order, or an
// object of them. Several results are a list. Those with a list of operands take it first.
export const ops = {};
function functionOf(name) {
  return ops[name] ?? fail('weft is not loaded yet: await open() first');
}

function defineMethods() {
  if (Object.keys(ops).length) return;
  for (const {name, inputs = [], outputs, attributes = []} of callJson('ops')) {
    const repeated = inputs.at(-1)?.[1] === 'repeated';
    const f = (...given) => {
      let operands = [];
      if (repeated) {
        operands = given.slice(0, inputs.length - 1);
        operands.push(...[given[inputs.length - 1] ?? []].flat());
        given = given.slice(inputs.length);
      } else {
        while (operands.length < inputs.length && isOperand(given[0], inputs[operands.length])) {
          operands.push(given.shift());
        }
      }
      const named = {};
      given.forEach((value, i) => {
        if (value !== null && typeof value === 'object' && !Array.isArray(value)) return Object.assign(named, value);
        if (i >= attributes.length) fail(`${name}: too many arguments`, 'TypeError');
        named[attributes[i]] = value;
      });
      const results = operation(name, operands, named);
      return outputs === 1 ? results[0] : results;
    };
    ops[camel(name)] = f;
    if (inputs.length && !repeated && !(camel(name) in Tensor.prototype)) {
      Tensor.prototype[camel(name)] = function(...rest) {
        return f(this, ...rest);
      };
    }
  }
}

// A number may be an operand where one must be.
const isOperand = (value, [, arity]) =>
  value instanceof Tensor || (arity === 'one' ? typeof value === 'number' || typeof value === 'boolean' : value === null);

// ---- Functions of tensors

// The tensors in a value: itself, or those in its lists and objects, in order.
const leaves = (value) =>
  value instanceof Tensor ? [value]
  : Array.isArray(value) ? value.flatMap(leaves)
  : value !== null && typeof value === 'object' ? Object.values(value).flatMap(leaves)
  : [];
// The value with other tensors in it; what is no tensor stays.
const withLeaves = (value, tensors) =>
  value instanceof Tensor ? tensors.shift()
  : Array.isArray(value) ? value.map((v) => withLeaves(v, tensors))
  : value !== null && typeof value === 'object' ?
    Object.fromEntries(Object.entries(value).map(([k, v]) => [k, withLeaves(v, tensors)]))
  : value;

// A value as a text, in which tensors are numbers, and the value of a text.
const TENSOR = '$tensor';
function formOf(value, tensors) {
  return JSON.stringify(value, (_, v) => {
    if (v instanceof Tensor) return {[TENSOR]: tensors.push(v) - 1};
    if (v === undefined || typeof v === 'function' || typeof v === 'bigint' || Number.isNaN(v) || Math.abs(v) === Infinity) {
      fail(`compile: ${String(v)} is an argument or a result, expected tensors, finite numbers and texts`, 'TypeError');
    }
    return v;
  });
}
const valueOf = (form, tensors) =>
  JSON.parse(form, (_, v) => (v !== null && typeof v === 'object' && TENSOR in v ? tensors[v[TENSOR]] : v));
const addresses = (tensors) => JSON.stringify(tensors.map((t) => t.address));
const handles = (list) => list.map((t) => t && new Tensor(t));

// Functions that the module may call, by their numbers: of tensors and a text, to a value.
const functions = new Map();
let lastFunction = 0;
let thrown;

function apply(id, given, text) {
  try {
    const tensors = [];
    const form = formOf(tidy(() => functions.get(id)(handles(given), text)), tensors);
    return {form, tensors: tensors.map((t) => t.address)};
  } catch (e) {
    thrown = {error: e};
    return null;
  }
}

// Calls what may call functions; throws what they threw.
function calling(use) {
  try {
    return use();
  } catch (e) {
    if (!thrown) throw e;
    const {error} = thrown;
    thrown = undefined;
    throw error;
  }
}
function withFunction(f, use) {
  const id = ++lastFunction;
  functions.set(id, f);
  try {
    return calling(() => use(id));
  } finally {
    functions.delete(id);
  }
}

// A function that gives the value of f, which is one number, and the gradient for its first argument: a tensor, or a
// list or object of tensors, and the gradient has its form.
export const valueAndGrad = (f) => (first, ...rest) => {
  const [value, ...gradients] = handles(withFunction(
      (tensors) => f(withLeaves(first, tensors), ...rest),
      (id) => callJson('value_and_grad', id, addresses(leaves(first)))));
  return [value, withLeaves(first, gradients)];
};

// The gradient alone.
export const grad = (f) => (...given) => {
  const [value, gradient] = valueAndGrad(f)(...given);
  value.dispose();
  return gradient;
};

// A function of each entry of the first axis of its tensors, computed for all of them at once.
export const vmap = (f) => (...given) => {
  const {form, tensors} = withFunction((tensors) => f(...withLeaves(given, tensors)),
                                       (id) => callJson('vmap', id, addresses(leaves(given))));
  return valueOf(form, handles(tensors));
};

class CompiledFunction extends Handle {
  static release = 'release_compiled';
}

// A function that is compiled when it is called with tensors of new types: f runs once, to record what it computes;
// calls run what was compiled from that. What is no tensor among the arguments is constant: f runs for each of its
// values. dispose() of the function drops what it compiled.
export function compile(f) {
  const id = ++lastFunction;
  functions.set(id, (tensors, text) => f(...valueOf(text, tensors)));
  const handle = new CompiledFunction(call('compile', id));
  const compiled = (...given) => {
    const operands = [];
    const text = formOf(given, operands);
    const {form, tensors} = calling(() => callJson('call_compiled', handle.address, addresses(operands), text));
    return valueOf(form, handles(tensors));
  };
  compiled.dispose = () => {
    handle.dispose();
    functions.delete(id);
  };
  if (Symbol.dispose) compiled[Symbol.dispose] = compiled.dispose;
  return compiled;
}
