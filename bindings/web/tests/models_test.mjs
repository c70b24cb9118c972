// Sentence encoders in JavaScript, on the cpu and on WebGPU: all-MiniLM-L6-v2 against the ids and vectors of the reference
// (tests/reference/sentences.py), to which the native program is held, too. run.mjs serves the model of WEFT_MODEL_DIR and
// tests/data.
import {wasm} from '../package/core.js';
import * as weft from '../package/index.js';
import {MemoryCache, cacheOf, check, close, equal, fails, served, test, withGlobals} from './harness.mjs';

const {models} = weft;
const GPU = globalThis.navigator?.gpu && (await navigator.gpu.requestAdapter()) ? '0' : null;
// SwiftShader takes one sentence in some.
const SOME = globalThis.process?.versions?.node ? 1 : 8;

const model = `${served}model/`;
const there = (await fetch(`${model}config.json`)).ok;
const modelTest = (name, f) =>
  test(there ? name : `${name}: skipped, WEFT_MODEL_DIR names no model`, there ? f : () => {});
const bytes = async (name) => new Uint8Array(await (await fetch(`${served}data/${name}`)).arrayBuffer());
const lines = async (name) =>
  new TextDecoder().decode(await bytes(name)).trim().split('\n').map((line) => JSON.parse(line));

const sentences = await lines('sentences.jsonl');
const ids = await lines('sentence_ids.jsonl');
const array = await bytes('sentence_embeddings.npy');
const values = new Float32Array(array.slice(-sentences.length * 384 * 4).buffer);
const expected = sentences.map((_, i) => values.subarray(384 * i, 384 * (i + 1)));

const heap = () => wasm.HEAPU8.length;
const megabytes = (size) => `${(size / 1e6).toFixed(1)} MB`;

// By the bounds of tests/models/sentence_encoder_test.cc.
function same(vectors, wanted) {
  equal(vectors.length, wanted.length);
  let cosine = 1;
  vectors.forEach((vector, i) => {
    close(vector, wanted[i], 2e-5);
    cosine = Math.min(cosine, models.similarity(vector, wanted[i]));
  });
  check(cosine >= 0.99999, `a cosine of ${cosine}`);
}

// First the GPU, whose weights are in no heap.
for (const [kind, device] of [...(GPU ? [['gpu', GPU]] : []), ['cpu', 'cpu']]) {
  let encoder;
  const onDevice = (name, f) => modelTest(`${name} (${kind})`, f);

  onDevice('loading tells of each file', async ({print}) => {
    const opened = await weft.open({device});
    const before = heap(), seen = new Map();
    encoder = await models.load(model, {
      cache: false,
      progress({file, loaded, total}) {
        check(loaded > (seen.get(file)?.loaded ?? -1), `${file}: ${loaded} bytes after ${seen.get(file)?.loaded}`);
        check(!(loaded > total), `${file}: ${loaded} bytes of ${total}`);
        seen.set(file, {loaded, total});
      },
    });
    const weights = seen.get('model.safetensors');
    check(weights.loaded === weights.total && weights.total > 9e7, JSON.stringify(weights));
    for (const file of ['modules.json', 'config.json', 'tokenizer.json', '1_Pooling/config.json']) check(seen.has(file), file);
    print(`        the heap had ${megabytes(before)}, has ${megabytes(heap())}`);
    if (opened.gpu) check(heap() < before + 3e7, `the heap grew from ${before} to ${heap()} bytes`);
    equal([encoder.dimension, encoder.maxLength, encoder.gpu], [384, 256, opened.gpu]);
  });

  onDevice('ids are the reference\'s', () => {
    const got = encoder.tokenize(sentences);
    got.forEach((list, i) => equal([sentences[i], list], [sentences[i], ids[i]]));
    // Half a surrogate pair is a replacement character, which is dropped as controls are.
    equal(encoder.tokenize(['a\ud800b \udc00', '\0x\u0007', 'ไทย\ud83d']), encoder.tokenize(['a\ufffdb \ufffd', 'x', 'ไทย\ufffd']));
  });

  onDevice('vectors are the reference\'s', async ({print}) => {
    const chosen = sentences.map((_, i) => i).filter((i) => kind === 'cpu' || i % SOME === 0);
    const told = [];
    const start = performance.now();
    const vectors = await encoder.vectors(chosen.map((i) => sentences[i]), {progress: (p) => told.push(p)});
    print(`        ${(chosen.length / (performance.now() - start) * 1e3).toFixed(1)} sentences/s, the heap has ${megabytes(heap())}`);
    same(vectors, chosen.map((i) => expected[i]));
    check(told.every((p, i) => p.done > (told[i - 1]?.done ?? 0) && p.total === chosen.length), JSON.stringify(told));
    equal(told.at(-1).done, chosen.length);
  });

  onDevice('batches and calls at the same time do not matter', async () => {
    const three = sentences.slice(0, 3);
    const tensor = await encoder.embed(three, {batch: 1});
    equal([tensor.shape, tensor.dtype], [[3, 384], 'f32']);
    const cosines = await models.similarity(tensor, tensor).toArray();
    close(cosines, three.map((_, i) => three.map((_, j) => models.similarity(expected[i], expected[j]))), 1e-5);
    equal((await encoder.embed(three[0])).shape, [1, 384]);
    equal((await encoder.embed([])).shape, [0, 384]);
    const [left, right] = await Promise.all([encoder.vectors(three), encoder.vectors(three.toReversed())]);
    same(left, expected.slice(0, 3));
    same(right, expected.slice(0, 3).toReversed());
  });

  onDevice('memory does not grow', async () => {
    const embedSome = async () => (await encoder.embed(sentences.slice(0, 4))).dispose();
    for (let i = 0; i < 3; ++i) await embedSome();
    const settled = heap(), {numTensors} = weft.memory();
    for (let i = 0; i < 50; ++i) await embedSome();
    await encoder.vectors(sentences[0]);
    await fails(() => encoder.vectors([0]), 'TypeError');
    equal(heap(), settled);
    check(weft.memory().numTensors <= numTensors, `${weft.memory().numTensors} tensors, before ${numTensors}`);
  });

  onDevice('what an encoder refuses', async () => {
    await fails(() => encoder.embed(['a', 1]), 'TypeError', /a number among texts/);
    await fails(() => encoder.embed(['a'], {batch: 0}), 'InvalidArgument', /a batch of 0/);
    await fails(() => encoder.embed(['a'], {batches: 2}), 'InvalidArgument', /no option 'batches'/);
    await fails(() => encoder.embed(['a'], {signal: AbortSignal.abort()}), 'AbortError');
    await fails(() => models.similarity(new Float32Array(2), new Float32Array(3)), 'ShapeError');
    encoder.dispose();
    await fails(() => encoder.embed(['a']), 'InvalidArgument', /disposed/);
  });
}

// ---- Where files come from, on the cpu

const {fetch: fetchFile, caches: browserCaches} = globalThis;
// But what the page prints.
const offline = (address, ...rest) =>
  (address.startsWith(served) ? Promise.reject(new TypeError('offline')) : fetchFile(address, ...rest));
async function loadsRight(source, options) {
  const encoder = await models.load(source, options);
  same(await encoder.vectors(sentences.slice(0, 1)), expected.slice(0, 1));
  encoder.dispose();
}

// The model's files, as a page may have them.
let files;
const fileTest = (name, f) => modelTest(name, async (...given) => {
  await weft.open({device: 'cpu'});
  const names = ['modules.json', 'config.json', 'config_sentence_transformers.json', '1_Pooling/config.json', 'tokenizer.json',
                 'tokenizer_config.json', 'special_tokens_map.json', 'sentence_bert_config.json', 'model.safetensors'];
  files ??= Object.fromEntries(await Promise.all(names.map(async (n) => [n, await (await fetch(model + n)).blob()])));
  await f(...given);
});
fileTest('a cache keeps files, and what is no file', async () => {
  const cache = new MemoryCache();
  const asked = [];
  const counted = (...given) => {
    if (given[0].startsWith(model)) asked.push(given[0]);  // and not what the page prints
    return fetchFile(...given);
  };
  await withGlobals({caches: cacheOf(cache), fetch: counted}, () => loadsRight(model));
  equal([...cache.kept.keys()].sort(), asked.sort());
  await withGlobals({caches: cacheOf(cache), fetch: offline}, () => loadsRight(model));
});

fileTest('a load that fails keeps no wrong file', async () => {
  const cache = new MemoryCache();
  const loads = (wrong) => withGlobals({
    caches: cacheOf(cache),
    fetch: async (address, ...rest) => (address.startsWith(model) && wrong(address.slice(model.length))) || fetchFile(address, ...rest),
  }, () => models.load(model));
  await fails(() => loads((name) => name === 'config.json' && new Response('', {status: 404})), 'IoError', /no such file/);
  await fails(() => loads((name) => name === 'config.json' && new Response('{"model_type": "bert"}')), 'FormatError', /vocab_size/);
  equal(cache.kept.size, 0);
  await fails(() => loads((name) => name === 'model.safetensors' && new Response('no weights')), 'FormatError', /not a safetensors file/);
  equal(cache.kept.size, 0);
  (await loads(() => undefined)).dispose();
  const {size} = cache.kept;
  cache.kept.delete(`${model}config.json`);
  await fails(() => loads(() => offline(model)), 'IoError', /offline/);
  equal(cache.kept.size, size - 1);
});

fileTest('a full cache, one that is not allowed, and the browser\'s', async () => {
  const full = new MemoryCache(1e6);
  await withGlobals({caches: cacheOf(full)}, () => loadsRight(model));
  check(full.kept.size > 0 && !full.kept.has(`${model}model.safetensors`), [...full.kept.keys()].join());
  await withGlobals({caches: {open: () => Promise.reject(new Error('not allowed'))}}, () => loadsRight(model));
  if (!browserCaches) return;
  await browserCaches.delete(models.CACHE);
  await loadsRight(model);
  await withGlobals({fetch: offline}, () => loadsRight(model));
  await browserCaches.delete(models.CACHE);
});

fileTest('files that a page has', async () => {
  await loadsRight({files});
  const chosen = Object.entries(files).map(([name, blob]) =>
    Object.defineProperty(new File([blob], name.split('/').at(-1)), 'webkitRelativePath', {value: `folder/${name}`}));
  await loadsRight({files: chosen});
  await loadsRight({
    files: {
      ...files, 'config.json': await files['config.json'].text(), 'tokenizer.json': await files['tokenizer.json'].arrayBuffer(),
      'model.safetensors': files['model.safetensors'].stream(),
    },
  });
});

fileTest('wrong files', async () => {
  const config = JSON.parse(await files['config.json'].text());
  const weights = files['model.safetensors'];
  const wrong = (changed, name, pattern) => fails(() => models.load({files: {...files, ...changed}}), name, pattern);
  const without = (name) => ({files: Object.fromEntries(Object.entries(files).filter(([n]) => n !== name))});
  await fails(() => models.load(without('config.json')), 'IoError', /^model\/config.json: no such file/);
  await fails(() => models.load(without('model.safetensors')), 'IoError', /^model\/model.safetensors: no such file/);
  await fails(() => models.load(without('tokenizer.json')), 'IoError', /^model\/ has neither tokenizer.json nor vocab.txt/);
  const several = without('model.safetensors');
  several.files['model.safetensors.index.json'] = '{}';
  await fails(() => models.load(several), 'Unsupported', /in several files/);
  await wrong({'config.json': '{"model_type": '}, 'FormatError', /^model\/config.json:1:/);
  await wrong({'config.json': JSON.stringify({...config, model_type: 'llama'})}, 'Unsupported', /model_type "llama"/);
  await wrong({'config.json': JSON.stringify({...config, hidden_size: 768})}, 'FormatError', /expected \[30522, 768\]/);
  await wrong({'tokenizer.json': '[]'}, 'FormatError', /^model\/tokenizer.json/);
  await wrong({'modules.json': 'modules'}, 'FormatError', /^model\/modules.json:1:/);
  await wrong({'model.safetensors': weights.slice(0, 5e6)}, 'FormatError', /5000000 bytes of/);
  await wrong({'model.safetensors': new Blob([weights, 'x'])}, 'FormatError', /there is more than/);
  await wrong({'model.safetensors': '<!doctype html>'}, 'FormatError', /this is not a safetensors file/);
  await wrong({'model.safetensors': ''}, 'FormatError', /0 bytes of its header/);
  await fails(() => models.load({files}, {prompt: 'poem'}), 'InvalidArgument', /there is no prompt "poem"/);
  await loadsRight({files});
});

fileTest('sites that fail', async () => {
  const broken = () => new Response(new ReadableStream({
    start(controller) {
      controller.enqueue(new Uint8Array([16, 0, 0, 0, 0, 0, 0, 0]));
      controller.error(new TypeError('the connection was lost'));
    },
  }));
  const page = () => new Response('<html>', {headers: {'content-type': 'text/html; charset=utf-8'}});
  const over = (wrongFile, answer, name, pattern) => withGlobals({
    fetch: (address, ...rest) => (address.endsWith(`/${wrongFile}`) ? answer() : fetchFile(address, ...rest)),
  }, () => fails(() => models.load(model, {cache: false}), name, pattern));
  await fails(() => models.load('http://['), 'InvalidArgument', /is no URL/);
  for (const nothing of ['', '  ', undefined, null]) await fails(() => models.load(nothing), 'InvalidArgument', /the address is empty/);
  await fails(() => models.load({files: 5}), 'TypeError', /files is 5/);
  await fails(() => models.load(model, {device: 'cpu'}), 'TypeError', /device is "cpu", expected a Device/);
  await fails(() => models.load(model, {progres() {}}), 'InvalidArgument', /no option 'progres'/);
  await fails(() => models.load(`${served}none`, {cache: false}), 'IoError', /^http.*\/none\/config.json: no such file/);
  await over('config.json', () => new Response('', {status: 500}), 'IoError', /^http.*config.json: 500/);
  await over('config.json', () => offline(model), 'IoError', /config.json: offline/);
  await over('config.json', page, 'IoError', /config.json: no such file/);
  await over('model.safetensors', broken, 'IoError', /^http.*model.safetensors: the connection was lost/);
  const abort = new AbortController();
  const progress = ({file}) => file === 'model.safetensors' && abort.abort();
  await fails(() => models.load(model, {cache: false, signal: abort.signal, progress}), 'AbortError');
});
