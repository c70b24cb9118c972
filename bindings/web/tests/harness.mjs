// Tests in JavaScript, the same for Node and for a page: a file of tests calls test(), and run.mjs calls run().
const tests = [];

// The address at which run.mjs serves model/ and data/.
export const served = `${globalThis.location?.origin ?? process.env.WEFT_TEST_ORIGIN}/`;

// `f` may return a promise. It fails by throwing, and may print().
export const test = (name, f) => void tests.push({name, f});

// Runs the tests whose name has the filter in it; the number of those that failed.
export async function run({filter = '', print = console.log}) {
  let failed = 0, ran = 0;
  for (const {name, f} of tests) {
    if (!name.includes(filter)) continue;
    ++ran;
    const start = performance.now();
    try {
      await f({print});
      print(`ok      ${name} (${Math.round(performance.now() - start)} ms)`);
    } catch (error) {
      ++failed;
      print(`FAILED  ${name}: ${String(error?.stack ?? error).slice(0, 2000)}`);
    }
  }
  print(`${ran} tests, ${failed} failed`);
  return failed || !ran ? 1 : 0;
}

const shown = (value) =>
  JSON.stringify(value, (_, v) => (typeof v === 'bigint' ? `${v}n` : ArrayBuffer.isView(v) ? Array.from(v) : v));

export function check(holds, what) {
  if (!holds) throw new Error(`it does not hold: ${what}`);
}

export function equal(got, expected) {
  if (shown(got) !== shown(expected)) throw new Error(`${shown(got)}, expected ${shown(expected)}`);
}

// Numbers in lists of any depth, each within `most` of the other.
export function close(got, expected, most) {
  const flat = (v) => (ArrayBuffer.isView(v) ? Array.from(v) : [v].flat(Infinity));
  const a = flat(got), b = flat(expected);
  const differs = a.length !== b.length || a.some((v, i) => !(Math.abs(v - b[i]) <= most) && !Object.is(v, b[i]));
  if (differs) throw new Error(`${shown(got)}, expected ${shown(expected)} within ${most}`);
}

// That f throws, or rejects with, an error of that name whose message the pattern fits; returns it.
export async function fails(f, name, pattern = /./) {
  let result;
  try {
    result = await f();
  } catch (error) {
    if (error.name === name && pattern.test(error.message)) return error;
    throw new Error(`${error.name}: ${error.message}, expected ${name}: ${pattern}`);
  }
  throw new Error(`${shown(result)}, expected the error ${name}`);
}

// What a browser's cache does, in memory, with room for so many bytes.
export class MemoryCache {
  kept = new Map();
  constructor(room = Infinity) {
    this.room = room;
  }
  async match(address) {
    const kept = this.kept.get(address);
    return kept && new Response(kept.blob, kept);
  }
  async delete(address) {
    return this.kept.delete(address);
  }
  async put(address, {body, status, headers}) {
    const parts = [];
    let size = 0;
    for (const reader = body?.getReader(); reader;) {
      const {done, value} = await reader.read();
      if (done) break;
      parts.push(value.slice());
      size += value.byteLength;
      if (size > this.room) {
        await reader.cancel();
        throw new DOMException('full', 'QuotaExceededError');
      }
    }
    this.kept.set(address, {blob: body && new Blob(parts), status, headers: new Headers(headers)});
  }
}

// With other values of global variables.
export async function withGlobals(globals, f) {
  const before = Object.keys(globals).map((key) => [key, Object.getOwnPropertyDescriptor(globalThis, key)]);
  for (const [key, value] of Object.entries(globals)) {
    Object.defineProperty(globalThis, key, {value, configurable: true, writable: true});
  }
  try {
    return await f();
  } finally {
    for (const [key, own] of before) {
      if (own) Object.defineProperty(globalThis, key, own);
      else delete globalThis[key];
    }
  }
}
// The variable `caches` with that one.
export const cacheOf = (cache) => ({open: async () => cache});
