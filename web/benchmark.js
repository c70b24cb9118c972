// The benchmark page: Weft beside libraries whose addresses one types.
//
// A library is {name, about, prepare(work, device)}, which resolves to {run(count), result()}: `run` does the work so many
// times and ends when the device has done it, `result` gives the values. Prepare gives undefined for work it does not do.
import * as weft from './weft/index.js';

import {encodeModel} from './onnx.js';

const ROUNDS = 7, LEAST = 60;  // milliseconds that a run takes at least
const element = (id) => document.getElementById(id);

// ---- The work
const random = (() => {
  let state = 1;
  return (length) => Float32Array.from({length}, () => ((state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 31) - 1);
})();

// Inputs are {shape, values}; `per`: operations (GFLOP/s), bytes (GB/s) or texts (texts/s) of one time.
function worksFor(gpu) {
  const inputs = (...shapes) => shapes.map((shape) => ({shape, values: random(shape.reduce((a, b) => a * b))}));
  const n = gpu ? 1024 : 384, rows = gpu ? 2048 : 512, width = 768, elements = gpu ? 1 << 22 : 1 << 19;
  return [
    {kind: 'matmul', title: 'Product of matrices', size: `${n} × ${n}`, inputs: inputs([n, n], [n, n]), per: 2 * n ** 3, unit: 'GFLOP/s'},
    {kind: 'softmax', title: 'Softmax', size: `${rows} × ${width}`, inputs: inputs([rows, width]), per: 8 * rows * width, unit: 'GB/s'},
    {kind: 'chain', title: 'Chain of five functions', size: `${elements.toLocaleString('en')} numbers`, inputs: inputs([elements]),
     per: 8 * elements, unit: 'GB/s'},
    {kind: 'layernorm', title: 'Layer norm', size: `${rows} × ${width}`, inputs: inputs([rows, width], [width], [width]),
     per: 8 * rows * width, unit: 'GB/s'},
    {kind: 'sentences', title: 'MiniLM', size: '32 sentences', texts: Array.from({length: 32}, (_, i) =>
        `Sentence ${i} tells that number ${i * i} is the square of ${i}, which ${i % 2 ? 'few' : 'many'} people know by heart.`),
     per: 32, unit: 'sentences/s'},
  ];
}

// ---- Weft
const chain = (x) => x.mul(1.5).add(0.5).tanh().mul(x).abs();  // the same in each library

async function weftLibrary(model) {
  let encoder;
  const functions = {
    matmul: (a, b) => a.matmul(b),
    softmax: (x) => x.softmax(-1),
    chain,
    layernorm: (x, scale, bias) => weft.ops.layerNorm(x, scale, bias),
  };
  return {
    name: 'Weft',
    about: '',
    async prepare({kind, inputs, texts}, device) {
      if (kind === 'sentences') {
        if (!model) return undefined;
        encoder ??= await weft.models.load(model, {progress: ({file, loaded, total}) => {
          if (file.endsWith('.safetensors')) say(`Weft loads the model: ${Math.round(loaded / 1e6)} of ${Math.round((total ?? 0) / 1e6)} MB`);
        }});
        const embed = async () => (await encoder.vectors(texts)).flatMap((v) => [...v]);
        return {run: async (count) => { for (let i = 0; i < count; ++i) await embed(); }, result: embed};
      }
      const given = inputs.map(({shape, values}) => weft.tensor(values, {shape}));
      const f = weft.compile(functions[kind]);
      return {
        async run(count) {
          const made = Array.from({length: count}, () => f(...given));
          await weft.evaluate(...made);
          await device.wait();
          for (const tensor of made) tensor.dispose();
        },
        async result() {
          const tensor = f(...given);
          try {
            return await tensor.data();
          } finally {
            tensor.dispose();
          }
        },
      };
    },
  };
}

// ---- ONNX Runtime Web, of models that are made here
async function onnxRuntime(url, gpu) {
  const module = await import(url), ort = module.InferenceSession ? module : module.default;
  const provider = gpu ? 'webgpu' : 'wasm';
  if (!gpu) ort.env.wasm.numThreads = 1;
  return {
    name: 'ONNX Runtime Web',
    about: `${ort.env.versions?.web ?? ''} ${provider}`,
    async prepare({kind, inputs}) {
      const bytes = encodeModel(kind, inputs?.map(({shape}) => shape));
      if (!bytes) return undefined;
      const session = await ort.InferenceSession.create(
          bytes, {executionProviders: [provider], ...(gpu && {preferredOutputLocation: 'gpu-buffer'})});
      const feeds = {};
      const device = gpu ? await ort.env.webgpu.device : undefined;
      inputs.forEach(({shape, values}, i) => {
        if (!gpu) return void (feeds[`in${i}`] = new ort.Tensor('float32', values, shape));
        const buffer = device.createBuffer({size: values.byteLength, usage: 0x80 | 0x8 | 0x4});  // storage, copies to and from
        device.queue.writeBuffer(buffer, 0, values);
        feeds[`in${i}`] = ort.Tensor.fromGpuBuffer(buffer, {dataType: 'float32', dims: shape});
      });
      return {
        async run(count) {
          for (let i = 0; i < count; ++i) (await session.run(feeds)).out.dispose();
          await device?.queue.onSubmittedWorkDone();
        },
        async result() {
          const {out} = await session.run(feeds);
          return Float32Array.from(await out.getData(true));
        },
      };
    },
  };
}

// ---- TensorFlow.js, on the best backend that the module has
async function tensorFlow(url, gpu) {
  const module = await import(url), tf = module.matMul ? module : module.default;
  for (const backend of gpu ? ['webgpu', 'webgl'] : ['wasm', 'cpu']) {
    if (tf.findBackendFactory(backend) && await tf.setBackend(backend)) break;
  }
  await tf.ready();
  const functions = {
    matmul: (a, b) => tf.matMul(a, b),
    softmax: (x) => tf.softmax(x),
    chain: (x) => tf.abs(tf.mul(tf.tanh(tf.add(tf.mul(x, 1.5), 0.5)), x)),
    layernorm: (x, scale, bias) => {
      const {mean, variance} = tf.moments(x, -1, true);
      return tf.add(tf.mul(tf.mul(tf.sub(x, mean), tf.rsqrt(tf.add(variance, 1e-5))), scale), bias);
    },
  };
  return {
    name: 'TensorFlow.js',
    about: `${tf.version_core ?? ''} ${tf.getBackend()}`,
    async prepare({kind, inputs}) {
      const f = functions[kind];
      if (!f) return undefined;
      const given = inputs.map(({shape, values}) => tf.tensor(values, shape));
      return {
        async run(count) {
          for (let i = 0; i < count; ++i) {
            const last = tf.tidy(() => f(...given));
            if (i === count - 1) await tf.tidy(() => last.flatten().slice([0], [1])).data();  // waits for all
            last.dispose();
          }
        },
        result: async () => (await tf.tidy(() => f(...given)).data()).slice(),
      };
    },
  };
}

// ---- transformers.js, for sentences alone
async function transformersJs(url, gpu) {
  const {pipeline, env} = await import(url);
  const device = gpu ? 'webgpu' : 'wasm';
  return {
    name: 'transformers.js',
    about: `${env.version ?? ''} ${device}`,
    async prepare({kind, texts}) {
      if (kind !== 'sentences') return undefined;
      if (!gpu) env.backends.onnx.wasm.numThreads = 1;
      const extract = await pipeline('feature-extraction', 'Xenova/all-MiniLM-L6-v2', {device, dtype: 'fp32'});
      const embed = async () => (await extract(texts, {pooling: 'mean', normalize: true})).data;
      return {run: async (count) => { for (let i = 0; i < count; ++i) await embed(); }, result: embed};
    },
  };
}

// ---- Measuring
const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];
let stopped = false;
const say = (text) => void (element('state').textContent = text);
const pause = () => new Promise((done) => setTimeout(done));  // the page shows what it says

async function timed(entry) {
  const start = performance.now();
  await entry.run(entry.count);
  return (performance.now() - start) / entry.count;
}

// Of each library {name, times} or {name, error}, undefined where it does not do this.
async function measure(work, libraries, device) {
  const entries = await Promise.all(libraries.map(async (library) => {
    try {
      const prepared = await library.prepare(work, device);
      return prepared && {...prepared, name: library.name, times: [], count: 1};
    } catch (error) {
      return {name: library.name, error: error.message ?? String(error)};
    }
  }));
  const able = entries.filter((entry) => entry?.run);
  let reference;
  for (const entry of able) {
    try {
      const values = await entry.result();
      reference ??= values;
      const most = reference.reduce((m, v) => Math.max(m, Math.abs(v)), 0);
      entry.differs = reference.reduce((m, v, i) => Math.max(m, Math.abs(v - values[i]) || (Number.isNaN(values[i]) ? Infinity : 0)), 0) / most;
      await timed(entry);
      entry.count = Math.max(1, Math.min(64, Math.ceil(LEAST / Math.max(await timed(entry), 0.01))));
    } catch (error) {
      entry.error = error.message ?? String(error);
    }
  }
  for (let round = 0; round < ROUNDS && !stopped; ++round) {
    const order = round % 2 ? [...able].reverse() : able;
    for (const entry of order) if (!entry.error) entry.times.push(await timed(entry));
    say(`${work.title}: run ${round + 1} of ${ROUNDS}`);
    await pause();
  }
  return entries;
}

function cell(entry, first, {per, unit}) {
  const td = document.createElement('td');
  const small = (text) => {
    const element = document.createElement('small');
    element.textContent = text;
    td.append(element);
  };
  if (!entry?.times?.length && !entry?.error) {
    td.textContent = '–';
  } else if (entry.error) {
    td.textContent = 'failed';
    small(entry.error.slice(0, 200));
  } else {
    const time = median(entry.times);
    const rate = per / time / (unit === 'sentences/s' ? 1e-3 : 1e6);
    td.textContent = `${rate.toPrecision(3)} ${unit}`;
    small(`${time.toPrecision(3)} ms`);
    if (entry !== first && first?.times?.length) small(`${median(entry.times.map((t, i) => first.times[i] / t)).toPrecision(2)} × Weft`);
    if (entry.differs > 1e-3) small('its result is another one');
  }
  return td;
}

let outcome;

async function start() {
  stopped = false;
  element('start').disabled = true;
  element('stop').hidden = false;
  element('error').hidden = true;
  try {
    const gpu = document.querySelector('[name=device]:checked').value === 'gpu';
    const device = await weft.open({device: gpu ? await gpuName() : 'cpu'});
    const libraries = [await weftLibrary(element('model').value)];
    for (const [id, make] of Object.entries({ort: onnxRuntime, tf: tensorFlow, transformers: transformersJs})) {
      const url = element(id).value.trim();
      if (!url) continue;
      say(`Importing ${url}…`);
      libraries.push(await make(new URL(url, document.baseURI).href, gpu));
    }
    outcome = {device: device.name, browser: navigator.userAgent, results: []};
    element('where').textContent = device.gpu ? `on ${device.name}` : 'on one core of the CPU';
    element('head').replaceChildren(...['', ...libraries].map((library) => {
      const th = document.createElement('th');
      if (library) {
        const about = document.createElement('small');
        about.textContent = library.about;
        th.append(library.name, about);
      }
      return th;
    }));
    element('body').replaceChildren();
    element('outcome').hidden = false;
    for (const work of worksFor(device.gpu)) {
      if (stopped) break;
      say(`${work.title}…`);
      await pause();
      const entries = await measure(work, libraries, device);
      const row = document.createElement('tr'), head = document.createElement('th'), size = document.createElement('small');
      size.textContent = work.size;
      head.append(work.title, size);
      row.append(head, ...entries.map((entry) => cell(entry, entries[0], work)));
      element('body').append(row);
      outcome.results.push({work: work.title, size: work.size, libraries: entries.map((entry) => entry && {
        name: entry.name, error: entry.error, milliseconds: entry.times?.length ? median(entry.times) : undefined,
        times: entry.times, differs: entry.differs,
      })});
    }
    say(stopped ? 'Stopped.' : 'Done.');
  } catch (error) {
    console.error(error);
    say('');
    element('error').textContent = error.message;
    element('error').hidden = false;
  }
  element('start').disabled = false;
  element('stop').hidden = true;
}

// The GPU, or the name of one that is emulated, which Weft takes only by that.
async function gpuName() {
  const {isFallbackAdapter, architecture, description, vendor} = (await navigator.gpu?.requestAdapter())?.info ?? {};
  return isFallbackAdapter ? architecture || description || vendor : 'gpu';
}

const adapter = await navigator.gpu?.requestAdapter().catch(() => null);
if (!adapter) {
  element('notice').textContent = 'There is no WebGPU in this browser, or no graphics card for it: only the CPU can be measured.';
  element('notice').hidden = false;
}
for (const input of document.querySelectorAll('[name=device]')) {
  input.disabled = input.value === 'gpu' && !adapter;
  input.checked = input.value === (adapter ? 'gpu' : 'cpu');
}
element('start').onclick = start;
element('stop').onclick = () => (stopped = true);
element('copy').onclick = () => navigator.clipboard.writeText(JSON.stringify(outcome, null, 1));
