// How the module is loaded: each way in which that fails rejects with an error of the library that says what and where,
// and a later open() succeeds; so does one behind a module that trapped.
import {callLater, wasm} from '../package/core.js';
import * as weft from '../package/index.js';
import {WASM_BYTES} from '../package/size.js';
import {check, equal, fails, served, test} from './harness.mjs';

const isNode = !!globalThis.process?.versions?.node;
// Programs of the web build have no address of their own in Node.
const right = new URL('../package/weft.wasm', import.meta.url).href;
const html = isNode ? 'data:text/html,<!doctype html><p>no such page' : `${served}`;

// Rejects so, and soon.
const refuses = (options, name, pattern) => fails(
    () => Promise.race([weft.open({device: 'cpu', ...options}),
                        new Promise((_, reject) => setTimeout(reject, 20000, new Error('nothing came in 20 s')))]),
    name, pattern);

// Puts a function in the place of another while `use` runs.
async function instead(object, name, f, use) {
  const own = object[name];
  object[name] = f;
  try {
    return await use();
  } finally {
    object[name] = own;
  }
}
const failing = (error) => () => Promise.reject(error);
const GPU = globalThis.navigator?.gpu && (await navigator.gpu.requestAdapter()) ? '0' : null;

test('what is no address, no bytes and no module', async () => {
  for (const [wasm, pattern] of [[5, /wasm is 5/], [{}, /an object/], [true, /true/]]) {
    await refuses({wasm}, 'TypeError', pattern);
  }
  for (const wasm of ['', '  ']) await refuses({wasm}, 'InvalidArgument', /wasm is an empty address/);
  await refuses({wasm: 'http://'}, 'InvalidArgument', /"http:\/\/".*no URL/);
  await fails(() => weft.open('cpu'), 'TypeError', /open: the options are "cpu", expected an object/);
  await fails(() => weft.open({devices: 'cpu'}), 'InvalidArgument', /no option 'devices'; there are device, wasm, progress/);
  equal(wasm, undefined);
});

test('a file that is not there', async () => {
  await refuses({wasm: `${served}none/weft.wasm`}, 'IoError', /^http.*\/none\/weft\.wasm: 404.*expected weft\.wasm/);
  await refuses({wasm: new URL('none/weft.wasm', served)}, 'IoError', /none\/weft\.wasm: 404/);
  await refuses({wasm: 'http://127.0.0.1:9/weft.wasm'}, 'IoError', /^http:\/\/127\.0\.0\.1:9\/weft\.wasm: ./);
  if (isNode) {
    await refuses({wasm: 'none/weft.wasm'}, 'IoError', /^file:.*none\/weft\.wasm: ENOENT/);
    await refuses({wasm: new URL('none.wasm', import.meta.url)}, 'IoError', /none\.wasm: ENOENT/);
  }
});

test('a page in its place', () => refuses({wasm: html}, 'IoError', /is a page \(text\/html\), expected weft\.wasm/));

test('a connection that breaks', async () => {
  for (const type of ['application/wasm', 'application/octet-stream']) {
    let pieces = 0;
    const body = () => new ReadableStream({
      pull(controller) {
        if (pieces++ < 3) controller.enqueue(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0].slice(pieces === 1 ? 0 : 8)));
        else controller.error(new TypeError('the line is cut'));
      },
    });
    const cut = async () => new Response(body(), {headers: {'content-type': type}});
    await instead(globalThis, 'fetch', cut, () => refuses({wasm: `${served}weft.wasm`}, 'IoError', /weft\.wasm: /));
  }
});

test('bytes that are not of the package', async () => {
  const text = new TextEncoder().encode('<!doctype html>');
  for (const [bytes, size] of [[text, 15], [text.buffer, 15], [new Uint8Array(), 0], [new Uint8Array([0, 97, 115, 109, 2, 0, 0, 0]), 8]]) {
    await refuses({wasm: bytes}, 'FormatError', new RegExp(`^open: the ${size} bytes of wasm: .*, expected this package's weft\\.wasm`));
  }
  await refuses({wasm: `${served}tests/harness.mjs`}, 'FormatError', /harness\.mjs: .*expected this package's weft\.wasm/);
});

test('a module of something else', async () => {
  const empty = Uint8Array.from([0, 97, 115, 109, 1, 0, 0, 0]);
  // (import "x" "y" (func))
  const importing = Uint8Array.from([...empty, 1, 4, 1, 96, 0, 0, 2, 7, 1, 1, 120, 1, 121, 0, 0]);
  for (const bytes of [empty, importing]) {
    await refuses({wasm: bytes}, 'FormatError', /8 bytes of wasm|23 bytes of wasm/);
    await refuses({wasm: new WebAssembly.Module(bytes)}, 'FormatError', /the module of wasm: .*expected this package's/);
  }
});

test('no memory, and what browsers lack or pages forbid', async () => {
  const options = {wasm: isNode ? undefined : right};
  await instead(WebAssembly, 'instantiate', failing(new RangeError('Cannot allocate Wasm memory')),
                () => refuses(options, 'OutOfMemory', /weft\.wasm: Cannot allocate/));
  const compiling = isNode ? 'compile' : 'compileStreaming', error = new WebAssembly.CompileError('invalid opcode');
  await instead(WebAssembly, compiling, failing(error), () => refuses(options, 'FormatError', /weft\.wasm: invalid opcode/));
  await instead(WebAssembly, compiling, failing(error), () => instead(WebAssembly, 'validate', () => false,
      () => refuses(options, 'Unsupported', /invalid opcode; expected a browser whose WebAssembly has exceptions and vectors/)));
  await instead(WebAssembly, compiling, failing(error), () => instead(WebAssembly, 'Module', function() { throw error; },
      () => refuses(options, 'Unsupported', /script-src 'wasm-unsafe-eval'/)));
  await instead(globalThis, 'WebAssembly', undefined, () => refuses(options, 'Unsupported', /no WebAssembly/));
});

test('before it is loaded', async () => {
  equal(wasm, undefined);
  for (const f of [() => weft.tensor([1]), () => weft.zeros([1]), () => weft.memory(), () => weft.random.seed(1)]) {
    await fails(f, 'InvalidArgument', /not loaded yet: await open/);
  }
});

test('several at once: each has the file that it names, and progress', async () => {
  const wrong = weft.open({wasm: new Uint8Array(3), device: 'cpu'}), seen = [];
  const good = weft.open({wasm: right, device: 'cpu', progress: (step) => seen.push(step)});
  await fails(() => wrong, 'FormatError', /3 bytes/);
  equal((await good).name, 'cpu');
  equal(await weft.tensor([3]).add(1).item(), 4);
  if (isNode) return;  // a file
  await new Promise((done) => setTimeout(done, 100));
  check(seen.every(({loaded, total}, i) => loaded > (seen[i - 1]?.loaded ?? 0) && loaded <= total), JSON.stringify(seen));
  equal(seen.at(-1), {loaded: WASM_BYTES, total: WASM_BYTES});
});

test('a module that trapped', async () => {
  const old = weft.tensor([1, 2]), device = await weft.open({device: 'cpu'}), f = weft.compile((x) => x.add(1));
  const before = wasm;
  // What a GPU has not given yet.
  const waiting = GPU && (await weft.open({device: GPU}), weft.ones([1000, 1000]).sin().sum().data());
  waiting?.catch(() => {});
  // Nothing is at this address.
  const pending = callLater('wait', device.address).then(() => callLater('text', 0xfffffff0));
  await fails(() => pending, 'InternalError', /the module ended: .*; open\(\) loads it again/);
  equal(wasm, undefined);
  if (waiting) await fails(() => waiting, 'InternalError', /the module ended/);
  for (const use of [() => weft.tensor([1]), () => old.add(1), () => old.data(), () => f(old), () => device.wait()]) {
    await fails(use, 'InternalError', /the module ended/);
  }
  check(old.disposed, 'what was there is gone');
  await weft.open({device: 'cpu', wasm: isNode ? undefined : right});
  check(wasm && wasm !== before, 'another module');
  equal(await weft.tensor([3]).add(1).item(), 4);
  equal(await weft.grad((x) => x.mul(x).sum())(weft.tensor([3])).item(), 6);
  await fails(() => old.data(), 'InternalError', /Tensor\(f32 \[2\]\), of a module that ended/);
  old.dispose();
  equal(weft.memory().numTensors >= 0, true);
});

test('in a worker', async () => {
  const url = new URL('./loading_worker.mjs', import.meta.url);
  let answer;
  if (isNode) {
    const threads = 'node:worker_threads', {Worker} = await import(threads);
    const worker = new Worker(url);
    answer = await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
    await worker.terminate();
  } else {
    const worker = new Worker(url, {type: 'module'});
    answer = await new Promise((resolve, reject) => {
      worker.onmessage = ({data}) => resolve(data);
      worker.onerror = (e) => reject(new Error(e.message));
    });
    worker.terminate();
  }
  equal(answer, {refused: ['FormatError', 'IoError'], result: 25});
});
