// The npm package as a program has it: bundled by esbuild (package.mjs), under the page's strict Content Security Policy,
// and in a worker.
import {compute} from '../bundle/bundle.js';
import {check, equal, test} from './harness.mjs';

test('a bundle computes', async () => equal(await compute([1, 2, 3]), {device: 'cpu', result: 14}));

test('a worker computes', async () => {
  if (!globalThis.Worker || !globalThis.document) return;
  const worker = new Worker(new URL('../bundle/bundle.js', import.meta.url), {type: 'module'});
  const answer = await new Promise((resolve, reject) => {
    worker.onmessage = ({data}) => resolve(data);
    worker.onerror = (e) => reject(new Error(e.message));
    worker.postMessage(new Float32Array([3, 4]));
  });
  worker.terminate();
  equal(answer, {device: 'cpu', result: 25});
});

test('the page allows no other code', () => {
  if (!globalThis.document) return;
  let ran = true;
  try {
    new Function('return 1')();
  } catch {
    ran = false;
  }
  check(!ran, 'the Content Security Policy refuses new Function');
});
