// Uses the page of web/ as people do, in Chromium without a window.
//
//   node page.mjs SITE MODEL [FILTER | --pictures DIRECTORY]
//
// SITE is the folder that ./dev web page makes, MODEL one of a sentence encoder, all-MiniLM-L6-v2; WEFT_RAPIDOCR may name the
// wheel of rapidocr. With --pictures it only
// takes pictures of the page at three sizes, light and dark.
import {mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {request} from 'node:http';
import {tmpdir} from 'node:os';
import {join, resolve} from 'node:path';
import {brotliDecompressSync, crc32, deflateRawSync, gunzipSync} from 'node:zlib';

import {serve} from '../../../web/serve.mjs';
import {SOFTWARE_GPU, withBrowser} from './browser.mjs';
import {check, close, equal, run, test} from './harness.mjs';
import {modelProto, tensorProto} from './onnx_writer.mjs';

const [, , site, model, ...rest] = process.argv;
const given = mkdtempSync(join(tmpdir(), 'weft-page-'));  // what tests serve
const server = await serve(site, 0, {model, given});
const origin = `http://127.0.0.1:${server.address().port}/`;
const {linesOf, readZip, textOf} = await import(join(resolve(site), 'read.js'));
const {EXAMPLES, readSafetensors, reduceLines} = await import(join(resolve(site), 'digits.js'));

let browser;  // with a software GPU
const STARTED = "document.querySelector('.started') && document.querySelector('#picture-figures').textContent";

// What an earlier test left in the browser is not there.
const fresh = `if (location.protocol !== 'about:' && !sessionStorage.length) {
  localStorage.clear();
  sessionStorage.setItem('seen', '');
}`;
const openPage = (address, {before = '', ...options} = {}) =>
  browser.open(address, {...options, before: `${fresh}\n${before}`});

// But for files that models need not have.
const complaintsOf = (page) => page.complaints.filter((text) => !/404 \(Not Found\).*\/model\//.test(text));

// Opens the page on a device, uses it, and closes it. Nothing may complain.
const onPage = (query, use, options) => async () => {
  const page = await openPage(origin + query, options);
  await page.until(STARTED);
  await use(page);
  equal(complaintsOf(page), []);
  await page.close();
};

// ---- Formulas

// Of JavaScript itself.
const clamp = (v, low, high) => Math.min(Math.max(v, low), high);
const mix = (a, b, t) => a + (b - a) * t;
const smoothstep = (a, b, v) => {
  const p = clamp((v - a) / (b - a), 0, 1);
  return p * p * (3 - 2 * p);
};
function pictureOf(expression, width, height) {
  const {sin, cos, atan2, hypot, floor, abs, sqrt, exp, log, min, max, pow, round, sign, cbrt, tanh} = Math;
  const known = {sin, cos, atan2, hypot, floor, abs, sqrt, exp, log, min, max, pow, round, sign, cbrt, tanh, clamp, mix, smoothstep,
                 fract: (v) => v - floor(v), pi: Math.PI};
  const f = new Function(...Object.keys(known), 'x', 'y', 'r', 'angle', `return ${expression}`);
  const pixels = [];
  for (let j = 0; j < height; ++j) {
    for (let i = 0; i < width; ++i) {
      const x = -1.6 + 3.2 * i / (width - 1), y = 1 - 2 * j / (height - 1);
      const value = f(...Object.values(known), x, y, hypot(x, y), atan2(y, x));
      for (const v of Array.isArray(value) ? value : [value, value, value]) pixels.push(Math.round(255 * clamp(+v || 0, 0, 1)));
    }
  }
  return pixels;
}

// Waits until the canvas shows these pixels, but for one in `few`, where conditions hold for one rounding of x and not for
// another.
async function shows(page, expression, few = 200) {
  let wrong, size;
  for (let i = 0; i < 300; ++i) {
    const {width, height, pixels} = await page.get(`(() => {
      const canvas = document.querySelector('#picture-canvas');
      const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      return {width: canvas.width, height: canvas.height, pixels: Array.from(data).filter((_, i) => i % 4 < 3)};
    })()`);
    const expected = pictureOf(expression, width, height);
    wrong = pixels.findIndex((v, n) => Math.abs(v - expected[n]) > 1);
    size = [width, height, pixels[wrong], expected[wrong]];
    if (pixels.filter((v, n) => Math.abs(v - expected[n]) > 1).length * few <= pixels.length) return;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`${expression}: component ${wrong} of ${size[0]} x ${size[1]} is ${size[2]}, expected ${size[3]}`);
}

for (const device of ['cpu', 'gpu']) {
  test(`formulas are the pictures that JavaScript computes (${device})`, onPage(`?device=${device}`, async (page) => {
    for (const expression of [
      '[0.5 + 0.5*sin(3*x), r / 2, angle / 7 + 0.5]', 'x*x + y*y < 0.5 ? 1 : 0.2', 'sqrt(x) + 0.1', 'fract(2*x) * abs(y)',
      '(floor(4*x) + floor(4*y)) % 2 == 0 || r > 1 && !(y < 0)', 'min(x, y, 0.5) + max(x, 0.2)', '2 ** (x - 1)', '1 - -y / 2 - .5e-1',
      'mix(x, y, 0.3) * smoothstep(0, 1, r)', 'clamp(exp(x) / 4, 0.2, 0.7)', '[1, 0.5, x > 0] ', 'pow(r, 1.5) * cos(angle)',
      'x > 0 ? y > 0 ? 0.2 : 0.4 : tanh(y) + 0.5', 'hypot(x, y, 0.2) / 2', 'log(r) + round(y) / 4 + cbrt(x) / 8',
    ]) {
      await page.type('#formula', expression);
      await shows(page, expression, 50);
    }
    // Names, Math's functions, comments, derivatives.
    await page.type('#formula', '// a wave\nconst v = Math.sin(5*x);\nw = v*y; 0.5 + dx(w)/12 + dy(w)/8');
    await shows(page, '0.5 + 5*cos(5*x)*y/12 + sin(5*x)/8');
    await page.type('#formula', 'dx(dx(x**3)) / 8 + dy(x)');
    await shows(page, '6*x/8');
  }));
}

test('a wrong formula is told where, and the picture stays', onPage('?device=cpu', async (page) => {
  for (const [text, message, marked] of [
    ['1 + sni(x)', /^Character 5: there is no function “sni”/, 'sni'],
    ['v = x;\nv + * 2', /^Line 2, character 5: “\*” was not expected/, '*'],
    ['sin(x', /^Character 6: “\)” is missing at the end/, ' '],
    ['q', /^Character 1: “q” is not known; there are x, y, t/, 'q'],
    ['[x, y]', /^Character 1: a colour is \[red, green, blue\], here are 2 numbers/, '[x, y]'],
    ['x @ y', /^Character 3: “@” has no meaning here/, '@'],
    ['constructor', /^Character 1: “constructor” is not known/, 'constructor'],
    ['('.repeat(500), /^Character \d+: there are too many brackets/, '('],
    ['', /^Character 1: write a formula/, ' '],
  ]) {
    await page.type('#formula', text);
    if (!text) await page.get("(() => { const f = document.querySelector('#formula'); f.value = ''; f.dispatchEvent(new Event('input')); })()");
    const shown = await page.until("!document.querySelector('#formula-error').hidden && document.querySelector('#formula-error').innerText");
    check(message.test(shown), `${shown} says ${message}`);
    equal(await page.get("document.querySelector('#formula-error mark').textContent"), marked);
  }
  await page.type('#formula', '0.25');
  await shows(page, '0.25');
  check(await page.get("document.querySelector('#formula-error').hidden"), 'the message goes');
}));

test('every example is a picture', onPage('?device=cpu', async (page) => {
  const count = await page.get("document.querySelectorAll('#picture-examples button').length");
  for (let i = 1; i <= count; ++i) {
    await page.click(`#picture-examples button:nth-child(${i})`);
    await page.until(`(() => {
      const canvas = document.querySelector('#picture-canvas');
      const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      return document.querySelector('#formula-error').hidden && new Set(new Uint32Array(data.buffer)).size > 1;
    })()`);
  }
}));

test('reduced motion: one picture, until Play', onPage('?device=cpu', async (page) => {
  const still = async () => {
    const picture = "document.querySelector('#picture-canvas').toDataURL()";
    const before = await page.get(picture);
    await new Promise((done) => setTimeout(done, 1000));
    return before === await page.get(picture);
  };
  await page.type('#formula', 'fract(t + x)');
  await new Promise((done) => setTimeout(done, 500));
  check(await still(), 'nothing moves');
  await page.click('#picture-pause');
  check(!await still(), 'Play plays');
  await page.click('#picture-pause');
  await new Promise((done) => setTimeout(done, 300));
  check(await still(), 'Pause pauses');
}, {still: true}));

// ---- Digits

// The network in loops.
function probabilitiesOf(pixels, {w1, b1, w2, b2, w3, b3}) {
  const layer = (x, channels, w, b) => Array.from(b.values, (bias, o) => Float64Array.from({length: 64}, (_, i) => {
    let sum = bias;
    for (let c = 0; c < channels; ++c) {
      for (let k = 0; k < 9; ++k) {
        const row = (i >> 3) + Math.floor(k / 3) - 1, column = (i & 7) + k % 3 - 1;
        if (row >= 0 && row < 8 && column >= 0 && column < 8) sum += x[c][8 * row + column] * w.values[(o * channels + c) * 9 + k];
      }
    }
    return Math.max(sum, 0);
  }));
  const two = layer(layer([pixels], 1, w1, b1), 16, w2, b2);
  const pooled = two.flatMap((plane) => Array.from({length: 16}, (_, i) => {
    const at = 16 * (i >> 2) + 2 * (i & 3);
    return Math.max(plane[at], plane[at + 1], plane[at + 8], plane[at + 9]);
  }));
  const powers = Array.from(b3.values, (bias, d) => Math.exp(pooled.reduce((sum, v, i) => sum + v * w3.values[10 * i + d], bias)));
  return powers.map((v) => v / powers.reduce((a, b) => a + b));
}

const weightBytes = readFileSync(join(site, 'digits.safetensors'));
const weights = readSafetensors(weightBytes.buffer.slice(weightBytes.byteOffset, weightBytes.byteOffset + weightBytes.length));
const verdict = (page) => page.get("document.querySelector('#digit-verdict').firstChild?.data");

for (const device of ['cpu', 'gpu']) {
  test(`the network through navigator.ml is the one in loops (${device})`, onPage(`?device=${device}`, async (page) => {
    await page.until("document.querySelector('#digit-interface').textContent");
    const given = EXAMPLES.map(reduceLines);
    const found = await page.get(`(async () => {
      const {createRecogniser, readSafetensors} = await import('./digits.js');
      const weights = readSafetensors(await (await fetch('digits.safetensors')).arrayBuffer());
      const recognise = await createRecogniser(await navigator.ml.createContext(), weights);
      const all = [];
      for (const pixels of ${JSON.stringify(given.map((p) => [...p]))}) all.push([...await recognise(new Float32Array(pixels))]);
      return all;
    })()`);
    close(found, given.map((pixels) => probabilitiesOf(pixels, weights)), 1e-5);
  }));
}

test('digits that the mouse draws are recognised', onPage('?device=gpu', async (page) => {
  await page.until("document.querySelector('#digit-interface').textContent");
  for (const [digit, lines] of EXAMPLES.entries()) {
    await page.click('#digit-clear');
    await page.until("document.querySelector('#digit-verdict').textContent === 'nothing yet'");
    for (const line of lines) await page.draw('#digit-canvas', line.map(([x, y]) => [0.2 + 0.6 * x, 0.15 + 0.7 * y]));
    await page.until(`document.querySelector('#digit-verdict').firstChild?.data === '${digit}'`, 20);
  }
  check(/^recognised in [\d.]+ milliseconds$/.test(await page.text('#digit-figures')), 'it tells how long it took');
}));

test('digits on pictures are recognised, dark and light; other files are refused', onPage('?device=cpu', async (page) => {
  await page.until("document.querySelector('#digit-interface').textContent");
  const folder = mkdtempSync(join(tmpdir(), 'weft-pictures-'));
  try {
    for (const [digit, ink, paper] of [[2, '#123', '#fff'], [5, '#ff8', '#135'], [7, '#000', 'transparent']]) {
      const url = await page.get(`(() => {
        const canvas = Object.assign(document.createElement('canvas'), {width: 400, height: 300});
        const context = canvas.getContext('2d');
        Object.assign(context, {fillStyle: '${paper}', strokeStyle: '${ink}', lineWidth: 18, lineCap: 'round'});
        context.fillRect(0, 0, 400, 300);
        for (const line of ${JSON.stringify(EXAMPLES[digit])}) {
          context.beginPath();
          for (const [x, y] of line) context.lineTo(80 + 180 * x, 60 + 180 * y);
          context.stroke();
        }
        return canvas.toDataURL();
      })()`);
      const file = join(folder, `${digit}.png`);
      writeFileSync(file, Buffer.from(url.split(',')[1], 'base64'));
      await page.choose('#digit-file', [file]);
      await page.until(`document.querySelector('#digit-verdict').firstChild?.data === '${digit}'`, 20);
    }
    writeFileSync(join(folder, 'note.png'), 'no picture');
    await page.choose('#digit-file', [join(folder, 'note.png')]);
    equal(await page.until("document.querySelector('#digit-error').textContent"), 'note.png is no picture that the browser can read');
  } finally {
    rmSync(folder, {recursive: true});
  }
}));

test('Show me one draws each digit', onPage('?device=cpu', async (page) => {
  await page.until("document.querySelector('#digit-interface').textContent");
  const found = new Set();
  for (let i = 0; i < 10; ++i) {
    await page.click('#digit-example');
    await page.until("document.querySelector('#digit-figures').textContent");
    found.add(await verdict(page));
  }
  check(found.size >= 9, `${[...found]} are nearly all`);
}));

// ---- Search
const RESULT = "document.querySelector('#results li p')?.textContent";

async function loadModel(page) {
  check(/91 MB.*huggingface\.co/s.test(await page.until("document.querySelector('#model-size').textContent")), 'the size is told before');
  await page.get("document.querySelector('#model-load details').open = true");
  await page.type('#model-url', await page.get("new URL('model/', location.href).href.split('?')[0]"));
  await page.until("/The model there has 91 MB|on this computer already/.test(document.querySelector('#model-size').textContent)");
  await page.click('#model-button');
  await page.until(RESULT, 120);
}

for (const device of ['cpu', 'gpu']) {
  test(`sentences are ranked by meaning (${device})`, onPage(`?device=${device}`, async (page) => {
    await loadModel(page);
    for (const [question, answer] of [
      ['wifi', 'The password of the wireless network is on the back of this card.'],
      ['my dog', 'Dogs are welcome, though not on the beds.'],
      ['groceries', 'Old Marta sells bread, cheese and tomatoes three houses down the road.'],
    ]) {
      await page.type('#query', question);
      await page.until(`${RESULT} === ${JSON.stringify(answer)}`, 60);
    }
    await page.type('#text', 'Cats sleep all day. Trains run on rails! Does bread need yeast?\nSnow is cold');
    await page.type('#query', 'railway');
    await page.until(`${RESULT} === 'Trains run on rails!'`, 60);
    equal(await page.get("document.querySelectorAll('#results li').length"), 4);
    await page.type('#text', ' ');
    await page.until("document.querySelectorAll('#results li').length === 0", 60);
  }));
}

test('a text and a model\'s address are there again after a reload', onPage('?device=cpu', async (page) => {
  const value = (id) => page.get(`document.querySelector('#${id}').value`);
  const reload = async () => {
    await page.send('Page.reload');
    // (Where it is scrolled to the picture may be out of sight, and not drawn.)
    await page.until("document.readyState === 'complete' && document.querySelector('.dot.cpu')");
  };
  const [text, address] = [await value('text'), await value('model-url')];
  equal(await page.get("[document.querySelector('#text-example').hidden, document.querySelector('#model-load details').open]"), [true, false]);
  await page.get("document.querySelector('#model-load details').open = true");
  await page.type('#text', 'Snow is cold. “Größe”\nTrains run on rails!');
  await page.type('#model-url', `${origin}model/`);
  await reload();
  equal([await value('text'), await value('model-url')], ['Snow is cold. “Größe”\nTrains run on rails!', `${origin}model/`]);
  check(await page.get("document.querySelector('#model-load details').open"), 'the address is seen');
  await page.until("/The model there has 91 MB|on this computer already/.test(document.querySelector('#model-size').textContent)");
  await page.click('#text-example');
  equal([await value('text'), await page.get("document.querySelector('#text-example').hidden")], [text, true]);
  await page.type('#model-url', address);
  await reload();
  equal([await value('text'), await value('model-url'), await page.get('localStorage.length')], [text, address, 0]);
}));

test('an empty address is said to be one', onPage('?device=cpu', async (page) => {
  await page.get("document.querySelector('#model-load details').open = true");
  for (const nothing of [' ', '   ']) {
    await page.type('#model-url', nothing);
    await page.until("/^The address is empty: write that of/.test(document.querySelector('#model-size').textContent)");
    await page.click('#model-button');
    equal(await page.until("!document.querySelector('#model-error').hidden && document.querySelector('#model-error').textContent"),
          'The address is empty: write that of a folder with a model.');
  }
  check(await page.get("!document.querySelector('#model-load').hidden"), 'one can write it');
}));

test('a model in a folder that is dropped', onPage('?device=cpu', async (page) => {
  const at = await page.place('#model-load', 0.9, 0.3);
  for (const type of ['dragEnter', 'dragOver', 'drop']) {
    await page.send('Input.dispatchDragEvent', {type, ...at, data: {items: [], files: [resolve(model)], dragOperationsMask: 1}});
  }
  await page.until(RESULT, 120);
}));

test('a model that is not there is told of', async () => {
  const page = await openPage(`${origin}?device=cpu`);
  await page.until(STARTED);
  await page.get(`document.querySelector('#model-url').value = '${origin}none/'`);
  await page.click('#model-button');
  const message = await page.until("document.querySelector('#model-error').textContent");
  check(/none\/config\.json: no such file/.test(message), message);
  check(await page.get("!document.querySelector('#model-load').hidden"), 'one can try again');
  await page.close();
});

// ---- Models in ONNX's format
const onnxShows = "document.querySelector('#onnx-outputs').children.length && !document.querySelector('#onnx-run').disabled";
// [text of an output's figures, [index, value] of each bar].
const outputsOf = (page) => page.get(`Array.from(document.querySelectorAll('#onnx-outputs .output'), (output) => [
  output.querySelector('h3').textContent, output.querySelector('.figures').textContent,
  Array.from(output.querySelectorAll('li'), (bar) => [bar.firstChild.textContent, bar.querySelector('span').textContent]),
  Array.from(output.querySelectorAll('p:not(.figures)'), (p) => p.textContent).join()])`);

for (const device of ['cpu', 'gpu']) {
  test(`a model of ONNX: the example, numbers, sizes (${device})`, onPage(`?device=${device}`, async (page) => {
    await page.click('#onnx-example');
    await page.until(onnxShows, 120);
    check(/9,935 parameters, opset \d+/.test(await page.text('#onnx-about')), await page.text('#onnx-about'));
    equal(await page.get("document.querySelector('#onnx-inputs label').textContent"), 'pixels: u8 [n, 64]');
    // The example of a one.
    const one = reduceLines(EXAMPLES[1]).map((v) => Math.round(16 * v));
    await page.type('#onnx-input-0', Array.from(one).join(' '));
    await page.get("document.querySelector('#onnx-input-0').blur()");
    await page.until(`${onnxShows} && document.querySelector('#onnx-outputs li')?.firstChild.textContent === '1'`, 60);
    const [[name, figures, bars], [digit, type, , first]] = await outputsOf(page);
    equal([name, bars.length, digit, type, first], ['probabilities', 5, 'digit', 'i64 [1]', '1']);
    check(/^f32 \[1, 10\], from/.test(figures) && Number(bars[0][1]) > 0.5, `${figures} ${bars}`);
    await page.type('#onnx-input-0', '1 2 3');
    await page.click('#onnx-run');
    equal(await page.until("!document.querySelector('#onnx-error').hidden && document.querySelector('#onnx-error').textContent"),
          'pixels: 3 numbers, expected 64 for [1, 64], or one for all');
    await page.type('#onnx-size-0', '3');
    await page.type('#onnx-input-0', '7');
    await page.click('#onnx-run');
    await page.until(`${onnxShows} && /\\[3, 10\\]/.test(document.querySelector('#onnx-outputs').textContent)`, 60);
    check(await page.get("document.querySelector('#onnx-error').hidden"), 'the message goes');
  }));
}

test('models and pictures that are dropped, and what is none', onPage('?device=cpu', async (page) => {
  const folder = mkdtempSync(join(tmpdir(), 'weft-page-'));
  const drop = async (...names) => {
    const at = await page.place('#onnx-load', 0.9, 0.3), files = names.map((name) => join(folder, name));
    for (const type of ['dragEnter', 'dragOver', 'drop']) {
      await page.send('Input.dispatchDragEvent', {type, ...at, data: {items: [], files, dragOperationsMask: 1}});
    }
  };
  const error = () => page.until("!document.querySelector('#onnx-error').hidden && document.querySelector('#onnx-error').textContent", 20);
  try {
    // The mean of each channel, with a factor that lies in another file.
    writeFileSync(join(folder, 'mean.onnx'), modelProto({
      inputs: [['picture', 'f32', [1, 3, 'h', 'w']]], outputs: [['mean', 'f32', [1, 3]]],
      nodes: [['ReduceMean', ['picture', 'axes'], ['m'], {keepdims: 0}], ['Mul', ['m', 'factor'], ['mean']]],
      initializers: [tensorProto('axes', 'i64', [2], BigInt64Array.of(2n, 3n)), tensorProto('factor', 'f32', [1], null, ['factor.bin', 4, 4])],
    }));
    writeFileSync(join(folder, 'factor.bin'), new Uint8Array(Float32Array.of(0, 2).buffer));
    writeFileSync(join(folder, 'wrong.onnx'), 'no model');
    const red = await page.get(`(async () => {
      const canvas = new OffscreenCanvas(40, 30), context = canvas.getContext('2d');
      context.fillStyle = '#f00';
      context.fillRect(0, 0, 40, 30);
      return Array.from(new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer()));
    })()`);
    writeFileSync(join(folder, 'red.png'), new Uint8Array(red));
    await drop('red.png');
    check(/red.png is no file with .onnx at the end of its name/.test(await error()), await error());
    await drop('wrong.onnx');
    check(/'model\/wrong.onnx': onnx:/.test(await error()), await error());
    await drop('mean.onnx');
    check(/factor.bin: no such file, in which the model has weights/.test(await error()), await error());
    await drop('factor.bin', 'mean.onnx');
    await page.until(onnxShows, 30);
    await drop('red.png');
    await page.until(`${onnxShows} && document.querySelector('#onnx-outputs span')?.textContent === '2'`, 30);
    const [[, figures, bars]] = await outputsOf(page);
    equal([figures, bars], ['f32 [1, 3], from 0 to 2', [['0', '2'], ['1', '0'], ['2', '0']]]);
    await page.get("(() => { const s = document.querySelector('#onnx-inputs select'); s.value = 'From −1 to 1'; s.onchange(); })()");
    await page.until(`${onnxShows} && /from -2 to 2/.test(document.querySelector('#onnx-outputs').textContent)`, 30);
  } finally {
    rmSync(folder, {recursive: true});
  }
}));

test('a model of ONNX from an address, which the browser keeps', onPage('?device=cpu', async (page) => {
  const load = async (address) => {
    await page.get(`(() => { document.querySelector('#onnx-outputs').replaceChildren(); document.querySelector('#onnx-url').value = '${address}'; document.querySelector('#onnx-fetch').click(); })()`);
  };
  await load(`${origin}digits.onnx`);
  await page.until(onnxShows, 30);
  equal(await page.get("caches.open('weft-onnx').then((c) => c.keys()).then((k) => k.map(({url}) => url))"), [`${origin}digits.onnx`]);
  await page.send('Network.enable');
  await page.send('Network.emulateNetworkConditions', {offline: true, latency: 0, downloadThroughput: 0, uploadThroughput: 0});
  await load(`${origin}digits.onnx`);
  await page.until(onnxShows, 30);
  await page.send('Network.emulateNetworkConditions', {offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: -1});
  await load(' ');
  check(/the address is empty/.test(await page.until("document.querySelector('#onnx-error').textContent")), 'it says so');
  await page.get("caches.delete('weft-onnx')");
}));

// ---- The text in a picture
// A zip file of these files, every other one compressed.
function zipOf(files) {
  const parts = [], list = [];
  let at = 0;
  for (const [i, [name, text]] of Object.entries(files).entries()) {
    const bytes = Buffer.from(text), method = i % 2 ? 0 : 8, packed = method ? deflateRawSync(bytes) : bytes;
    const fields = Buffer.alloc(26);
    [[20, 0], [0, 2], [method, 4], [0, 6], [0, 8]].forEach(([value, offset]) => fields.writeUInt16LE(value, offset));
    [[crc32(bytes), 10], [packed.length, 14], [bytes.length, 18]].forEach(([value, offset]) => fields.writeUInt32LE(value, offset));
    fields.writeUInt16LE(name.length, 22);
    fields.writeUInt16LE(3, 24);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    fields.copy(entry, 6, 0, 24);
    entry.writeUInt32LE(at, 42);
    list.push(entry, Buffer.from(name));
    const local = [Buffer.from('PK\x03\x04'), fields, Buffer.from(`${name}xyz`), packed];
    parts.push(...local);
    at += local.reduce((size, part) => size + part.length, 0);
  }
  const directory = Buffer.concat(list), end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(Object.keys(files).length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, directory, end]);
}
// What is dark is a line, and each stripe in it, of which less is light, an A; so is the grey behind the line.
const darkness = [['Sub', ['one', 'mean'], ['d']], ['Mul', ['d', 'half'], ['dark']]];
const scalar = (name, value) => tensorProto(name, 'f32', [], Float32Array.of(value));
const MODELS = zipOf({
  'rapidocr/models/PP-OCRv9_det_toy.onnx': modelProto({
    inputs: [['x', 'f32', [1, 3, 'h', 'w']]], outputs: [['map', 'f32', [1, 1, 'h', 'w']]], initializers: [scalar('one', 1), scalar('half', 0.5)],
    nodes: [['ReduceMean', ['x'], ['mean'], {axes: [1]}], ...darkness, ['Identity', ['dark'], ['map']]],
  }, 17),
  'rapidocr/models/other.txt': 'x',
  'rapidocr/models/PP-OCRv9_rec_toy.onnx': modelProto({
    inputs: [['x', 'f32', [1, 3, 48, 'w']]], outputs: [['scores', 'f32', [1, 'w', 2]]],
    initializers: [scalar('one', 1), scalar('half', 1), scalar('limit', 0.7), scalar('zero', 0), tensorProto('last', 'i64', [1], BigInt64Array.of(2n))],
    nodes: [['ReduceMean', ['x'], ['mean'], {axes: [1, 2], keepdims: 0}], ...darkness, ['Unsqueeze', ['dark', 'last'], ['p']],
            ['Mul', ['p', 'zero'], ['q']], ['Add', ['q', 'limit'], ['r']], ['Concat', ['r', 'p'], ['scores'], {axis: 2}]],
  }, 17, {character: 'A\nB'}),
});

test('zip files, lines and texts', async () => {
  const text = async (stream) => new Response(await stream).text();
  const entries = await readZip(new Blob([zipOf({'a/b.txt': 'one '.repeat(100), 'c': 'two', 'd': ''})]));
  equal(entries.map(({name, size}) => [name, size]), [['a/b.txt', 400], ['c', 3], ['d', 0]]);
  equal(await Promise.all(entries.map((e) => text(e.stream()))), ['one '.repeat(100), 'two', '']);
  for (const wrong of ['', 'no zip', MODELS.subarray(0, MODELS.length - 30)]) {
    check(await readZip(new Blob([wrong])).then(() => false, (e) => /no zip file/.test(e.message)), 'it is refused');
  }
  equal(textOf([0, 1, 1, 0, 1, 2n, 9], [0, 0.5, 0.5, 0, 1, 0.75, 0.75], ['A', 'B']), {text: 'AAB', probability: 0.75});
  equal(textOf([0, 0], [1, 1], ['A']), {text: '', probability: 0});
  // Two beside each other, one of them aslant, and a faint one.
  const [w, h] = [200, 100], map = new Float32Array(w * h);
  const [c, s] = [Math.cos(0.2), Math.sin(0.2)];
  for (let y = 0; y < h; ++y) {
    for (let x = 0; x < w; ++x) {
      const [along, across] = [c * (x - 150) + s * (y - 30), c * (y - 30) - s * (x - 150)];
      if ((x >= 10 && x < 70 && y >= 25 && y < 37) || (Math.abs(along) < 30 && Math.abs(across) < 6)) map[y * w + x] = 0.9;
      if (y >= 70 && y < 80) map[y * w + x] = 0.4;
    }
  }
  const lines = linesOf(map, w, h);
  equal(lines.length, 2);
  for (const [i, [x, y, angle]] of [[40, 31, 0], [150, 30, 0.2]].entries()) {
    const line = lines[i], grown = (60 * 12 * 1.6) / (60 + 12);
    close([line.x, line.y, line.width, line.height, 30 * line.angle], [x, y, 60 + grown, 12 + grown, 30 * angle], 2.5);
  }
});

// Draws stripes on a grey bar.
const stripes = `(async () => {
  const canvas = new OffscreenCanvas(320, 160), context = canvas.getContext('2d');
  context.fillStyle = '#fff';
  context.fillRect(0, 0, 320, 160);
  context.fillStyle = '#666';
  context.fillRect(40, 60, 200, 40);
  context.fillStyle = '#000';
  for (const x of [60, 120, 180]) context.fillRect(x, 50, 25, 60);
  return Array.from(new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer()));
})()`;
const READ = "document.querySelector('#read-figures').textContent.match(/^\\d+ lines|There is no text/)";

for (const device of ['cpu', 'gpu']) {
  test(`the text in a picture: the package, its place in the cache, other files (${device})`, async () => {
    writeFileSync(join(given, 'toy.whl'), MODELS);
    const page = await openPage(`${origin}?device=${device}`, {before: `{
      const own = fetch;
      globalThis.asked = [];
      globalThis.fetch = (address, ...rest) => {
        const {host} = new URL(address, location.href);
        if (host === location.host) return own(address, ...rest);
        asked.push(host);
        if (globalThis.offline) return Promise.reject(new TypeError('offline'));
        if (host !== 'pypi.org') return own('/given/toy.whl');
        return Promise.resolve(Response.json({urls: [{packagetype: 'sdist'}, {
          packagetype: 'bdist_wheel', url: 'https://files.pythonhosted.org/toy.whl', size: ${MODELS.length}, filename: 'toy.whl'}]}));
      };
    }`});
    const folder = mkdtempSync(join(tmpdir(), 'weft-page-'));
    const error = () => page.until("!document.querySelector('#read-error').hidden && document.querySelector('#read-error').textContent", 20);
    try {
      await page.until(STARTED);
      await page.get("caches.delete('weft-onnx')");
      writeFileSync(join(folder, 'stripes.png'), new Uint8Array(await page.get(stripes)));
      writeFileSync(join(folder, 'wrong.whl'), 'no wheel');
      writeFileSync(join(folder, 'empty.whl'), zipOf({a: 'b'}));
      writeFileSync(join(folder, 'wrong.png'), 'no picture');
      await page.choose('#read-picture', [join(folder, 'wrong.png')]);
      equal(await error(), 'wrong.png is no picture that the browser can read.');
      await page.choose('#read-files', [join(folder, 'wrong.whl')]);
      await page.until("/^wrong.whl: it is no zip file/.test(document.querySelector('#read-error').textContent)", 20);
      await page.choose('#read-files', [join(folder, 'empty.whl')]);
      await page.until("/there is no …_det_….onnx/.test(document.querySelector('#read-error').textContent)", 20);
      await page.choose('#read-picture', [join(folder, 'stripes.png')]);
      await page.until("!document.querySelector('#read-canvas').hidden && document.querySelector('#read-canvas').width === 320", 20);
      await page.get('globalThis.offline = true');
      await page.click('#read-fetch');
      await page.until("document.querySelector('#read-error').textContent === 'pypi.org cannot be reached: offline'", 20);
      await page.get('globalThis.offline = false');
      await page.click('#read-fetch');
      await page.until(READ, 120);
      equal(await page.text('#read-lines'), 'AAAA');
      equal(await page.get('asked'), ['pypi.org', 'pypi.org', 'files.pythonhosted.org']);
      await page.get("document.querySelector('#read-figures').textContent = ''; globalThis.offline = true; document.querySelector('#read-fetch').click();");
      await page.until(READ, 120);
      equal([await page.text('#read-lines'), await page.get('asked.length')], ['AAAA', 3]);
      await page.get("caches.delete('weft-onnx')");
      equal(complaintsOf(page), []);
    } finally {
      rmSync(folder, {recursive: true});
      await page.close();
    }
  });
}

const wheel = process.env.WEFT_RAPIDOCR;
test(wheel ? 'PP-OCR reads the example' : 'PP-OCR reads the example: skipped, WEFT_RAPIDOCR names no wheel',
     wheel ? onPage('?device=cpu', async (page) => {
       await page.choose('#read-files', [resolve(wheel)]);
       await page.until("document.querySelector('#read-load').hidden && document.querySelector('#read-progress').hidden", 60);
       await page.click('#read-example');
       await page.until(READ, 120);
       equal((await page.text('#read-lines')).split('\n'), ['The ferry leaves at seven.', 'Ticket No. 4711 / 12 EUR', 'Bring your own bread']);
     }) : () => {});

// ---- Devices and tabs
test('the switch changes the device for all three', onPage('?device=cpu', async (page) => {
  await loadModel(page);
  for (const [kind, name] of [['gpu', /swiftshader/i], ['cpu', /^CPU/]]) {
    await page.get("document.querySelector('#results').replaceChildren()");
    await page.click(`[name=device][value=${kind}] + span`);
    await page.until(`${name}.test(document.querySelector('#device-name').textContent)`);
    await page.type('#formula', kind === 'gpu' ? 'x' : 'y');
    await shows(page, kind === 'gpu' ? 'x' : 'y');
    await page.click('#digit-example');
    await page.until("document.querySelector('#digit-figures').textContent");
    await page.until(RESULT, 120);
  }
}));

test('a GPU that is lost, and again', async () => {
  await withBrowser(SOFTWARE_GPU, async (own) => {
    const page = await own.open(`${origin}?device=gpu`);
    await page.until(STARTED);
    await own.crashGpu();
    await page.until("/lost the graphics card/.test(document.querySelector('#notice').innerText)");
    await page.click('#notice button');
    await page.until("/swiftshader/i.test(document.querySelector('#device-name').textContent)");
    await page.type('#formula', 'x');
    await shows(page, 'x');
  });
});

test('a tab that is closed in mid-work, and opened again', async () => {
  for (const device of ['gpu', 'cpu']) {
    for (const wait of [0, 150, 1500]) {
      const page = await openPage(`${origin}?device=${device}`);
      await new Promise((done) => setTimeout(done, wait));
      await page.get(`document.querySelector('#model-url').value = '${origin}model/'; document.querySelector('#model-button').click();`)
          .catch(() => {});
      await new Promise((done) => setTimeout(done, wait));
      await page.close();
    }
    await onPage(`?device=${device}`, async (page) => {
      await page.type('#formula', 'y');
      await shows(page, 'y');
    })();
  }
});

// Names that only this Chromium knows are no secure origins.
const elsewhere = origin.replace('127.0.0.1', 'weft.test');
for (const [what, address, flags, before, message] of [
  ['without WebGPU', origin, [], "Object.defineProperty(Navigator.prototype, 'gpu', {value: undefined})", /has no WebGPU.*Chrome and Edge/],
  ['without an adapter', origin, [], undefined, /finds no graphics card/],
  ['by plain http', elsewhere, [...SOFTWARE_GPU, '--host-resolver-rules=MAP weft.test 127.0.0.1'], undefined, /only where they come by https/],
]) {
  test(`a tab ${what} says so and computes on the CPU`, () => withBrowser(flags, async (own) => {
    const page = await own.open(address, {before});
    await page.until(STARTED);
    check(message.test(await page.text('#notice')), await page.text('#notice'));
    equal(await page.text('#device-name'), 'CPU, one core');
    equal(await page.get("document.querySelector('[name=device][value=gpu]').disabled"), true);
    await page.type('#formula', 'x');
    await shows(page, 'x');
    await page.click('#digit-example');
    await page.until("document.querySelector('#digit-figures').textContent");
    await loadModel(page);
    equal(complaintsOf(page), []);
  }));
}

test('without being told, the page takes the CPU rather than an emulated GPU', onPage('', async (page) => {
  equal(await page.text('#device-name'), 'CPU, one core');
  check(/emulates on the CPU/.test(await page.text('#notice')), await page.text('#notice'));
}));

test('something moves within a second, and the library comes soon', async () => {
  const page = await openPage(origin);
  await page.until("document.querySelector('.stage') && getComputedStyle(document.querySelector('.stage')).animationName !== 'none'" +
                   " || document.querySelector('.started')", 1);
  await page.until(STARTED, 10);
  await page.close();
});

// What the page shows while the library comes, slowly and from a server that compresses.
test('loading shows how much has come', async () => {
  const page = await openPage('about:blank');
  await page.send('Network.enable');
  await page.send('Network.emulateNetworkConditions',
                  {offline: false, latency: 0, downloadThroughput: 1.5e6, uploadThroughput: 1e6});
  await page.send('Page.navigate', {url: `${origin}?device=cpu`});
  const seen = new Set();
  const state = "document.querySelector('#start-state')?.textContent + '|' + document.querySelector('#start-bar')?.value";
  for (const end = performance.now() + 60000; performance.now() < end && !await page.get(`document.querySelector('.started') && true`);) {
    seen.add(await page.get(state));
    await new Promise((done) => setTimeout(done, 30));
  }
  const shown = [...seen].map((text) => text.match(/^Loading Weft: ([\d.]+) of ([\d.]+) MB\|([\d.]+)$/)?.slice(1).map(Number)).filter(Boolean);
  const [{size}] = [await page.get(`fetch('weft/weft.wasm').then(async (r) => ({size: (await r.arrayBuffer()).byteLength}))`)];
  check(shown.length >= 5, `it shows steps: ${[...seen].join(', ')}`);
  for (const [i, [loaded, total, part]] of shown.entries()) {
    check(loaded >= (shown[i - 1]?.[0] ?? 0) && loaded <= total && Math.abs(part - loaded / total) < 0.02, `${loaded} of ${total}: ${part}`);
    close(total, size / 1e6, 0.051);
  }
  await page.close();
});

test('the server compresses what becomes smaller', async () => {
  const get = async (path, accept, method = 'GET') => {
    const {promise, resolve, reject} = Promise.withResolvers();
    request(`${origin}${path}`, {method, headers: accept === undefined ? {} : {'accept-encoding': accept}}, async (response) => {
      const parts = [];
      for await (const part of response) parts.push(part);
      resolve({headers: response.headers, status: response.statusCode, bytes: Buffer.concat(parts)});
    }).on('error', reject).end();
    return promise;
  };
  const decoders = {br: brotliDecompressSync, gzip: gunzipSync};
  for (const path of ['weft/weft.wasm', 'weft/index.js', 'index.html', '', 'style.css', 'icon.svg']) {
    const whole = readFileSync(join(site, path || 'index.html'));
    for (const [accept, encoding] of [
      ['gzip, deflate, br, zstd', 'br'], ['gzip', 'gzip'], ['br;q=0, gzip;q=0.5', 'gzip'], ['*', 'br'], ['GZIP', 'gzip'],
      ['deflate', undefined], ['gzip;q=0', undefined], ['identity', undefined], [undefined, undefined],
    ]) {
      const {headers, bytes} = await get(path, accept);
      equal([path, accept, headers['content-encoding'], headers.vary, Number(headers['content-length'])],
            [path, accept, encoding, 'accept-encoding', bytes.length]);
      check(encoding ? bytes.length < whole.length : bytes.length === whole.length, `${path}: ${bytes.length} of ${whole.length} bytes`);
      check((encoding ? decoders[encoding](bytes) : bytes).equals(whole), `${path} by ${accept}`);
      const head = await get(path, accept, 'HEAD');
      equal([head.headers['content-length'], head.bytes.length], [headers['content-length'], 0]);
    }
  }
  const {bytes: module} = await get('weft/weft.wasm', 'br');
  check(module.length < 0.4 * readFileSync(join(site, 'weft', 'weft.wasm')).length, `weft.wasm is sent in ${module.length} bytes`);
  const weights = await get('digits.safetensors', 'br, gzip');
  equal([weights.headers['content-encoding'], weights.bytes.length], [undefined, readFileSync(join(site, 'digits.safetensors')).length]);
  equal((await get('none.js', 'br')).status, 404);
});

// ---- The benchmark
for (const device of ['cpu', 'gpu']) {
  test(`the benchmark page measures Weft (${device})`, async () => {
    const page = await openPage(`${origin}benchmark.html`);
    await page.until("document.querySelector('#start')?.onclick && true");
    await page.click(`[name=device][value=${device}] + span`);
    if (device === 'cpu') await page.type('#model', `${origin}model/`);
    await page.click('#start');
    await page.until("document.querySelector('#state').textContent === 'Done.' || !document.querySelector('#error').hidden", 300);
    equal(await page.text('#error'), '');
    const cells = await page.get("Array.from(document.querySelectorAll('#body td'), (cell) => cell.innerText)");
    equal(cells.length, 5);
    for (const [i, cell] of cells.entries()) {
      const measured = /^[\d.e+]+ (GFLOP|GB|sentences)\/s\s+[\d.e+]+ ms$/.test(cell);
      check(measured || (i === 4 && device === 'gpu' && cell === '–'), cell);
    }
    equal(complaintsOf(page), []);
    await page.close();
  });
}

test('a library that is not there is told of', async () => {
  const page = await openPage(`${origin}benchmark.html`);
  await page.until("document.querySelector('#start')?.onclick && true");
  await page.click('[name=device][value=cpu] + span');
  await page.get("document.querySelector('details').open = true");
  await page.type('#ort', `${origin}none.js`);
  await page.click('#start');
  check(/none\.js/.test(await page.until("document.querySelector('#error').textContent")), 'the message names it');
  check(!await page.get("document.querySelector('#start').disabled"), 'one can try again');
  await page.close();
});

// ---- For everyone
test('everything that can be used has a name, and fits 420 points', onPage('?device=cpu', async (page) => {
  equal(await page.get('document.documentElement.scrollWidth <= innerWidth'), true);
  const {nodes} = await page.send('Accessibility.getFullAXTree');
  const nameless = nodes.filter(({role, name, ignored}) => !ignored && !name?.value &&
      ['button', 'textbox', 'searchbox', 'radio', 'link', 'image', 'img', 'progressbar', 'slider'].includes(role?.value));
  equal(nameless.map(({role}) => role.value), []);
}, {width: 420, height: 900}));

test('colours have contrast, light and dark', () => {
  const style = readFileSync(join(site, 'style.css'), 'utf8');
  for (const [, block] of style.matchAll(/:root \{([^}]*)\}/g)) {
    const colour = Object.fromEntries([...block.matchAll(/--([\w-]+): #([0-9a-f]{6})/g)].map(([, name, hex]) => {
      const [r, g, b] = hex.match(/../g).map((v) => parseInt(v, 16) / 255)
                            .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
      return [name, 0.2126 * r + 0.7152 * g + 0.0722 * b];
    }));
    for (const [ink, paper] of [
      ['ink', 'paper'], ['ink', 'card'], ['ink', 'field'], ['ink', 'notice'], ['ink', 'tint'], ['soft', 'paper'], ['soft', 'card'],
      ['soft', 'field'], ['accent', 'paper'], ['on-accent', 'accent'], ['error', 'error-tint'], ['ink', 'error-tint'], ['card', 'error'],
    ]) {
      const [low, high] = [colour[ink], colour[paper]].sort((a, b) => a - b);
      check((high + 0.05) / (low + 0.05) >= 4.5, `${ink} on ${paper}: ${((high + 0.05) / (low + 0.05)).toFixed(2)}`);
    }
  }
});

// ---- Pictures
async function takePictures(directory) {
  mkdirSync(directory, {recursive: true});
  for (const [width, height] of [[420, 900], [1024, 768], [1600, 1000]]) {
    for (const dark of [false, true]) {
      const page = await browser.open(origin, {width, height, dark});
      await page.until(STARTED);
      await loadModel(page);
      await page.click('#digit-example');
      await page.until("document.querySelector('#digit-figures').textContent");
      await page.get('scrollTo(0, 0)');
      await new Promise((done) => setTimeout(done, 1000));
      const name = join(directory, `${width}x${height}-${dark ? 'dark' : 'light'}`);
      writeFileSync(`${name}.png`, await page.picture());
      const {cssContentSize} = await page.send('Page.getLayoutMetrics');
      await page.send('Emulation.setDeviceMetricsOverride',
                      {width, height: Math.ceil(cssContentSize.height), deviceScaleFactor: 1, mobile: false});
      await new Promise((done) => setTimeout(done, 1000));
      writeFileSync(`${name}-whole.png`, await page.picture());
      await page.close();
    }
  }
}

process.exitCode = await withBrowser(SOFTWARE_GPU, async (opened) => {
  browser = opened;
  if (rest[0] === '--pictures') return await takePictures(rest[1]);
  return run({filter: rest[0]});
});
server.close();
rmSync(given, {recursive: true});
process.exit();
