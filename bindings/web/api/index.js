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
import {Handle, adopt, call, callJson, callLater, fail, ready, wasm} from './core.js';

export {WeftError} from './core.js';
export * as models from './models.js';

const ARRAYS = {
  f32: Float32Array, f64: Float64Array, i8: Int8Array, i16: Int16Array, i32: Int32Array, u8: Uint8Array,
  u16: Uint16Array, u32: Uint32Array, i64: BigInt64Array, u64: BigUint64Array, bool: Uint8Array,
  f16: globalThis.Float16Array ?? Uint16Array, bf16: Uint16Array, c64: Float32Array,
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
  const isOne = globalThis.GPUDevice ? device instanceof GPUDevice : device?.createComputePipeline;
  if (!isOne) fail(`open: device is ${shown(device)}, expected a name or a GPUDevice`, 'TypeError');
  return adopt(device, (found) => new Device(found));
}

// What a value is, in messages.
const shown = (value) =>
  value instanceof Handle ? `a ${value.constructor.name}`
  : typeof value?.then === 'function' ? 'a promise, which one must await'
  : typeof value === 'function' ? 'a function'
  : typeof value === 'string' ? JSON.stringify(value)
  : Array.isArray(value) || ArrayBuffer.isView(value) ? `values (tensor() makes a tensor of them)`
  : value !== null && typeof value === 'object' ? 'an object'
  : Object.is(value, -0) ? '-0' : String(value);
const checked = (value, type, where) =>
  value instanceof type ? value : fail(`${where} is ${shown(value)}, expected a ${type.name}`, 'TypeError');

// Tensors are made on this device from now on.
export const use = (device) => void call('use', checked(device, Device, 'use: the device').address);

// ---- Tensors

// The types in which numbers of types without arrays are read.
const AS_NUMBERS = {f16: 'f32', bf16: 'f32', f8e4m3: 'f32', f8e5m2: 'f32', i4: 'i32', i2: 'i32', u4: 'u32', u2: 'u32'};

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
  // The only element, as a number, a bigint, a boolean, or of c64 a list of two numbers.
  async item() {
    if (this.size !== 1) fail(`item: the tensor has ${this.size} elements, expected one`, 'ShapeError');
    let value = await this.toArray();
    for (let axis = 0; axis < this.rank; ++axis) [value] = value;
    return value;
  }
  // Nested lists of the elements, as item() gives them.
  async toArray() {
    const read = await tidy(() => (AS_NUMBERS[this.dtype] ? this.cast(AS_NUMBERS[this.dtype]) : this).data());
    const value = {bool: (i) => read[i] !== 0, c64: (i) => [read[2 * i], read[2 * i + 1]]}[this.dtype] ?? ((i) => read[i]);
    const at = (axis, offset, stride) => {
      if (axis === this.rank) return value(offset);
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
    return new Tensor(await callLater('to', this.address, checked(device, Device, 'to: the device').address));
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
    if (!Array.isArray(indices)) fail(`withAt: the indices are ${shown(indices)}, expected a list`, 'TypeError');
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

// (Array.flat() leaves holes out.)
const flattened = (values, depth) =>
  depth === 0 ? [values] : depth === 1 ? Array.from(values) : Array.from(values).flatMap((v) => flattened(v, depth - 1));

// A tensor of a copy of the values, which are a typed array, a number, a boolean, or nested lists of them. Its type is
// the array's; numbers are f32, bigints i64, booleans bool, unless `dtype` says another. (A Uint8Array may also be the
// bytes of bool, f16, bf16 and other types.)
export function tensor(values, {shape, dtype} = {}) {
  let array = values, own;
  if (shape !== undefined && !Array.isArray(shape)) fail(`tensor: shape is ${shown(shape)}, expected a list`, 'TypeError');
  if (ArrayBuffer.isView(values)) {
    const bits = values instanceof Uint16Array && ['f16', 'bf16'].includes(dtype);
    own = bits || (dtype in ARRAYS && values instanceof ARRAYS[dtype]) ? dtype : typeOf(values);
    if (own === 'u8' && dtype && !shape) fail(`tensor: ${dtype} of a Uint8Array needs a shape`, 'ShapeError');
    if (own === 'u8' && dtype) own = dtype;
    shape ??= [own === 'c64' ? values.length / 2 : values.length];
  } else {
    const nested = dimensions(values);
    checkNested(values, nested);
    shape ??= nested;
    const flat = flattened(values, nested.length);
    const kind = flat.length ? typeof flat[0] : 'number';
    const strange = flat.findIndex((v) => typeof v !== kind || !(kind in LISTS));
    if (strange >= 0) fail(`tensor: a value is ${shown(flat[strange])}, expected ${kind in LISTS ? kind : 'number'}s`, 'TypeError');
    // Integers beyond f32's are exact if they are wanted as such; fractions are cut off, as cast() does.
    own = kind === 'number' && EXACT.includes(dtype) ? dtype : LISTS[kind];
    const integers = /^[iu]\d/.test(own) && kind === 'number';
    const large = /64$/.test(own) && own !== 'f64';
    if (integers && !flat.every(Number.isFinite)) fail(`tensor: a value is not finite, expected ${own}`, 'TypeError');
    array = ARRAYS[own].from(flat, large ? (v) => BigInt(kind === 'number' ? Math.trunc(v) : v) : undefined);
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

// A value as JSON can say it. What that has no words for is {"number": …}: infinities, NaN, -0 and integers past 2^53.
function plain(value, where) {
  if (value === null || ['boolean', 'string'].includes(typeof value)) return value;
  if (typeof value === 'bigint') return {number: String(value)};
  if (typeof value === 'number') {
    if (Number.isFinite(value) && !Object.is(value, -0) && (Number.isSafeInteger(value) || !Number.isInteger(value))) return value;
    return {number: Object.is(value, -0) ? '-0' : Number.isInteger(value) ? String(BigInt(value)) : String(value)};
  }
  if (Array.isArray(value)) return value.map((v) => plain(v, where));
  if (value?.tensor !== undefined && typeof value.tensor === 'number') return value;  // of numbered()
  return fail(`${where} is ${shown(value)}, expected numbers, booleans or texts`, 'TypeError');
}

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
  seed: (seed) => void call('seed', Number.isInteger(seed) ? seed : fail(`seed: ${shown(seed)}, expected an integer`)),
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
    if (!['number', 'boolean', 'bigint'].includes(typeof o)) {
      fail(`${camel(name)}: an operand is ${shown(o)}, expected a tensor or a number`, 'TypeError');
    }
    const value = plain(o);
    return {number: value?.number ?? value};
  });
  const given = {}, known = table.get(name)?.attributes;
  for (const [key, value] of Object.entries(attributes)) {
    if (known && !known.includes(snake(key))) {
      fail(`${camel(name)}: it has no attribute '${key}'; it takes ${known.map(camel).join(', ') || 'none'}`);
    }
    if (value !== undefined && value !== null) given[snake(key)] = plain(value, `${camel(name)}: ${key}`);
  }
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

// The operations of the module, by their names there.
const table = new Map();

function defineMethods() {
  if (table.size) return;
  for (const op of callJson('ops')) {
    const {name, inputs, outputs, attributes} = op, js = camel(name);
    table.set(name, op);
    if (name.includes('.')) continue;  // of `random`
    const repeated = inputs.at(-1)?.[1] === 'repeated';
    const f = (...given) => {
      const operands = [];
      for (const [operand, arity] of inputs) {
        const value = given[0];
        if (arity === 'repeated') {
          if (!Array.isArray(value)) fail(`${js}: ${operand} is ${shown(value)}, expected a list of tensors`, 'TypeError');
          operands.push(...given.shift());
        } else if (value instanceof Tensor || (arity === 'optional' && value === null)) {
          operands.push(given.shift());
        } else if (arity === 'one') {
          const isNumber = ['number', 'boolean', 'bigint'].includes(typeof value);
          if (!isNumber) fail(`${js}: ${operand} is ${shown(value)}, expected a tensor or a number`, 'TypeError');
          operands.push(given.shift());
        }
      }
      const named = {};
      given.forEach((value, i) => {
        if (value instanceof Handle) fail(`${js}: ${shown(value)} more than it has operands (${inputs.map(([n]) => n).join(', ')})`);
        const isObject = value !== null && typeof value === 'object' && !Array.isArray(value);
        if (isObject && Object.getPrototypeOf(value) === Object.prototype) return Object.assign(named, value);
        if (i >= attributes.length) {
          fail(`${js}: ${shown(value)} is an argument too many; it takes ${[...inputs.map(([n]) => n), ...attributes.map(camel)].join(', ')}`);
        }
        named[camel(attributes[i])] = value;
      });
      const results = operation(name, operands, named);
      return outputs === 1 ? results[0] : results;
    };
    ops[js] = f;
    if (inputs.length && !repeated && !(js in Tensor.prototype)) {
      Tensor.prototype[js] = function(...rest) {
        return f(this, ...rest);
      };
    }
  }
}

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
function formOf(value, tensors, what) {
  if (typeof value?.then === 'function') fail(`${what} is a promise: the function must not be asynchronous`, 'TypeError');
  return JSON.stringify(value, function(key, v) {
    v = this[key];  // before toJSON()
    if (v instanceof Tensor) return {[TENSOR]: tensors.push(v) - 1};
    if (v === null || ['string', 'boolean'].includes(typeof v) || (Number.isFinite(v) && !Object.is(v, -0))) return v;
    const isPlain = Array.isArray(v) || (typeof v === 'object' && Object.getPrototypeOf(v) === Object.prototype);
    if (!isPlain || TENSOR in v) {
      fail(`${what} has ${shown(v)}, expected tensors, finite numbers, texts, and lists and objects of them`, 'TypeError');
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
    const {f, name} = functions.get(id);
    const form = formOf(tidy(() => f(handles(given), text)), tensors, `${name}: the function's result`);
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
function withFunction(name, f, use) {
  const id = ++lastFunction;
  functions.set(id, {f, name});
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
      'grad', (tensors) => f(withLeaves(first, tensors), ...rest),
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
  const {form, tensors} = withFunction('vmap', (tensors) => f(...withLeaves(given, tensors)),
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
  functions.set(id, {f: (tensors, text) => f(...valueOf(text, tensors)), name: 'compile'});
  const handle = new CompiledFunction(call('compile', id));
  const compiled = (...given) => {
    const operands = [];
    const text = formOf(given, operands, 'compile: the arguments');
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
