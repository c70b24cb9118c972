// Sentence encoders: models in Hugging Face's directory layout, which make vectors of texts.
//
//   const encoder = await weft.models.load('https://example.org/all-MiniLM-L6-v2/');
//   const vectors = await encoder.embed(['A sentence.', 'Another one.']);
//   console.log(await weft.models.similarity(vectors, vectors).toArray());
//
// Weights go to the device as they come: those of a GPU are never in the module's memory as a whole.
import {Handle, addressOf, arrayName, call, callJson, callLater, fail, optionsOf, shown, text} from './core.js';
import {GivenFiles, PIECE, Site, UNDER_WAY, openCache, reader} from './files.js';
import {Device, Tensor, tidy} from './index.js';

// The name of the cache that keeps files: caches.delete(weft.models.CACHE) forgets them.
export const CACHE = 'weft-models';

const WEIGHTS = 'model.safetensors';

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
  const kept = cache && !given ? await openCache(CACHE) : undefined;
  const place = given ? new GivenFiles(given, 'models.load')
                      : new Site(source, {where: 'models.load', of: 'a folder with a model', signal, cache: kept});
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
  const read = reader(place, {progress, signal});
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
