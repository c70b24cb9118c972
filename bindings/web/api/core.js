// The WebAssembly module, as the other files of the package use it: its functions take numbers, texts and bytes, throw
// its errors, and give promises for what comes later.
import load from './weft.js';

// Emscripten's module, once ready() has loaded it.
export let wasm;
let loading;

// `file`: where weft.wasm is, if it is not beside this file: a URL, its bytes or a WebAssembly.Module.
export function ready(file) {
  loading ??= start(file).catch((error) => {
    loading = undefined;
    throw error;
  });
  return loading;
}

async function start(file) {
  const options = {weft: {settle, error}};
  if (globalThis.process?.versions?.node && !file) {
    const fs = 'node:fs/promises';  // a variable, so that bundlers for browsers do not look for it
    file = await (await import(fs)).readFile(new URL('weft.wasm', import.meta.url));
  }
  const bytes = file instanceof ArrayBuffer || ArrayBuffer.isView(file);
  if (bytes || file instanceof WebAssembly.Module) {
    options.instantiateWasm = (imports, done) => {
      WebAssembly.instantiate(file, imports).then((made) => done(bytes ? made.instance : made));
      return {};
    };
  } else if (file) {
    options.locateFile = () => String(file);
  }
  wasm = await load(options);
}

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

export const text = (address) => wasm.UTF8ToString(address);

// Calls a function of the module; texts and bytes are copied into its memory for the time of the call, of bytes the
// address and the number are two arguments. Throws what the library threw.
export function call(name, ...given) {
  if (!wasm) throw new WeftError('InvalidArgument', 'weft is not loaded yet: await open() first');
  const copies = [];
  try {
    const values = given.flatMap((value) => {
      if (typeof value === 'number') return value;
      let address;
      if (typeof value === 'string') {
        address = wasm.stringToNewUTF8(value);
      } else {
        address = wasm._malloc(value.byteLength || 1);
        if (address) wasm.HEAPU8.set(new Uint8Array(value.buffer, value.byteOffset, value.byteLength), address >>> 0);
      }
      if (!address) throw new WeftError('OutOfMemory', `${value.length} bytes do not fit into the module's memory`);
      copies.push(address);
      return typeof value === 'string' ? address : [address, value.byteLength];
    });
    const result = wasm['_weft_' + name](...values);
    const failed = text(wasm._weft_error_name());
    if (failed) throw error(failed, text(wasm._weft_error_message()));
    return result >>> 0;
  } finally {
    copies.forEach((address) => wasm._free(address));
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
// Done when the loop of events has gone round, which garbage needs too to be collected.
function letPageWork() {
  return new Promise((resolve) => {
    const {port1, port2} = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

function settle(id, how) {
  const promise = waiting.get(id);
  waiting.delete(id);
  if (promise) how(promise);
}

// ---- Objects of the library
// Handles that a program forgets are released when the browser collects them; dispose() does it at once.
const forgotten = new FinalizationRegistry(({release, address}) => wasm['_weft_' + release](address));

// An object of the library, by its address. A class says in `static release` which function of the module frees it.
export class Handle {
  #address;
  constructor(address) {
    this.#address = address;
    forgotten.register(this, {release: this.constructor.release, address}, this);
  }
  get address() {
    if (!this.#address) throw new WeftError('InvalidArgument', `this ${this.constructor.name} was disposed of`);
    return this.#address;
  }
  get disposed() {
    return !this.#address;
  }
  dispose() {
    if (!this.#address) return;
    forgotten.unregister(this);
    wasm['_weft_' + this.constructor.release](this.#address);
    this.#address = 0;
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
