// The WebAssembly module, as the other files of the package use it: its functions take numbers, texts and bytes, throw
// its errors, and give promises for what comes later.
import {WASM_BYTES} from './size.js';
import load from './weft.js';

// ---- Errors

// An error of the library: its name is that of the class ("ShapeError", "NoDevice", …), its message the library's.
export class WeftError extends Error {
  constructor(name, message) {
    super(message);
    this.name = name;
  }
}
const error = (name, message) => new WeftError(name, message);
export const fail = (message, name = 'InvalidArgument') => {
  throw error(name, message);
};

// ---- What a value is. Objects of iframes and other realms are no instances of the classes here.
const tagOf = (value) => Object.prototype.toString.call(value).slice(8, -1);
export const isUrl = (value) => tagOf(value) === 'URL';
export const isResponse = (value) => tagOf(value) === 'Response';
export const isGpuDevice = (value) =>
    tagOf(value) === 'GPUDevice' || (globalThis.GPUDevice !== undefined && value instanceof GPUDevice);
// Whether it is an object of a built-in interface which has the attribute.
const isA = (Interface, attribute) => {
  const get = Interface && Object.getOwnPropertyDescriptor(Interface.prototype, attribute).get;
  return (value) => {
    try {
      get.call(value);
      return true;
    } catch {
      return false;
    }
  };
};
export const isArrayBuffer = isA(ArrayBuffer, 'byteLength');
export const isShared = isA(globalThis.SharedArrayBuffer, 'byteLength');
const viewName = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag).get;
// "Float32Array" and so on; undefined for what is no typed array.
export const arrayName = (value) => viewName.call(value);
// An object of no class.
export const isPlain = (value) => {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
};

// How messages tell of it.
export function shown(value) {
  if (value instanceof Handle) return `a ${value.constructor.name}`;
  if (typeof value?.then === 'function') return 'a promise, which one must await';
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (Array.isArray(value) || ArrayBuffer.isView(value)) return 'values (tensor() makes a tensor of them)';
  if (value !== null && typeof value === 'object') {
    return isPlain(value) ? 'an object' : `an object of ${value.constructor?.name ?? 'a class'}`;
  }
  return Object.is(value, -0) ? '-0' : String(value);
}

export const checked = (value, type, where) =>
    value instanceof type ? value : fail(`${where} is ${shown(value)}, expected a ${type.name}`, 'TypeError');
// The address of an object of the library, which must be of that class.
export const addressOf = (value, type, where) => checked(value, type, where).addressFor(where);
export const checkedFunction = (f, where) =>
    typeof f === 'function' ? f : fail(`${where}: ${shown(f)}, expected a function`, 'TypeError');

// The options that a function is given, an object; of `names` and no others, if there are any names.
export function optionsOf(given, where, names) {
  if (given === undefined || given === null) return {};
  if (typeof given !== 'object' || Array.isArray(given) || given instanceof Handle) {
    fail(`${where}: the options are ${shown(given)}, expected an object`, 'TypeError');
  }
  const strange = names && Object.keys(given).find((name) => !names.includes(name));
  if (strange !== undefined) fail(`${where}: there is no option '${strange}'; there are ${names.join(', ')}`);
  return given;
}

// ---- Loading the module

// Emscripten's module, while there is one that runs.
export let wasm;
let loading;  // {file, done}, the load that is under way
let ended;    // why the last module ended

// `file`: where weft.wasm is, if it is not beside this file: a URL, its bytes or a WebAssembly.Module.
// `progress({loaded, total})` is called as it comes. Rejects with an IoError (it cannot be fetched), a FormatError (it is
// not this package's), Unsupported (what the browser lacks, or the page's policy forbids) or OutOfMemory; after that one
// may try again.
export async function ready(file, progress) {
  while (!wasm) {
    const other = loading;
    if (!other) {
      const done = start(file, progress).finally(() => loading = undefined);
      loading = {file, done};
      return done;
    }
    try {
      await other.done;
    } catch (e) {
      if (Object.is(other.file, file)) throw e;
    }
  }
}

// Emscripten fetches nothing: of what fails there it tells nobody.
async function start(file, progress) {
  const {module, from} = await compiled(file, progress);
  const started = new Promise((resolve, reject) => {
    const options = {
      weft: {settle, error, broke},
      instantiateWasm(imports, done) {
        WebAssembly.instantiate(module, imports).then(done).catch(reject);
        return {};
      },
      onAbort(what) {
        reject(error('InternalError', `the module ended: ${what}`));
        end(options, what);
      },
      // What the library logs: its errors are thrown.
      printErr: (line) => console.warn(line),
    };
    load(options).then(resolve, reject);
  });
  wasm = await started.catch((e) => refuse(e, from));
  ended = undefined;
}

export const isNode = () => !!globalThis.process?.versions?.node;
// (Bundlers for browsers would look for a module that is named here.)
export const nodes = (name) => import(/* webpackIgnore: true */ /* @vite-ignore */ name);

// The module in a file, and what messages call the file.
async function compiled(file, progress) {
  if (typeof WebAssembly !== 'object') fail('open: there is no WebAssembly here', 'Unsupported');
  if (tagOf(file) === 'WebAssembly.Module') return {module: file, from: 'open: the module of wasm'};
  const isView = ArrayBuffer.isView(file);
  if (isView || isArrayBuffer(file) || isShared(file)) {
    const bytes = isView ? new Uint8Array(file.buffer, file.byteOffset, file.byteLength) : new Uint8Array(file);
    const from = `open: the ${bytes.length} bytes of wasm`;
    return {module: await compile(isShared(bytes.buffer) ? bytes.slice() : bytes, from), from};
  }
  const url = await urlOf(file), from = url.href;
  if (isNode() && url.protocol === 'file:') {
    const bytes = await (await nodes('node:fs/promises')).readFile(url).catch((e) => fail(`${from}: ${e.message}`, 'IoError'));
    return {module: await compile(bytes, from), from};
  }
  return {module: await fetched(from, progress), from};
}

// Where weft.wasm is.
async function urlOf(file) {
  if (file === undefined || file === null) return new URL('weft.wasm', import.meta.url);
  if (typeof file !== 'string' && !isUrl(file)) {
    fail(`open: wasm is ${shown(file)}, expected a URL, bytes or a WebAssembly.Module`, 'TypeError');
  }
  if (!String(file).trim()) fail('open: wasm is an empty address, expected that of weft.wasm');
  const base = globalThis.document?.baseURI ?? globalThis.location?.href ??
      (isNode() ? (await nodes('node:url')).pathToFileURL(`${process.cwd()}/`) : undefined);
  try {
    return new URL(file, base);
  } catch {
    return fail(`open: wasm is ${shown(String(file))}, which is no URL`);
  }
}

async function fetched(address, progress) {
  const unread = (e) => fail(`${address}: ${e.cause?.message || e.message}`, 'IoError');
  const response = await fetch(address, {credentials: 'same-origin'}).catch(unread);
  if (!response.ok) {
    await response.body?.cancel().catch(() => {});
    fail(`${address}: ${response.status} ${response.statusText}`.trim() + ', expected weft.wasm', 'IoError');
  }
  const type = response.headers.get('content-type') ?? '';
  if (/^text\/html/i.test(type)) {
    await response.body?.cancel().catch(() => {});
    fail(`${address} is a page (text/html), expected weft.wasm; servers send one for a file that is not there`, 'IoError');
  }
  if (progress) watch(response.clone(), progress);
  if (/^application\/wasm$/i.test(type) && WebAssembly.compileStreaming) {
    // A TypeError is that of a connection.
    return await WebAssembly.compileStreaming(response).catch((e) => (e instanceof TypeError ? unread : refuse)(e, address));
  }
  return await compile(await response.arrayBuffer().catch(unread), address);
}

// Tells of a response's bytes as they come. That it fails is told by who reads the other copy.
async function watch(response, progress) {
  const encoded = response.headers.get('content-encoding');
  const total = encoded ? WASM_BYTES : Number(response.headers.get('content-length')) || WASM_BYTES;
  const reader = response.body.getReader();
  for (let loaded = 0;;) {
    const {done, value} = await reader.read().catch(() => ({done: true}));
    if (done) return;
    loaded += value.byteLength;
    progress({loaded, total: Math.max(loaded, total)});
  }
}

const compile = (bytes, from) => WebAssembly.compile(bytes).catch((e) => refuse(e, from));

// Modules with nothing in them; with a vector of 128 bits; and with a try block.
const EMPTY = [0, 97, 115, 109, 1, 0, 0, 0];
const VECTOR = [...EMPTY, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11];
const TRY = [...EMPTY, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 10, 8, 1, 6, 0, 6, 64, 25, 11, 11];
function isForbidden() {
  try {
    return !new WebAssembly.Module(Uint8Array.from(EMPTY));
  } catch {
    return true;
  }
}

// Throws the library's error for that of a browser which did not compile or start what came from there.
function refuse(e, from) {
  if (e instanceof WeftError) throw e;
  if (e instanceof RangeError) fail(`${from}: ${e.message}`, 'OutOfMemory');
  if (e instanceof WebAssembly.CompileError) {
    if (isForbidden()) {
      fail(`${from}: ${e.message}; the page's policy must allow script-src 'wasm-unsafe-eval'`, 'Unsupported');
    }
    if (![VECTOR, TRY].every((code) => WebAssembly.validate(Uint8Array.from(code)))) {
      fail(`${from}: ${e.message}; expected a browser whose WebAssembly has exceptions and vectors of 128 bits`, 'Unsupported');
    }
  }
  fail(`${from}: ${e.message}, expected this package's weft.wasm`, 'FormatError');
}

// ---- Calls

export const text = (address) => wasm.UTF8ToString(address);

const absent = () => error(...(ended ? ['InternalError', `the module ended: ${ended}; open() loads it again`] :
                                       ['InvalidArgument', 'weft is not loaded yet: await open() first']));

// A module that trapped does not go on: its promises reject, its objects are gone, and the next open() loads another.
function end(module, why) {
  if (!wasm || module !== wasm) return;
  ended = why;
  wasm = undefined;
  const all = [...waiting.values()];
  waiting.clear();
  for (const {reject} of all) reject(absent());
}
// Whether that is what the error says.
function broke(e) {
  if (!(e instanceof WebAssembly.RuntimeError)) return false;
  end(wasm, e.message);
  return true;
}

// Calls a function of the module; texts and bytes are copied into its memory for the time of the call, of bytes the
// address and the number are two arguments. Throws what the library threw.
export function call(name, ...given) {
  if (!wasm) throw absent();
  const module = wasm, copies = [], stack = module.stackSave();
  try {
    const values = given.flatMap((value) => {
      if (typeof value === 'number') return value;
      let address;
      if (typeof value === 'string') {
        address = module.stringToNewUTF8(value);
      } else {
        address = module._malloc(value.byteLength || 1);
        if (address) module.HEAPU8.set(new Uint8Array(value.buffer, value.byteOffset, value.byteLength), address >>> 0);
      }
      const bytes = value.byteLength ?? value.length;
      if (!address) throw error('OutOfMemory', `${bytes} bytes do not fit into the module's memory`);
      copies.push(address);
      return typeof value === 'string' ? address : [address, bytes];
    });
    const result = module['_weft_' + name](...values);
    if (module !== wasm) throw absent();
    const failed = text(module._weft_error_name());
    if (failed) throw error(failed, text(module._weft_error_message()));
    return result >>> 0;
  } catch (e) {
    if (broke(e)) throw absent();
    // What a function of the browser threw left the module's functions as they stood.
    if (module === wasm && !(e instanceof WeftError)) module.stackRestore(stack);
    throw e;
  } finally {
    if (module === wasm) copies.forEach((address) => module._free(address));
  }
}

// The same for functions that return JSON.
export const callJson = (name, ...given) => JSON.parse(text(call(name, ...given)));

// ---- What comes later
const waiting = new Map();
let last = 0;

// The same for functions whose last argument is the number of a promise, which they settle.
export function callLater(name, ...given) {
  return new Promise((resolve, reject) => {
    const id = ++last;
    // What the cpu computes is there before the call returns. A loop that awaits it must let the page work now and then.
    let atOnce = true;
    waiting.set(id, {
      resolve: (value) => resolve(atOnce && yielding() ? letPageWork().then(() => value) : value),
      reject,
    });
    try {
      call(name, ...given, id);
      atOnce = false;
    } catch (e) {
      waiting.delete(id);
      reject(e);
    }
  });
}

const YIELD = 10;  // ms
let yielded = 0;
function yielding() {
  if (performance.now() - yielded < YIELD) return false;
  yielded = performance.now();
  return true;
}
// Done when the loop of events has gone round, which garbage needs too to be collected; for those who wait together in
// the order in which they came.
let turn;
export function letPageWork() {
  return turn ??= new Promise((resolve) => {
    const {port1, port2} = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      turn = undefined;
      resolve();
    };
    port2.postMessage(null);
  });
}

function settle(id, how) {
  const promise = waiting.get(id);
  waiting.delete(id);
  try {
    if (promise) how(promise);
  } catch (e) {
    // There is no memory for what it gives.
    promise.reject(e instanceof RangeError ? error('OutOfMemory', e.message) : e);
  }
}

// ---- Objects of the library
// Handles that a program forgets are released when the browser collects them; dispose() does it at once.
const forgotten = new FinalizationRegistry(({module, release, address}) => {
  if (module === wasm) module['_weft_' + release](address);
});

// An object of the library, by its address. A class says in `static release` which function of the module frees it.
export class Handle {
  #address;
  #module = wasm;
  constructor(address) {
    this.#address = address;
    forgotten.register(this, {module: wasm, release: this.constructor.release, address}, this);
  }
  // The address, for `where`, of which messages tell: "matmul: b".
  addressFor(where) {
    if (!this.#address) fail(where ? `${where} is ${this}, which was disposed of` : `${this} was disposed of`);
    if (this.#module !== wasm) {
      throw wasm ? error('InternalError', `${where ? `${where} is ` : ''}${this}, of a module that ended`) : absent();
    }
    return this.#address;
  }
  get address() {
    return this.addressFor();
  }
  get disposed() {
    return !this.#address || this.#module !== wasm;
  }
  dispose() {
    if (!this.#address) return;
    forgotten.unregister(this);
    if (this.#module === wasm) wasm['_weft_' + this.constructor.release](this.#address);
    this.#address = 0;
  }
  toString() {
    return `a ${this.constructor.name}`;
  }
}
if (Symbol.dispose) Handle.prototype[Symbol.dispose] = Handle.prototype.dispose;

// What `made` makes of a device on a GPUDevice of the page's: a handle, whose device is told when that is lost.
export function adopt(gpuDevice, made) {
  const handle = made(callJson('adopt', wasm.gpu.put(gpuDevice))), weak = new WeakRef(handle);
  gpuDevice.lost.then(() => {
    const device = weak.deref();
    if (device && !device.disposed) call('poll', device.address);
  });
  return handle;
}
