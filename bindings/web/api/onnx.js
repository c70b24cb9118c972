// Models in ONNX's format.
//
//   const model = await weft.onnx.load('https://example.org/resnet50.onnx');
//   const {scores} = await model.run({image: weft.fromPixels(picture, {width: 224, height: 224}).permute([2, 0, 1]).expandDims(0)});
//   console.log(await scores.data());
//
// Weights go to the device as they come: of a GPU's large ones no more than a piece is in the module's memory.
import {
  Handle, addressOf, arrayName, call, callJson, callLater, fail, isArrayBuffer, isNode, isPlain, isResponse, isShared, isUrl,
  nodes, optionsOf, shown,
} from './core.js';
import {GivenFiles, PIECE, Site, UNDER_WAY, openCache, reader} from './files.js';
import {Device, Tensor, tensor} from './index.js';

// The name of the cache that keeps files: caches.delete(weft.onnx.CACHE) forgets them.
export const CACHE = 'weft-onnx';

// ---- Loading

class Loader extends Handle {
  static release = 'release_onnx_loader';
}

// The model at an address, of which other files that it has weights in are found beside it; or of a Blob or File, a buffer,
// a stream or a Response, with `files` for those others: an object of such by their names, or a list of Files. In Node
// also the path of a file. `device`: not that of open(). `precision`: "strict", "f16" or "automatic", which store weights
// and values as f16. `forms`: how many combinations of shapes stay compiled, by default 32. `fallback: 'cpu'` computes
// there what a GPU cannot, as float64 (Model.onFallback lists it); else it is an error. `progress({file, loaded,
// total})` is called as bytes come; total is undefined where the server does not say it. `cache: false` keeps nothing
// (see CACHE). `signal` aborts. Throws WeftError: IoError (a file is missing or cannot be fetched), FormatError (it is no
// model, or malformed), Unsupported (operators or types that Weft lacks, which the message lists), OutOfMemory, DeviceLost.
export async function load(source, options) {
  const {device, precision, forms, fallback, progress, cache = true, files, signal} = optionsOf(
      options, 'onnx.load', ['device', 'precision', 'forms', 'fallback', 'progress', 'cache', 'files', 'signal']);
  if (device !== undefined) addressOf(device, Device, 'onnx.load: device');
  if (precision !== undefined && typeof precision !== 'string') {
    fail(`onnx.load: precision is ${shown(precision)}, expected a text`, 'TypeError');
  }
  if (forms !== undefined && !(Number.isInteger(forms) && forms > 0)) {
    fail(`onnx.load: forms is ${shown(forms)}, expected an integer from 1 on`);
  }
  if (fallback !== undefined && fallback !== 'cpu') fail(`onnx.load: fallback is ${shown(fallback)}, expected 'cpu'`);
  const {place, name, response} = await opened(source, {cache, files, signal});
  try {
    const on = device?.addressFor('onnx.load: device') ?? 0;
    const model = await loadFrom({place, name, response, progress, signal}, on, {precision, forms, fallback});
    await place.loaded();
    return model;
  } catch (error) {
    await response?.body?.cancel().catch(() => {});
    await place.failed(error);
    throw error;
  }
}

// Where the model is: {place, name, response}; without a response there is no such file.
async function opened(source, {cache, files, signal}) {
  const isAddress = typeof source === 'string' || isUrl(source);
  // Addresses without folders.
  const alone = isAddress && /^\s*(blob|data):/i.test(String(source));
  if (isAddress && !alone) {
    if (files !== undefined) fail('onnx.load: files are for a model that is given; those of an address are beside it');
    const place = new Site(source, {
      where: 'onnx.load', of: 'a model', signal, isFile: true, cache: cache ? await openCache(CACHE) : undefined,
      base: isNode() ? (await nodes('node:url')).pathToFileURL(`${process.cwd()}/`).href : undefined,
    });
    return {place, name: place.name, response: await place.get(place.name)};
  }
  const place = new GivenFiles(files ?? {}, 'onnx.load'), name = typeof source?.name === 'string' ? source.name : 'model.onnx';
  if (alone) {
    const response = await fetch(source, {signal}).catch((e) => {
      if (signal?.aborted) throw e;
      fail(`onnx.load: ${String(source).slice(0, 100)}: ${e.cause?.message || e.message}`, 'IoError');
    });
    return {place, name, response};
  }
  if (isResponse(source)) {
    if (!source.ok) fail(`${source.url || 'onnx.load'}: ${source.status} ${source.statusText}`.trim(), 'IoError');
    return {place, name, response: source};
  }
  const isBytes = ArrayBuffer.isView(source) || isArrayBuffer(source) || isShared(source);
  const isStream = typeof source?.stream === 'function' || typeof source?.getReader === 'function';
  if (!isBytes && !isStream) {
    fail(`onnx.load: the model is ${shown(source)}, expected an address, a Blob, bytes, a stream or a Response`, 'TypeError');
  }
  // (A Response takes no shared memory.)
  const body = isShared(source?.buffer ?? source) ? new Uint8Array(source.buffer ?? source, source.byteOffset ?? 0, source.byteLength).slice() : source;
  return {place, name, response: new Response(body, {headers: isBytes ? {'content-length': source.byteLength} : {}})};
}

async function loadFrom({place, name, response, progress, signal}, device, options) {
  if (!response) fail(`${place.address(name)}: no such file`, 'IoError');
  const read = reader(place, {progress, signal});
  const loader = new Loader(call('onnx_loader', device, JSON.stringify({source: place.address(name), ...options})));
  let under_way = 0;
  // Hands the bytes of a file over.
  const readAll = async (file, from, hand) => {
    if (!from.body) return;
    await read(file, from, async (chunk) => {
      for (let at = 0; at < chunk.byteLength; at += PIECE) hand(chunk.subarray(at, at + PIECE));
      under_way += chunk.byteLength;
      if (under_way >= UNDER_WAY) {
        await callLater('onnx_wait', loader.address);
        under_way = 0;
      }
    });
  };
  try {
    await readAll(name, response, (piece) => call('onnx_take', loader.address, piece));
    for (const file of callJson('onnx_files', loader.address)) {
      const path = file.replace(/^(\.\/+)+/, '');
      const at = place instanceof Site ? path.split('/').map(encodeURIComponent).join('/') : path;
      const other = await place.get(at);
      if (!other) fail(`${place.address(at)}: no such file, in which the model has weights`, 'IoError');
      await readAll(at, other, (piece) => call('onnx_take_file', loader.address, file, piece));
    }
    return new Model(callJson('onnx_finish', loader.address));
  } finally {
    loader.dispose();
  }
}

// ---- Running

class Run extends Handle {
  static release = 'release_onnx_run';
}

const isSequence = ({type}) => /^(optional\()?seq\(/.test(type);

// The tensor that an array stands for: of the port's shape, in which one size may be open.
function ofArray(values, port) {
  const kind = arrayName(values), {dtype} = port;
  // Arrays of bytes and bits, where the type has no array of its own.
  const bits = (kind === 'Uint8Array' && /^(bool|bf16|f16|f8|[iu][24]$)/.test(dtype)) ||
      (kind === 'Uint16Array' && /^b?f16$/.test(dtype)) || (kind === 'Float32Array' && dtype === 'c64');
  const width = {bool: 1, f16: 2, bf16: 2}[dtype] ?? 1;
  const packed = bits && /^[iu][24]$/.test(dtype) ? 8 / Number(dtype[1]) : 1;
  const count = bits && kind === 'Uint8Array' ? (values.length / width) * packed : values.length / (bits && dtype === 'c64' ? 2 : 1);
  const sizes = port.shape ?? [null];
  const open = sizes.flatMap((size, axis) => (typeof size === 'number' ? [] : [axis]));
  if (open.length > 1) {
    const named = sizes.map((size) => size ?? '?').join(', ');
    fail(`run: input '${port.name}' is ${count} numbers for [${named}], expected a tensor, which has a shape`, 'ShapeError');
  }
  const known = sizes.reduce((product, size) => (typeof size === 'number' ? product * size : product), 1);
  const shape = sizes.map((size) => (typeof size === 'number' ? size : known ? count / known : 0));
  if (!shape.every(Number.isInteger)) {
    fail(`run: input '${port.name}' is ${count} numbers, expected a multiple of ${known}`, 'ShapeError');
  }
  return tensor(values, {shape, ...(bits ? {dtype} : {})});
}

export class Model extends Handle {
  static release = 'release_onnx_model';
  // Only for load(). `inputs` and `outputs`: {name, type, dtype, shape} each, the type as ONNX calls it ("tensor(float)"),
  // dtype null for what is no tensor, in the shape a number, the name of a size that each run may choose, or null; a null
  // shape is one of any rank. `name`, `producer`, `opsets` by domain, `metadata`, and the number of `parameters` are what the
  // file says; `gpu` tells whether the model is on a GPU.
  constructor({address, inputs, outputs, ...told}) {
    super(address);
    const ports = (list) => list.map(({name, type, dtype, shape}) => ({name, type, dtype, shape}));
    Object.assign(this, {inputs: ports(inputs), outputs: ports(outputs), ...told});
  }
  // The outputs, an object by their names, in the model's order: tensors on the model's device; a list of them for a sequence,
  // null for an optional without a value. Inputs are an object by their names: tensors on any device, numbers and nested
  // lists, which take the input's type, or typed arrays of its type, which take its shape, if at most one size of that is
  // open; for a sequence a list of such, for an optional without a value null. A combination of shapes that did not come before
  // is compiled. The promise is there when the work is submitted: values are waited for where they are read. `signal`
  // aborts between the stages of a run. Throws InvalidArgument, TypeError and ShapeError, which name the input or the
  // node; OutOfMemory, DeviceLost.
  async run(inputs, options) {
    const {signal} = optionsOf(options, 'run', ['signal']);
    if (!isPlain(inputs)) fail(`run: the inputs are ${shown(inputs)}, expected an object of them by their names`, 'TypeError');
    const address = this.addressFor('run: the model'), own = [];
    let steps;
    try {
      const given = Object.entries(inputs).map(([name, value]) => {
        const port = this.inputs.find((p) => p.name === name) ?? {name, type: '', dtype: null, shape: null};
        const addressIn = (v) => {
          if (v instanceof Tensor) return v.addressFor(`run: input '${name}'`);
          const isNumber = ['number', 'boolean', 'bigint'].includes(typeof v);
          if (!isNumber && arrayName(v) === undefined && !Array.isArray(v)) {
            fail(`run: input '${name}' is ${shown(v)}, expected a tensor, a typed array, numbers or lists of them`, 'TypeError');
          }
          const made = arrayName(v) !== undefined ? ofArray(v, port) : tensor(v, port.dtype ? {dtype: port.dtype} : {});
          own.push(made);
          return made.address;
        };
        if (value === null || value === undefined) return {name};
        if (!isSequence(port)) return {name, tensor: addressIn(value)};
        if (!Array.isArray(value)) fail(`run: input '${name}' is ${shown(value)}, expected a list of tensors`, 'TypeError');
        return {name, sequence: value.map(addressIn)};
      });
      steps = new Run(call('onnx_run', address, JSON.stringify(given)));
    } finally {
      for (const t of own) t.dispose();
    }
    try {
      do signal?.throwIfAborted();
      while (!await callLater('onnx_next', steps.address));
      const results = callJson('onnx_results', steps.address);
      const made = results.map((r) => (Array.isArray(r) ? r.map((t) => new Tensor(t)) : r && new Tensor(r)));
      return Object.fromEntries(this.outputs.map(({name}, i) => [name, made[i]]));
    } finally {
      steps.dispose();
    }
  }
  // How many combinations of shapes were compiled since the model was loaded, stages of a run counted each.
  get compilations() {
    return callJson('onnx_counts', this.address).compilations;
  }
  // What was read from the device on the way, since the graph depends on it: {value, node, op, bytes, count} each, the
  // value's name, the node that needs it and its operator, the bytes of one read, and how often it was read.
  get readbacks() {
    return callJson('onnx_counts', this.address).readbacks;
  }
  // How many values these were.
  get reads() {
    return this.readbacks.reduce((sum, {count}) => sum + count, 0);
  }
  // The nodes that ran on the fallback: {node, op, reason} each.
  get onFallback() {
    return callJson('onnx_counts', this.address).onFallback;
  }
}
