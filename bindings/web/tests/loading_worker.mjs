// A worker that is told wrong files before the right one, for loading_test.mjs.
import * as weft from '../package/index.js';

const wrong = [new Uint8Array(4), new URL('none/weft.wasm', import.meta.url)], refused = [];
for (const wasm of wrong) await weft.open({wasm}).catch(({name}) => refused.push(name));
await weft.open({device: 'cpu'});
const answer = {refused, result: await weft.tensor([3, 4]).square().sum().item()};
if (globalThis.postMessage) {
  postMessage(answer);
} else {
  const threads = 'node:worker_threads';
  (await import(threads)).parentPort.postMessage(answer);
}
