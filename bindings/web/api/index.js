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
import {
  Handle, addressOf, adopt, arrayName, call, callJson, callLater, checkedFunction, fail, isGpuDevice, isPlain,
  optionsOf, ready, shown, wasm,
} from './core.js';

export {WeftError} from './core.js';
export * as models from './models.js';
export * as onnx from './onnx.js';

const ARRAYS = {
  f32: Float32Array, f64: Float64Array, i8: Int8Array, i16: Int16Array, i32: Int32Array, u8: Uint8Array,
  u16: Uint16Array, u32: Uint32Array, i64: BigInt64Array, u64: BigUint64Array, bool: Uint8Array,
  f16: globalThis.Float16Array ?? Uint16Array, bf16: Uint16Array, c64: Float32Array,
};
// The types of arrays' elements.
const TYPES = {
  Float32Array: 'f32', Float64Array: 'f64', Int8Array: 'i8', Int16Array: 'i16', Int32Array: 'i32', Uint8Array: 'u8',
  Uint8ClampedArray: 'u8', Uint16Array: 'u16', Uint32Array: 'u32', BigInt64Array: 'i64', BigUint64Array: 'u64',
  Float16Array: 'f16',
};
// What an integer type holds; undefined for other types.
function rangeOf(dtype) {
  const [, sign, bits] = /^([iu])(\d+)$/.exec(dtype) ?? [];
  if (!sign) return undefined;
  const [low, high] = sign === 'u' ? [0n, 2n ** BigInt(bits)] : [-(2n ** BigInt(bits - 1)), 2n ** BigInt(bits - 1)];
  return {low, high: high - 1n};
}

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
  async wait() {
    return callLater('wait', this.addressFor('wait: the device'));
  }
}

// Loads the module, opens a device and makes it the one on which tensors are made from then on. `device` is "cpu",
// "gpu", a part of the adapter's name, or a GPUDevice of the page's; without it Weft takes a hardware GPU if there is
// one, else the cpu. `wasm` says where weft.wasm is, if not beside this file: a URL, its bytes or a WebAssembly.Module;
// it is loaded once. `progress({loaded, total})` is called as it comes over the network; total is undefined where the
// server does not say it. Rejects with IoError (weft.wasm cannot be fetched), FormatError (it is another file),
// Unsupported (what WebAssembly lacks here, or the page's policy forbids), OutOfMemory, DeviceError and NoDevice; one may
// try again.
export async function open(options) {
  const {device = '', wasm: file, progress} = optionsOf(options, 'open', ['device', 'wasm', 'progress']);
  await ready(file, progress);
  wasm.weft.apply = apply;
  defineMethods();
  const opened = typeof device === 'string' ? new Device(await callLater('open', device)) : adopted(device);
  use(opened);
  return opened;
}

function adopted(device) {
  if (!isGpuDevice(device)) fail(`open: device is ${shown(device)}, expected a name or a GPUDevice`, 'TypeError');
  return adopt(device, (found) => new Device(found));
}

// Tensors are made on this device from now on.
export const use = (device) => void call('use', addressOf(device, Device, 'use: the device'));

// What the program holds: `numTensors` that are not disposed of, nor collected by the browser yet, and `numBytes`, those of
// their elements (of views too, and of what is not computed yet); `moduleBytes` of the module's memory, where tensors of
// the cpu are; and of a GPU, if the device in use is one, the bytes of its buffers: `gpu.live`, the most there were until
// now `gpu.peak`, and `gpu.cached`, which the next tensors take.
export const memory = () => ({...callJson('memory'), moduleBytes: wasm.HEAPU8.length});

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
    const bytes = await callLater('read', this.addressFor('data: the tensor'));
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
    const read = await (AS_NUMBERS[this.dtype] ? dataAs(this, AS_NUMBERS[this.dtype]) : this.data());
    const value = {bool: (i) => read[i] !== 0, c64: (i) => [read[2 * i], read[2 * i + 1]]}[this.dtype] ?? ((i) => read[i]);
    const at = (axis, offset, stride) => {
      if (axis === this.rank) return value(offset);
      stride /= this.shape[axis] || 1;
      return Array.from({length: this.shape[axis]}, (_, i) => at(axis + 1, offset + i * stride, stride));
    };
    return at(0, 0, this.size);
  }
  // As the library prints it.
  async text() {
    return callLater('text', this.addressFor('text: the tensor'));
  }
  // On another device, evaluated: a copy, or itself.
  async to(device) {
    const [from, to] = [this.addressFor('to: the tensor'), addressOf(device, Device, 'to: the device')];
    return new Tensor(await callLater('to', from, to));
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

// The elements as those of another type.
async function dataAs(tensor, dtype) {
  const cast = tensor.cast(dtype);
  try {
    return await cast.data();
  } finally {
    cast.dispose();
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

// A tensor of a copy of the values, which are a typed array, a number, a boolean, a bigint, or nested lists of them. Its
// type is the array's; numbers are f32, bigints i64, booleans bool, unless `dtype` says another. Lists of c64 have pairs
// of numbers inside. Of numbers for a type of integers fractions are cut off, and what it does not hold throws
// InvalidArgument. (A Uint8Array may also be the bytes of bool, f16, bf16 and other types, a Uint16Array the bits of f16
// and bf16, a Float32Array the pairs of c64.)
export function tensor(values, options) {
  const {shape, dtype} = optionsOf(options, 'tensor', ['shape', 'dtype']);
  if (shape !== undefined && !Array.isArray(shape)) fail(`tensor: shape is ${shown(shape)}, expected a list`, 'TypeError');
  const given = ArrayBuffer.isView(values) ? ofArray(values, shape, dtype) : ofLists(values, dtype);
  const made = new Tensor(callJson('tensor', given.own, JSON.stringify(shape ?? given.shape), given.array));
  if (!dtype || dtype === given.own) return made;
  try {
    return made.cast(dtype);
  } finally {
    made.dispose();
  }
}

// An array, the type that it is of, and its shape.
function ofArray(array, shape, dtype) {
  const name = arrayName(array) ?? 'DataView';
  let own = TYPES[name] ?? fail(`tensor: the values are a ${name}, expected numbers`, 'TypeError');
  const bytes = name === 'Uint8Array' && dtype && dtype !== 'u8';
  if (bytes && dtype !== 'bool' && !shape) fail(`tensor: ${dtype} of a Uint8Array needs a shape`, 'ShapeError');
  if (bytes || (own === 'u16' && ['f16', 'bf16'].includes(dtype)) || (own === 'f32' && dtype === 'c64')) own = dtype;
  if (own === 'c64' && array.length % 2) fail(`tensor: c64 of ${array.length} numbers, expected pairs`, 'ShapeError');
  return {own, array, shape: [own === 'c64' ? array.length / 2 : array.length]};
}

// The same of nested lists.
function ofLists(values, dtype) {
  const nested = dimensions(values);
  checkNested(values, nested);
  const flat = flattened(values, nested.length);
  const kind = flat.length ? typeof flat[0] : 'number';
  const where = (i) => (nested.length ? `element [${indexOf(i, nested)}]` : 'the value');
  const strange = flat.findIndex((v) => typeof v !== kind || !(kind in LISTS));
  if (strange >= 0) {
    fail(`tensor: ${where(strange)} is ${shown(flat[strange])}, expected ${kind in LISTS ? kind : 'number'}s`, 'TypeError');
  }
  const wanted = dtype ?? LISTS[kind], range = kind !== 'boolean' && rangeOf(wanted);
  if (range) {
    const whole = flat.map((v, i) => {
      if (kind === 'number' && !Number.isFinite(v)) fail(`tensor: ${where(i)} is ${v}, which is not finite, expected ${wanted}`, 'TypeError');
      const integer = kind === 'number' ? Math.trunc(v) : v;
      if (!(integer >= range.low && integer <= range.high)) {
        fail(`tensor: ${where(i)} is ${v}, expected ${wanted}, which goes from ${range.low} to ${range.high}`);
      }
      return integer;
    });
    // Those of less than a byte are cast.
    const own = wanted in ARRAYS ? wanted : 'i32';
    return {own, array: ARRAYS[own].from(whole, /64$/.test(own) ? BigInt : Number), shape: nested};
  }
  if (wanted === 'c64') {
    const last = nested.at(-1);
    if (nested.length && last !== 2 && flat.length) {
      fail(`tensor: c64 of lists of ${last} at the innermost, expected pairs [real, imaginary]; ` +
               "tensor(values).cast('c64') takes real numbers", 'ShapeError');
    }
    const numbers = nested.length ? flat : [flat[0], 0];
    return {own: 'c64', array: Float32Array.from(numbers, Number), shape: last === 2 ? nested.slice(0, -1) : nested};
  }
  // In the type itself where values would lose in f32 or i64.
  const own = wanted === 'bool' || wanted === 'f64' ? wanted
      : kind === 'bigint' && !flat.every((v) => BigInt.asIntN(64, v) === v) ? 'f32' : LISTS[kind];
  const large = own === 'i64' ? undefined : own === 'bool' ? (v) => v != 0 : Number;
  return {own, array: ARRAYS[own].from(flat, large), shape: nested};
}
const LISTS = {number: 'f32', bigint: 'i64', boolean: 'bool'};

// The indices of element i of that shape, in row-major order.
function indexOf(i, shape) {
  const indices = [];
  for (let axis = shape.length - 1; axis >= 0; --axis) {
    indices.unshift(i % shape[axis]);
    i = Math.floor(i / shape[axis]);
  }
  return indices.join(', ');
}

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
const withKey = (name, first) => (value, options) => {
  const {key = null, ...rest} = optionsOf(options, `random.${name}`);
  return operation('random.' + name, [key], {[first]: value, ...rest})[0];
};
export const random = {
  seed: (seed) => void call('seed', JSON.stringify(plain(seed, 'random.seed: the seed'))),
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

// A picture as [height, width, 3] of f32 from 0 to 1: of an ImageBitmap, a canvas, an image, a video's frame, or ImageData
// (also what has its `data` of bytes, `width` and `height`). `channels`: how many of red, green, blue and alpha; `width`
// and `height`: to which it is scaled.
export function fromPixels(source, options) {
  const {channels = 3, width, height} = optionsOf(options, 'fromPixels', ['channels', 'width', 'height']);
  if (![1, 2, 3, 4].includes(channels)) fail(`fromPixels: channels is ${shown(channels)}, expected 1 to 4`);
  if (source === null || !['object', 'function'].includes(typeof source) || source instanceof Tensor) {
    fail(`fromPixels: the source is ${shown(source)}, expected a picture`, 'TypeError');
  }
  // Of images, videos and their frames it is not what a page shows them with.
  const own = {
    width: source.displayWidth ?? source.videoWidth ?? source.naturalWidth ?? source.width,
    height: source.displayHeight ?? source.videoHeight ?? source.naturalHeight ?? source.height,
  };
  if (!(own.width > 0 && own.height > 0)) {
    fail(`fromPixels: the source is ${shown(own.width)} x ${shown(own.height)} pixels, expected a picture that is loaded`);
  }
  const size = {width: width ?? own.width, height: height ?? own.height};
  for (const [name, value] of Object.entries(size)) {
    if (!(Number.isInteger(value) && value > 0)) fail(`fromPixels: ${name} is ${shown(value)}, expected an integer from 1 on`);
  }
  const bytes = ['Uint8ClampedArray', 'Uint8Array'].includes(arrayName(source.data)) &&
      source.data.length === 4 * own.width * own.height;
  const same = size.width === own.width && size.height === own.height;
  const {data} = bytes && same ? source : drawn(source, bytes, own, size);
  return tidy(() => {
    const all = tensor(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), {shape: [size.height, size.width, 4]});
    return all.at(null, null, [0, channels]).cast('f32').mul(1 / 255);
  });
}

// The pixels of a picture in that size, by a canvas.
function drawn(source, isBytes, own, {width, height}) {
  const newContext = (w, h) => {
    const Canvas = globalThis.OffscreenCanvas ?? fail('fromPixels: there is no canvas here, expected pixels in their own size', 'Unsupported');
    return new Canvas(w, h).getContext('2d', {willReadFrequently: true}) ??
        fail(`fromPixels: there is no canvas of ${w} x ${h}`, 'OutOfMemory');
  };
  let picture = source;
  if (isBytes) {
    const context = newContext(own.width, own.height);
    context.putImageData(new ImageData(Uint8ClampedArray.from(source.data), own.width, own.height), 0, 0);
    picture = context.canvas;
  }
  const context = newContext(width, height);
  try {
    context.drawImage(picture, 0, 0, width, height);
  } catch (e) {
    if (!(e instanceof TypeError)) throw e;
    fail(`fromPixels: the source is ${shown(source)}, expected a picture: ${e.message}`, 'TypeError');
  }
  return context.getImageData(0, 0, width, height);
}

// The tensor's ImageData: [height, width] or [height, width, 1, 3 or 4], of floats from 0 to 1, booleans, or integers from
// 0 to 255; what is outside is cut off.
export async function toPixels(picture) {
  addressOf(picture, Tensor, 'toPixels: the tensor');
  const {shape, dtype, rank} = picture;
  const [h, w, channels = 1] = shape;
  if (rank < 2 || rank > 3 || ![1, 3, 4].includes(channels) || !(h && w)) {
    fail(`toPixels: the tensor is [${shape}], expected [height, width] or [height, width, 1, 3 or 4]`, 'ShapeError');
  }
  if (dtype === 'c64') fail('toPixels: the tensor is c64, expected floats, integers or bool', 'TypeError');
  if (!globalThis.ImageData) fail('toPixels: there is no ImageData here', 'Unsupported');
  const values = await (dtype === 'u8' ? picture.data() : dataAs(picture, 'f32'));
  const scale = rangeOf(dtype) ? 1 : 255;
  const pixels = new Uint8ClampedArray(4 * w * h);
  for (let i = 0; i < w * h; ++i) {
    for (let c = 0; c < 3; ++c) pixels[4 * i + c] = values[i * channels + (channels === 1 ? 0 : c)] * scale;
    pixels[4 * i + 3] = channels === 4 ? values[i * channels + 3] * scale : 255;
  }
  return new ImageData(pixels, w, h);
}

// Computes these tensors; done when they are.
export const evaluate = async (...tensors) => callLater('eval', addresses(tensors.flat(), 'evaluate: a tensor'));

// Calls f, and disposes of all tensors that it made but those in what it returns, which may be an object of tensors or
// the promise of one.
export function tidy(f) {
  checkedFunction(f, 'tidy');
  const outer = made;
  const mine = (made = new Set());
  const clean = (result) => {
    const kept = new Set();
    visit(result, (t) => kept.add(t));
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
  const op = table.get(name), inputs = op?.inputs ?? [];
  if (!Array.isArray(operands)) fail(`${camel(name)}: the operands are ${shown(operands)}, expected a list`, 'TypeError');
  const list = [...operands, ...more].map((o, i) => {
    if (o === null || o === undefined) return null;
    const where = () => `${camel(name)}: ${(inputs[i] ?? inputs.at(-1))?.[0] ?? 'an operand'}`;
    if (o instanceof Tensor) return o.disposed ? o.addressFor(where()) : o.address;
    if (!['number', 'boolean', 'bigint'].includes(typeof o)) {
      fail(`${where()} is ${shown(o)}, expected a tensor or a number`, 'TypeError');
    }
    const value = plain(o);
    return {number: value?.number ?? value};
  });
  const given = {}, known = op?.attributes.map((a) => a.name);
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
        if (isPlain(value)) return Object.assign(named, value);
        if (i >= attributes.length) {
          const takes = [...inputs.map(([n]) => n), ...attributes.map((a) => camel(a.name))];
          fail(`${js}: ${shown(value)} is an argument too many; it takes ${takes.join(', ')}`);
        }
        named[camel(attributes[i].name)] = value;
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

// Calls `take` with the tensors in a value: itself, or those in its lists and objects, in order. What stands in it twice
// counts once, but where `again` is true, as the leaves of a tree do.
function visit(value, take, again = false, seen = new Set()) {
  if (value === null || typeof value !== 'object' || ArrayBuffer.isView(value)) return;
  if (value instanceof Tensor) return take(value);
  if (seen.has(value)) return again ? fail('an argument contains itself', 'TypeError') : undefined;
  seen.add(value);
  for (const v of Array.isArray(value) ? value : Object.values(value)) visit(v, take, again, seen);
  if (again) seen.delete(value);
}
function leaves(value) {
  const list = [];
  visit(value, (t) => list.push(t), true);
  return list;
}
// The value with other tensors in it, of the same classes; what has no tensor in it stays.
function withLeaves(value, tensors) {
  if (value instanceof Tensor) return tensors.shift();
  if (!leaves(value).length) return value;
  if (Array.isArray(value)) return value.map((v) => withLeaves(v, tensors));
  const copy = Object.create(Object.getPrototypeOf(value));
  for (const [key, v] of Object.entries(value)) {
    Object.defineProperty(copy, key, {value: withLeaves(v, tensors), writable: true, enumerable: true, configurable: true});
  }
  return copy;
}

// A value as a text, in which tensors are numbers, and the value of a text.
const TENSOR = '$tensor';
function formOf(value, tensors, what) {
  if (typeof value?.then === 'function') fail(`${what} is a promise: the function must not be asynchronous`, 'TypeError');
  return JSON.stringify(value, function(key, v) {
    v = this[key];  // before toJSON()
    if (v instanceof Tensor) return {[TENSOR]: tensors.push(v) - 1};
    if (v === null || ['string', 'boolean'].includes(typeof v) || (Number.isFinite(v) && !Object.is(v, -0))) return v;
    if (!(Array.isArray(v) || isPlain(v)) || TENSOR in v) {
      fail(`${what} has ${shown(v)}, expected tensors, finite numbers, texts, and lists and objects of them`, 'TypeError');
    }
    return v;
  });
}
const valueOf = (form, tensors) =>
  JSON.parse(form, (_, v) => (v !== null && typeof v === 'object' && TENSOR in v ? tensors[v[TENSOR]] : v));
const addresses = (tensors, where) => JSON.stringify(tensors.map((t) => addressOf(t, Tensor, where)));
const handles = (list) => list.map((t) => t && new Tensor(t));

// Functions that the module may call, by their numbers: of tensors and a text, to a value.
const functions = new Map();
let lastFunction = 0;
// What a function threw, and results that the module has copied when the call ends.
let thrown, results;

// All tensors that the function made are released, its results when the call ends; those that it found elsewhere are not
// its own.
function apply(id, given, text) {
  const outer = made, mine = (made = new Set());
  try {
    const {f, name} = functions.get(id);
    const tensors = [], what = `${name}: the function's result`;
    const form = formOf(f(handles(given), text), tensors, what);
    const list = tensors.map((t) => t.addressFor(what));
    for (const t of tensors) if (mine.delete(t)) results.push(t);
    return {form, tensors: list};
  } catch (e) {
    thrown = {error: e};
    return null;
  } finally {
    made = outer;
    for (const t of mine) t.dispose();
  }
}

// Calls what may call functions; throws what they threw.
function calling(use) {
  const outer = results, mine = (results = []);
  try {
    return use();
  } catch (e) {
    if (e.name !== 'ThrownByFunction') throw e;
    throw thrown ? thrown.error : e;
  } finally {
    thrown = undefined;
    results = outer;
    for (const t of mine) t.dispose();
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
// list or object of tensors, and the gradient has its form. An object of a class is one of that class for f, and so is
// its gradient, with the same properties (but not what is private in the class).
export const valueAndGrad = (f) => differentiated(f, 'valueAndGrad');
function differentiated(f, name) {
  checkedFunction(f, name);
  return (first, ...rest) => {
    const variables = addresses(leaves(first), `${name}: the first argument`);
    const [value, ...gradients] = handles(withFunction(
        name, (tensors) => f(withLeaves(first, tensors), ...rest), (id) => callJson('value_and_grad', id, variables)));
    return [value, withLeaves(first, gradients)];
  };
}

// The gradient alone.
export function grad(f) {
  const both = differentiated(f, 'grad');
  return (...given) => {
    const [value, gradient] = both(...given);
    value.dispose();
    return gradient;
  };
}

// A function of each entry of the first axis of its tensors, computed for all of them at once.
export function vmap(f) {
  checkedFunction(f, 'vmap');
  return (...given) => {
    const batches = addresses(leaves(given), 'vmap: an argument');
    const {form, tensors} = withFunction('vmap', (tensors) => f(...withLeaves(given, tensors)),
                                         (id) => callJson('vmap', id, batches));
    return valueOf(form, handles(tensors));
  };
}

class CompiledFunction extends Handle {
  static release = 'release_compiled';
  toString() {
    return 'a compiled function';
  }
}

// A function that is compiled when it is called with tensors of new types: f runs once, to record what it computes;
// calls run what was compiled from that. What is no tensor among the arguments is constant: f runs for each of its
// values. dispose() of the function drops what it compiled.
export function compile(f) {
  checkedFunction(f, 'compile');
  const id = ++lastFunction;
  functions.set(id, {f: (tensors, text) => f(...valueOf(text, tensors)), name: 'compile'});
  const handle = new CompiledFunction(call('compile', id));
  const compiled = (...given) => {
    const operands = [];
    const text = formOf(given, operands, 'compile: the arguments');
    const address = handle.addressFor('compile: the function'), inputs = addresses(operands, 'compile: an argument');
    const {form, tensors} = calling(() => callJson('call_compiled', address, inputs, text));
    return valueOf(form, handles(tensors));
  };
  compiled.dispose = () => {
    handle.dispose();
    functions.delete(id);
  };
  if (Symbol.dispose) compiled[Symbol.dispose] = compiled.dispose;
  return compiled;
}
