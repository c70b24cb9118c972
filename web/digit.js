// The second card: a drawn digit, which a network recognises through navigator.ml.
import {install, ml} from './weft/ml.js';

import {EXAMPLES, SIZE, createRecogniser, readSafetensors, reduceLines, reducePicture} from './digits.js';

const PEN = 0.055;  // of the paper's width

export function createDigit(app) {
  const element = (id) => document.getElementById(id);
  const canvas = element('digit-canvas'), paper = element('paper'), context = canvas.getContext('2d');
  const seen = element('digit-seen').getContext('2d');
  const bars = Array.from({length: 10}, (_, digit) => {
    const row = document.createElement('li'), track = document.createElement('i'), bar = document.createElement('b');
    const share = document.createElement('span');
    track.append(bar);
    row.append(String(digit), track, share);
    element('digit-bars').append(row);
    return {row, bar, share};
  });

  let lines = [], picture;        // what is on the paper: lines of points from 0 to 1, or an ImageBitmap
  let recognise, generation = 0;  // the network on the device
  let weights, busy = false, again = false, example = -1;

  // ---- The network
  async function load() {
    const mine = ++generation;
    recognise = undefined;
    try {
      weights ??= fetch(new URL('digits.safetensors', import.meta.url)).then(async (response) => {
        if (!response.ok) throw new Error(`digits.safetensors: ${response.status} ${response.statusText}`);
        return readSafetensors(await response.arrayBuffer());
      });
      await install({device: app.device.name});
      const made = await createRecogniser(await navigator.ml.createContext(), await weights);
      if (mine !== generation) return;
      recognise = made;
      element('digit-interface').textContent = navigator.ml === ml ?
          'Your browser has none yet, so that Weft stands in for it.' : 'Your browser has its own, which is used here.';
      changed();
    } catch (error) {
      if (mine === generation) fail(error);
      weights = undefined;
    }
  }

  function fail(error) {
    if (error.name === 'InvalidStateError' && app.failed(Object.assign(new Error(error.message), {name: 'DeviceLost'}))) return;
    element('digit-error').textContent = error.message;
    element('digit-error').hidden = false;
  }

  // Recognises what is on the paper; while it is at it, only the newest state of that is next.
  async function changed() {
    element('digit-hint').hidden = lines.length > 0 || !!picture;
    if (busy) return void (again = true);
    const pixels = reduced();
    show(pixels);
    if (!pixels || !recognise) return answer();
    busy = true;
    const mine = generation, start = performance.now();
    try {
      const probabilities = await recognise(pixels);
      if (mine === generation && (lines.length || picture)) {
        const took = performance.now() - start;
        app.took(took);
        element('digit-figures').textContent = `recognised in ${took.toFixed(1)} milliseconds`;
        element('digit-error').hidden = true;
        answer(probabilities);
      }
    } catch (error) {
      if (mine === generation) fail(error);
    }
    busy = false;
    if (again) {
      again = false;
      changed();
    }
  }

  function reduced() {
    if (!picture) return lines.length ? reduceLines(lines) : undefined;
    const scale = Math.min(1, 256 / Math.max(picture.width, picture.height));
    const [width, height] = [picture.width, picture.height].map((n) => Math.max(1, Math.round(n * scale)));
    const small = new OffscreenCanvas(width, height).getContext('2d');
    small.drawImage(picture, 0, 0, width, height);
    return reducePicture(small.getImageData(0, 0, width, height));
  }

  function answer(probabilities) {
    const best = probabilities ? probabilities.indexOf(Math.max(...probabilities)) : -1;
    const verdict = element('digit-verdict');
    if (probabilities) {
      const note = document.createElement('small'), second = [...probabilities].map((p, i) => [p, i]).sort((a, b) => b[0] - a[0])[1];
      note.textContent = probabilities[best] > 0.85 ? ' surely' : probabilities[best] > 0.5 ? ' probably' : ` or ${second[1]}`;
      verdict.replaceChildren(String(best), note);
    } else {
      const note = document.createElement('small');
      note.textContent = 'nothing yet';
      verdict.replaceChildren(note);
      element('digit-figures').textContent = '';
    }
    bars.forEach(({row, bar, share}, digit) => {
      const p = probabilities?.[digit] ?? 0;
      bar.style.transform = `scaleX(${p.toFixed(4)})`;
      share.textContent = probabilities ? `${Math.round(100 * p)} %` : '';
      row.classList.toggle('best', digit === best);
    });
  }

  function show(pixels) {
    const image = new ImageData(SIZE, SIZE);
    const [ink, ground] = colours();
    for (let i = 0; i < SIZE * SIZE; ++i) {
      const part = pixels?.[i] ?? 0;
      for (let c = 0; c < 3; ++c) image.data[4 * i + c] = ground[c] + part * (ink[c] - ground[c]);
      image.data[4 * i + 3] = 255;
    }
    seen.putImageData(image, 0, 0);
  }

  // ---- The paper
  const colours = () => {
    const style = getComputedStyle(document.documentElement);
    return ['--ink', '--field'].map((name) =>
        style.getPropertyValue(name).trim().match(/[0-9a-f]{2}/gi).map((part) => parseInt(part, 16)));
  };

  function paint() {
    const {width, height} = canvas;
    context.clearRect(0, 0, width, height);
    if (picture) {
      const scale = Math.min(width / picture.width, height / picture.height);
      const w = picture.width * scale, h = picture.height * scale;
      return context.drawImage(picture, (width - w) / 2, (height - h) / 2, w, h);
    }
    Object.assign(context, {lineWidth: PEN * width, lineCap: 'round', lineJoin: 'round'});
    context.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue('--ink');
    for (const line of lines) {
      context.beginPath();
      line.forEach(([x, y], i) => context[i ? 'lineTo' : 'moveTo'](x * width, y * height));
      if (line.length === 1) context.lineTo(line[0][0] * width, line[0][1] * height);
      context.stroke();
    }
  }

  function clear() {
    lines = [];
    picture?.close();
    picture = undefined;
    paint();
    changed();
  }

  const position = ({clientX, clientY}) => {
    const {left, top, width, height} = canvas.getBoundingClientRect();
    return [(clientX - left) / width, (clientY - top) / height];
  };
  let pen;  // the pointer that draws
  canvas.addEventListener('pointerdown', (event) => {
    if (pen !== undefined || event.button) return;
    pen = event.pointerId;
    canvas.setPointerCapture(pen);
    if (picture) clear();
    lines.push([position(event)]);
    paint();
    changed();
  });
  canvas.addEventListener('pointermove', (event) => {
    if (event.pointerId !== pen || !lines.length) return;
    lines.at(-1).push(...(event.getCoalescedEvents?.() ?? [event]).map(position));
    paint();
    changed();
  });
  for (const name of ['pointerup', 'pointercancel']) {
    canvas.addEventListener(name, (event) => {
      if (event.pointerId === pen) pen = undefined;
    });
  }

  element('digit-clear').onclick = clear;
  element('digit-example').onclick = () => {
    clear();
    example = (example + 1) % 10;
    const turn = 0.2 * (Math.random() - 0.5), c = Math.cos(turn), s = Math.sin(turn);
    lines = EXAMPLES[(3 + 7 * example) % 10].map((line) => line.map(([x, y]) =>
        [0.5 + c * (x - 0.5) - s * (y - 0.5), 0.5 + s * (x - 0.5) + c * (y - 0.5)]));
    paint();
    changed();
  };

  // ---- Pictures
  async function take(file) {
    if (!file) return;
    try {
      const made = await createImageBitmap(file);
      clear();
      picture = made;
      paint();
      changed();
    } catch {
      fail(new Error(`${file.name || 'This'} is no picture that the browser can read`));
    }
  }
  element('digit-file').addEventListener('change', ({target}) => {
    take(target.files[0]);
    target.value = '';
  });
  for (const name of ['dragover', 'dragleave', 'drop']) {
    paper.addEventListener(name, (event) => {
      event.preventDefault();
      paper.classList.toggle('over', name === 'dragover');
      if (name === 'drop') take(event.dataTransfer.files[0]);
    });
  }

  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    paint();
    show(reduced());
  });
  answer();
  show();

  return {use: load};
}
