// The fourth card: a model in ONNX's format, on numbers and pictures.
import * as weft from './weft/index.js';

const EXAMPLE = 'digits.onnx';
const SHOWN = 5, FIRST = 8;
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;
const number = (v) => (typeof v === 'bigint' || Number.isInteger(v) ? String(v) : Number(v).toPrecision(4));

// How numbers from 0 to 1 of a picture become a network's: each less the mean, by the deviation.
const SCALES = {
  'From 0 to 1': {mean: [0, 0, 0], deviation: [1, 1, 1]},
  'From −1 to 1': {mean: [0.5, 0.5, 0.5], deviation: [0.5, 0.5, 0.5]},
  'From 0 to 255': {mean: [0, 0, 0], deviation: [1 / 255, 1 / 255, 1 / 255]},
  'As of ImageNet': {mean: [0.485, 0.456, 0.406], deviation: [0.229, 0.224, 0.225]},
};

const shapeText = ({shape}) => (shape ? `[${shape.map((size) => size ?? '?').join(', ')}]` : '');

// Where the axes of a picture are: {channels, height, width}, the axes; undefined for what is no picture.
export function pictureAxes({shape, dtype}) {
  if (shape?.length !== 4 || !['f32', 'f16', 'u8'].includes(dtype)) return undefined;
  const isChannels = (size) => [1, 3, 4].includes(size);
  return isChannels(shape[1]) ? {channels: 1, height: 2, width: 3} : isChannels(shape[3]) ? {channels: 3, height: 1, width: 2} : undefined;
}

// The tensor that a text says: nothing is random numbers (of integers zeros), one number is for all elements.
export function tensorOf(text, port, shape) {
  const words = text.trim().split(/[\s,;[\]]+/).filter(Boolean), count = shape.reduce((a, b) => a * b, 1);
  const dtype = port.dtype, integer = /^[iu]\d/.test(dtype);
  if (!words.length) return integer || dtype === 'bool' ? weft.zeros(shape, dtype) : weft.random.uniform(shape).cast(dtype);
  const values = words.map((word) => (/^(true|false)$/.test(word) ? Number(word === 'true') : Number(word)));
  const wrong = values.findIndex(Number.isNaN);
  if (wrong >= 0) throw new Error(`“${words[wrong]}” is no number`);
  if (values.length === 1) return weft.full(shape, values[0], dtype);
  if (values.length !== count) throw new Error(`${values.length} numbers, expected ${count} for [${shape.join(', ')}], or one for all`);
  return weft.tidy(() => weft.tensor(values, dtype === 'bool' ? {} : {dtype}).cast(dtype).reshape(shape));
}

// The same of a picture.
export function tensorOfPicture(picture, port, shape, scale) {
  const axes = pictureAxes(port), channels = shape[axes.channels];
  return weft.tidy(() => {
    const pixels = weft.fromPixels(picture, {channels: Math.max(channels, 1) === 1 ? 3 : channels, width: shape[axes.width], height: shape[axes.height]});
    // Of one channel the brightness.
    const own = channels === 1 ? pixels.mul(weft.tensor([0.299, 0.587, 0.114])).sum({axes: [2], keepDims: true}) : pixels;
    if (port.dtype === 'u8') return spread(own.mul(255).round().cast('u8'));
    const of = (values) => weft.tensor(Array.from({length: channels}, (_, c) => values[c] ?? values[0]));
    return spread(own.sub(of(scale.mean)).div(of(scale.deviation)).cast(port.dtype));
    function spread(x) {
      const placed = axes.channels === 1 ? x.permute([2, 0, 1]) : x;
      return placed.expandDims([0]).broadcastTo(shape);
    }
  });
}

export function createModel(app) {
  const element = (id) => document.getElementById(id);
  const area = element('onnx'), address = element('onnx-url');
  let model, source;  // what is loaded, and from where: {from, options}
  let controller;
  const pictures = new Map();  // of inputs, by their names
  let fields = [];             // of inputs: {port, text, picture, scale}
  let sizes = new Map();       // fields of open sizes, by their names

  const make = (tag, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  };

  function fail(error) {
    if (app.failed(error)) return;
    element('onnx-error').textContent = error.message;
    element('onnx-error').hidden = false;
  }
  function progress(state, part) {
    element('onnx-progress').hidden = state === undefined;
    element('onnx-state').textContent = state ?? '';
    if (part === undefined) element('onnx-bar').removeAttribute('value');
    else element('onnx-bar').value = part;
  }

  // ---- Loading
  async function load(from, options = {}) {
    controller?.abort();
    const mine = controller = new AbortController();
    element('onnx-error').hidden = true;
    progress('Loading…');
    const start = performance.now();
    try {
      if (!app.device) throw new Error('Weft is not there yet.');
      const made = await weft.onnx.load(from, {
        ...options, signal: mine.signal,
        progress: ({file, loaded, total}) =>
          progress(`${file}: ${megabytes(loaded)}${total ? ` of ${megabytes(total)}` : ''}`, total && loaded / total),
      });
      if (mine !== controller) return made.dispose();
      model?.dispose();
      model = made;
      source = {from, options};
      progress();
      describe((performance.now() - start) / 1000);
      await run();
    } catch (error) {
      if (mine !== controller) return;
      progress();
      if (!mine.signal.aborted) fail(error);
    }
  }

  function describe(seconds) {
    pictures.clear();
    element('onnx-model').hidden = false;
    element('onnx-outputs').replaceChildren();
    const opset = model.opsets['ai.onnx'];
    element('onnx-about').textContent = `${[model.name, model.producer && `made by ${model.producer.trim()}`].filter(Boolean).join(', ') || 'A model'}: ` +
        `${model.parameters.toLocaleString('en')} parameters${opset ? `, opset ${opset}` : ''}; loaded in ${seconds.toFixed(1)} seconds.`;
    sizes = new Map();
    const open = [];
    fields = model.inputs.map((port, i) => {
      const axes = pictureAxes(port);
      port.shape?.forEach((size, axis) => {
        const name = typeof size === 'string' ? size : size === null ? `axis ${axis} of ${port.name}` : undefined;
        if (name === undefined || sizes.has(name)) return;
        const is = axes && [axes.height, axes.width].includes(axis);
        const input = make('input', {type: 'number', min: 0, step: 1, value: is ? 224 : 1, id: `onnx-size-${sizes.size}`});
        input.onchange = run;
        sizes.set(name, input);
        open.push(make('div', {className: 'field'}, make('label', {htmlFor: input.id, textContent: name}), input));
      });
      const text = make('textarea', {id: `onnx-input-${i}`, rows: 2, spellcheck: false, autocomplete: 'off',
                                     placeholder: /^[iu]\d|bool/.test(port.dtype) ? 'zeros, unless you write numbers' : 'random numbers, unless you write some'});
      text.onchange = run;
      const label = make('label', {htmlFor: text.id, textContent: `${port.name}: ${port.dtype ?? port.type} ${shapeText(port)}`});
      const row = make('div', {className: 'field'}, label, text), field = {port, text, axes};
      if (axes) {
        field.scale = make('select', {ariaLabel: `Numbers of the picture for ${port.name}`},
                           ...Object.keys(SCALES).map((name) => make('option', {value: name, textContent: name})));
        field.scale.onchange = run;
        const file = make('input', {type: 'file', accept: 'image/*', className: 'hidden'});
        file.onchange = () => {
          take([...file.files], field);
          file.value = '';
        };
        row.append(make('div', {className: 'choices'}, make('label', {className: 'button'}, 'A picture…', file), field.scale));
      }
      return {...field, row};
    });
    element('onnx-sizes').replaceChildren(...open);
    element('onnx-inputs').replaceChildren(...fields.map(({row}) => row));
  }

  // ---- Running
  const shapeOf = (port) => (port.shape ?? []).map((size, axis) => {
    if (typeof size === 'number') return size;
    const value = Number(sizes.get(size ?? `axis ${axis} of ${port.name}`).value);
    if (!Number.isInteger(value) || value < 0) throw new Error(`${size ?? `axis ${axis}`} is no size`);
    return value;
  });

  let busy = false, again = false;
  async function run() {
    if (busy) return void (again = true);
    busy = true;
    element('onnx-error').hidden = true;
    element('onnx-run').disabled = true;
    const mine = model, inputs = {};
    try {
      for (const {port, text, scale} of fields) {
        if (!port.dtype || /^(seq|optional|map)/.test(port.type)) {
          if (port.type.startsWith('optional')) continue;
          throw new Error(`The input ${port.name} is a ${port.type}, which this page has no field for.`);
        }
        const shape = shapeOf(port), picture = pictures.get(port.name);
        try {
          inputs[port.name] = picture ? tensorOfPicture(picture, port, shape, SCALES[scale.value]) : tensorOf(text.value, port, shape);
        } catch (error) {
          throw new Error(`${port.name}: ${error.message}`, {cause: error});
        }
      }
      const start = performance.now();
      const outputs = await mine.run(inputs);
      const shown = await Promise.all(Object.entries(outputs).map(show));
      const took = performance.now() - start;
      app.took(took);
      if (mine === model) {
        element('onnx-outputs').replaceChildren(...shown);
        element('onnx-figures').textContent = `computed in ${took.toFixed(took < 10 ? 1 : 0)} milliseconds, with reading the values`;
      }
    } catch (error) {
      if (mine === model) fail(error.cause?.name === 'DeviceLost' ? error.cause : error);
    } finally {
      for (const t of Object.values(inputs)) t.dispose();
    }
    busy = false;
    element('onnx-run').disabled = false;
    if (again) {
      again = false;
      run();
    }
  }

  // An output, with its largest values, or its first ones.
  async function show([name, value]) {
    const all = [value].flat().filter(Boolean);
    const parts = await Promise.all(all.map(async (t) => {
      const numbers = await values(t);
      t.dispose();
      return describeValues(t, numbers);
    }));
    return make('div', {className: 'output'}, make('h3', {textContent: name}),
                ...(parts.length ? parts.flat() : [make('p', {textContent: 'no value'})]));
  }
  async function values(t) {
    if (!/^(f16|bf16|f8|[iu][24]$)/.test(t.dtype)) return t.data();
    const wide = t.cast('f32');
    try {
      return await wide.data();
    } finally {
      wide.dispose();
    }
  }
  function describeValues({dtype, shape}, numbers) {
    const last = shape.at(-1) ?? 1, finite = Array.from(numbers, Number).filter(Number.isFinite);
    const lines = [make('p', {className: 'figures', textContent: `${dtype} [${shape.join(', ')}]` + (finite.length > 1 ?
        `, from ${number(finite.reduce((a, b) => Math.min(a, b)))} to ${number(finite.reduce((a, b) => Math.max(a, b)))}` : '')})];
    const isScores = /^b?f/.test(dtype) && dtype !== 'bool' && shape.length <= 2 && last > 1 && numbers.length >= last;
    if (!isScores) {
      const first = Array.from(numbers.slice(0, FIRST), number).join(', ');
      return [...lines, make('p', {textContent: first + (numbers.length > FIRST ? ', …' : '')})];
    }
    // Of the first row.
    const row = Array.from(numbers.slice(0, last)), top = row.map((v, i) => [v, i]).sort((a, b) => b[0] - a[0]).slice(0, SHOWN);
    const [most, least] = [top[0][0], Math.min(0, ...row)];
    return [...lines, make('ol', {className: 'bars'}, ...top.map(([v, i]) => {
      const bar = make('b');
      bar.style.transform = `scaleX(${most > least ? Math.max(0, (v - least) / (most - least)).toFixed(4) : 0})`;
      return make('li', {}, String(i), make('i', {}, bar), make('span', {textContent: number(v)}));
    }))];
  }

  // ---- Files
  // What was chosen or dropped: a model with the files beside it, or a picture for the first input that takes one.
  async function take(list, field) {
    const chosen = list.find(({name}) => /\.onnx$/i.test(name));
    if (chosen) return load(chosen, {files: list.filter((file) => file !== chosen)});
    const file = list[0];
    if (!file) return;
    const to = field ?? fields.find(({axes}) => axes);
    try {
      if (!to) throw new Error(model ? `The model takes no pictures, and ${file.name} is no file with .onnx at the end of its name.` :
                                       `${file.name} is no file with .onnx at the end of its name.`);
      const picture = await createImageBitmap(file).catch(() => {
        throw new Error(`${file.name || 'This'} is no picture that the browser can read.`);
      });
      pictures.get(to.port.name)?.close();
      pictures.set(to.port.name, picture);
      to.text.value = '';
      to.text.placeholder = `the picture ${file.name}`;
      await run();
    } catch (error) {
      fail(error);
    }
  }
  element('onnx-files').addEventListener('change', ({target}) => {
    take([...target.files]);
    target.value = '';
  });
  for (const name of ['dragover', 'dragleave', 'drop']) {
    area.addEventListener(name, (event) => {
      event.preventDefault();
      element('onnx-load').classList.toggle('over', name === 'dragover');
      if (name === 'drop') take([...event.dataTransfer.files]);
    });
  }
  element('onnx-example').onclick = () => load(new URL(EXAMPLE, import.meta.url));
  element('onnx-fetch').onclick = () => load(address.value);
  element('onnx-stop').onclick = () => controller?.abort();
  element('onnx-run').onclick = run;

  return {
    // On another device it is loaded again.
    use() {
      if (source) load(source.from, source.options);
    },
  };
}
