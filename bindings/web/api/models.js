// Sentence encoders: models in Hugging Face's directory layout, which make vectors of texts.
//
//   const encoder = await weft.models.load('https://example.org/all-MiniLM-L6-v2/');
//   const vectors = await encoder.embed(['A sentence.', 'Another one.']);
//   console.log(await weft.models.similarity(vectors, vectors).toArray());
//
// Weights go to the device as they come: those of a GPU are never in the module's memory as a whole.
import {
  Handle, WeftError, addressOf, arrayName, call, callJson, callLater, fail, isResponse, optionsOf, shown, text,
} from './core.js';
import {Device, Tensor, tidy} from './index.js';

// The name of the cache that keeps files: caches.delete(weft.models.CACHE) forgets them.
export const CACHE = 'weft-models';

const WEIGHTS = 'model.safetensors';
// Bytes that are handed over at a time, and that may be under way to the device.
const PIECE = 1 << 20;
const UNDER_WAY = 32 << 20;

const reason = (error) => error.cause?.message || error.message;

// ---- Where files are
// get(name) gives a Response, undefined if there is no such file. read(name, response, take) calls take(chunk) with its
// bytes, one after the other. loaded() and failed() are told how it ended. `folder` is what the library's errors call the
// place.

class Site {
  #url;
  #signal;
  #cache;
  #kept = new WeakSet();
  #asked = new Set();   // addresses of this load
  #absent = new Set();  // of which there is no file
  constructor(url, signal, cache) {
    if (!String(url ?? '').trim()) fail('models.load: the address is empty, expected that of a folder with a model');
    try {
      this.#url = new URL(url, globalThis.document?.baseURI ?? globalThis.location?.href);
    } catch {
      fail(`models.load: ${url} is no URL`);
    }
    if (!this.#url.pathname.endsWith('/')) this.#url.pathname += '/';
    this.folder = this.#url.origin + this.#url.pathname;
    this.#signal = signal;
    this.#cache = cache;
  }

  address(name) {
    const address = new URL(this.#url);
    address.pathname += name;
    return address.href;
  }

  async get(name) {
    const address = this.address(name);
    this.#asked.add(address);
    const kept = await this.#cache?.match(address);
    if (kept) {
      this.#kept.add(kept);
      return kept.ok ? kept : undefined;
    }
    const response = await this.#heed(address, fetch(address, {signal: this.#signal}));
    // Sites that show one page at all addresses send it for a file that is not there, too.
    const page = response.headers.get('content-type')?.startsWith('text/html');
    if (page || [403, 404, 410].includes(response.status)) {
      await response.body?.cancel();
      this.#absent.add(address);
      return undefined;
    }
    if (!response.ok) fail(`${address}: ${response.status} ${response.statusText}`.trim(), 'IoError');
    return response;
  }

  // The cache takes chunks as they are read. What it has no room for is read without it.
  async read(name, response, take) {
    const address = this.address(name);
    const reader = response.body.getReader();
    let turn = Promise.resolve();
    const next = () => turn = turn.then(async () => {
      const {done, value} = await this.#heed(address, reader.read());
      if (!done) await take(value);
      return done ? undefined : value;
    });
    try {
      if (!this.#kept.has(response)) {
        const body = new ReadableStream({
          async pull(controller) {
            const chunk = await next();
            if (chunk) controller.enqueue(chunk);
            else controller.close();
          },
        }, {highWaterMark: 0});
        await this.#keep(address, new Response(body, {headers: response.headers}));
      }
      while (await next());
    } catch (error) {
      reader.cancel().catch(() => {});
      throw error;
    }
  }

  // Of a model that was loaded also what it does not have is kept, so that the next time needs no network.
  async loaded() {
    for (const address of this.#absent) await this.#keep(address, new Response(null, {status: 404}));
  }
  // What was malformed is fetched again the next time; without a network files stay.
  async failed(error) {
    if (!(error instanceof WeftError) || error.name === 'IoError') return;
    for (const address of this.#asked) await this.#cache?.delete(address);
  }

  async #keep(address, response) {
    try {
      await this.#cache?.put(address, response);
    } catch {
      // Its place is full, or it may keep nothing.
    }
  }

  async #heed(address, answer) {
    try {
      return await answer;
    } catch (error) {
      if (this.#signal?.aborted) throw error;
      return fail(`${address}: ${reason(error)}`, 'IoError');
    }
  }
}

// Files that a page has: an object of Blobs, buffers, texts, streams or Responses by their names in the model's folder, or
// the list of a folder that was chosen or dropped.
class GivenFiles {
  #files;
  folder = 'model/';
  constructor(files) {
    if (files === null || typeof files !== 'object') {
      fail(`models.load: files is ${shown(files)}, expected an object of files or a list of them`, 'TypeError');
    }
    const path = ({name, webkitRelativePath}) => webkitRelativePath?.replace(/^[^/]*\//, '') || name;
    this.#files = new Map(Symbol.iterator in files ? Array.from(files, (file) => [path(file), file]) : Object.entries(files));
  }
  get names() {
    return [...this.#files.keys()];
  }
  address(name) {
    return this.folder + name;
  }
  async get(name) {
    const file = this.#files.get(name);
    return file === undefined || isResponse(file) ? file : new Response(file);
  }
  loaded() {}
  failed() {}
  async read(name, response, take) {
    const reader = response.body?.getReader();
    for (let part; reader && !(part = await reader.read()).done;) await take(part.value);
  }
}

// ---- Loading

// The encoder of a model's folder: a URL, or {files}. `progress({file, loaded, total})` is called as bytes come; total is
// undefined where the server does not say it. `cache: false` keeps nothing (see CACHE). `prompt`: the name of the prompt
// before each text, of config_sentence_transformers.json, "none" for none; without it the model's default. `device`: not
// that of open(). `signal` aborts. Throws WeftError: IoError (a file is missing or cannot be fetched), FormatError (it is
// malformed, or not of this model), Unsupported (a kind of model that Weft does not have), OutOfMemory.
export async function load(source, options) {
  const {progress, cache = true, prompt, device, signal} =
      optionsOf(options, 'models.load', ['progress', 'cache', 'prompt', 'device', 'signal']);
  if (device !== undefined) addressOf(device, Device, 'models.load: device');
  const given = source?.files;
  // Only where caches are allowed: not in pages without a secure origin, nor in Node.
  const kept = cache && !given ? await globalThis.caches?.open(CACHE).catch(() => undefined) : undefined;
  const place = given ? new GivenFiles(given) : new Site(source, signal, kept);
  try {
    const encoder = await loadFrom(place, {progress, prompt, device, signal});
    await place.loaded();
    return encoder;
  } catch (error) {
    await place.failed(error);
    throw error;
  }
}

async function loadFrom(place, {progress, prompt, device, signal}) {
  const read = async (name, response, take) => {
    const told = response.headers.get('content-encoding') ? 0 : Number(response.headers.get('content-length'));
    let loaded = 0;
    await place.read(name, response, async (chunk) => {
      signal?.throwIfAborted();
      const total = await take(chunk) || told || undefined;
      loaded += chunk.byteLength;
      progress?.({file: name, loaded, total});
    });
    signal?.throwIfAborted();
  };
  const files = await readSettings(place, read);

  const {folder} = files;
  const response = await place.get(folder + WEIGHTS);
  if (!response) {
    if (await place.get(`${folder}${WEIGHTS}.index.json`)) {
      fail(`${place.address(folder)}: the weights are in several files; models.load takes them in one`, 'Unsupported');
    }
    fail(`${place.address(folder + WEIGHTS)}: no such file`, 'IoError');
  }
  let loader;
  try {
    const on = device?.addressFor('models.load: device') ?? 0;
    // Without a pause, so that nothing else is in the directory, whose files the module reads here and removes.
    for (const [name, bytes] of files.contents) call('file', place.folder + name, bytes);
    loader = new Loader(call('loader', place.folder, on, JSON.stringify({prompt})));
    let under_way = 0;
    await read(folder + WEIGHTS, response, async (chunk) => {
      let size;
      for (let at = 0; at < chunk.byteLength; at += PIECE) {
        size = Number(text(call('loader_take', loader.address, chunk.subarray(at, at + PIECE))));
      }
      under_way += chunk.byteLength;
      if (under_way >= UNDER_WAY) {
        await callLater('loader_wait', loader.address);
        under_way = 0;
      }
      return size;
    });
    return new SentenceEncoder(callJson('loader_finish', loader.address));
  } catch (error) {
    await response.body?.cancel().catch(() => {});
    throw error;
  } finally {
    loader?.dispose();
  }
}

class Loader extends Handle {
  static release = 'release_loader';
}

// All files of a model but its weights: {folder, contents}, the transformer's folder and bytes by names.
async function readSettings(place, read) {
  const contents = new Map();
  const fetchOne = async (name) => {
    const response = await place.get(name);
    if (!response) return;
    const parts = [];
    await read(name, response, (chunk) => void parts.push(chunk));
    contents.set(name, new Uint8Array(await new Blob(parts).arrayBuffer()));
  };
  const fetchAll = (names) => Promise.all(names.map(fetchOne));
  // What is no JSON is refused by the library, which says where.
  const json = (name) => {
    try {
      return JSON.parse(new TextDecoder().decode(contents.get(name)));
    } catch {
      return undefined;
    }
  };

  await fetchOne('modules.json');
  const listed = json('modules.json');
  const modules = (Array.isArray(listed) ? listed : []).map((module) => {
    const path = String(module?.path ?? '');
    return {type: String(module?.type), folder: path && path.replace(/\/*$/, '/')};
  });
  const folder = modules[0]?.type.endsWith('.Transformer') ? modules[0].folder : '';
  const after = modules.slice(1).filter((module) => module.folder);
  await fetchAll([
    'config_sentence_transformers.json',
    ...['config.json', 'tokenizer.json', 'tokenizer_config.json', 'sentence_bert_config.json'].map((n) => folder + n),
    ...after.map((module) => module.folder + 'config.json'),
    ...after.filter(({type}) => type.endsWith('.Dense')).map((module) => module.folder + WEIGHTS),
  ]);
  if (!contents.has(folder + 'config.json')) fail(`${place.address(folder)}config.json: no such file`, 'IoError');

  const others = [];
  if (!contents.has(folder + 'tokenizer.json')) others.push('vocab.txt');
  if (!json(folder + 'tokenizer_config.json')?.added_tokens_decoder) {
    others.push('special_tokens_map.json', 'added_tokens.json');
  }
  if (!contents.has(folder + 'sentence_bert_config.json')) {
    // Names that sentence-transformers has used for it.
    for (const kind of ['roberta', 'distilbert', 'camembert', 'albert', 'xlm-roberta', 'xlnet']) {
      others.push(`sentence_${kind}_config.json`);
    }
  }
  // A folder that is given is taken whole.
  const weights = (name) => name.endsWith('.safetensors') || name.endsWith('.bin') || name.endsWith('.onnx');
  const rest = (place.names ?? []).filter((name) => !contents.has(name) && !weights(name));
  await fetchAll([...new Set([...others.map((name) => folder + name), ...rest])]);
  return {folder, contents};
}

// ---- Encoders

class Embedding extends Handle {
  static release = 'release_embedding';
}

const wellFormed = (given, where) => {
  const strange = given.find((t) => typeof t !== 'string');
  if (strange !== undefined) fail(`${where}: ${String(strange)} is a ${typeof strange} among texts`, 'TypeError');
  return JSON.stringify(given.map((t) => t.toWellFormed?.() ?? new TextDecoder().decode(new TextEncoder().encode(t))));
};
const list = (texts) => (typeof texts === 'string' ? [texts] : Array.from(texts));

// Lets the page do what it has to do.
const pause = () => globalThis.scheduler?.yield?.() ?? new Promise((resolve) => setTimeout(resolve));

export class SentenceEncoder extends Handle {
  static release = 'release_encoder';
  // Only for load(). `dimension` of a vector; `maxLength`: tokens of a text that count, special ones included.
  constructor({address, dimension, maxLength, gpu}) {
    super(address);
    Object.assign(this, {dimension, maxLength, gpu});
  }
  // The vectors of texts: a tensor [texts, dimension] on the encoder's device; of one text [1, dimension]. `batch`: texts
  // that are computed at a time, by default 32 on a GPU and 8 on the cpu, which does nothing else meanwhile.
  // `progress({done, total})` is called behind each. `signal` aborts between them. A half of a surrogate pair in a text
  // counts as U+FFFD.
  async embed(texts, options) {
    const {batch = this.gpu ? 32 : 8, progress, signal} = optionsOf(options, 'embed', ['batch', 'progress', 'signal']);
    if (!(Number.isInteger(batch) && batch > 0)) fail(`embed: a batch of ${batch}; expected at least 1`);
    const given = list(texts);
    const work = new Embedding(call('embed', this.address, wellFormed(given, 'embed'), batch));
    try {
      for (let done = 0; done < given.length;) {
        signal?.throwIfAborted();
        done = await callLater('embed_next', work.address);
        progress?.({done, total: given.length});
        if (!this.gpu && done < given.length) await pause();
      }
      return new Tensor(callJson('embed_result', work.address));
    } finally {
      work.dispose();
    }
  }
  // The same as a Float32Array for each text.
  async vectors(texts, options) {
    const tensor = await this.embed(texts, options);
    try {
      const values = await tensor.data();
      return Array.from({length: tensor.shape[0]}, (_, i) => values.subarray(i * this.dimension, (i + 1) * this.dimension));
    } finally {
      tensor.dispose();
    }
  }
  // The ids of each text's tokens, special ones included, behind the model's prompt.
  tokenize(texts) {
    return callJson('encode', this.address, wellFormed(list(texts), 'tokenize'));
  }
}

// The cosine of each vector of `a` with each of `b`: of tensors [n, d] and [m, d] a tensor [n, m], of two Float32Arrays a
// number.
export function similarity(a, b) {
  for (const [name, v] of [['a', a], ['b', b]]) {
    const right = a instanceof Tensor ? v instanceof Tensor : arrayName(v) !== undefined || Array.isArray(v);
    if (!right) fail(`similarity: ${name} is ${shown(v)}, expected two tensors or two Float32Arrays`, 'TypeError');
  }
  if (a instanceof Tensor) {
    const unit = (x) => x.div(x.reduceL2({axes: [-1], keepDims: true}).maximum(1e-12));
    return tidy(() => unit(a).matmul(unit(b).T()));
  }
  if (a.length !== b.length) fail(`similarity: vectors of ${a.length} and of ${b.length} numbers`, 'ShapeError');
  let dot = 0, aa = 0, bb = 0;
  for (let i = 0; i < a.length; ++i) {
    dot += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return dot / Math.max(Math.sqrt(aa * bb), 1e-12);
}
