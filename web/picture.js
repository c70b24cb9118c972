// The first card: a formula that is computed at every point, for each frame anew.
import * as weft from './weft/index.js';

import {FormulaError, names, paint, parse} from './expression.js';

const EXAMPLES = {
  Silk: 'v = sin(3*x + t) + sin(4*y - 1.3*t) + sin(5*r - 2*t);\npalette(0.16*v + 0.05*t)',
  Water: 'h = sin(7*x + 2*t) * sin(5*y - t) + sin(9*r - 3*t);\nlight = 0.5 + 0.05*dx(h) + 0.05*dy(h);\n' +
      '[0.1, 0.4, 0.6]*light + 0.8*smoothstep(0.8, 1.2, light)',
  Drops: 'near = 0.1/hypot(x - cos(t), y - 0.6*sin(1.7*t))\n  + 0.1/hypot(x + cos(0.8*t), y - 0.7*sin(1.1*t))\n' +
      '  + 0.1/hypot(x - 0.5*sin(1.3*t), y + 0.5*cos(t));\ninside = smoothstep(0.48, 0.5, near);\n' +
      'mix([0.04, 0.1, 0.14], palette(0.55 + 0.35*min(near, 1.2)), inside)',
  Board: 'u = x*cos(0.3*t) - y*sin(0.3*t);\nv = x*sin(0.3*t) + y*cos(0.3*t);\n' +
      '(floor(4*u) + floor(4*v)) % 2 == 0 ? [0.06, 0.46, 0.43] : [0.96, 0.94, 0.88]',
  Tunnel: 'depth = 0.6/r + 0.7*t;\nlines = cos(12*depth) * cos(4*angle + t);\n' +
      'clamp(1.4*r, 0, 1) * palette(0.25*lines + 0.1*depth)',
  Simple: 'x*x + y*y < 0.5 ? 1 : 0.2',
};

// From the coarsest; how fine it is follows from how long a frame takes.
const SIZES = [[160, 100], [240, 150], [320, 200], [480, 300], [640, 400], [960, 600]];
const SLOW = 45, FAST = 6, FRAMES = 12;

const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];

export function createPicture(app) {
  const element = (id) => document.getElementById(id);
  const field = element('formula'), canvas = element('picture-canvas'), pause = element('picture-pause');
  const context = canvas.getContext('2d');
  const still = matchMedia('(prefers-reduced-motion: reduce)');

  let formula, program, running = false, visible = true, paused = still.matches, dirty = true;
  let size = 2, finest = SIZES.length - 1;
  let time = 0, before;  // seconds, and when the last frame was

  // ---- The formula
  function read() {
    const error = element('formula-error');
    try {
      formula = parse(field.value);
      error.hidden = true;
      field.removeAttribute('aria-invalid');
      forget();
    } catch (problem) {
      if (!(problem instanceof FormulaError)) throw problem;
      show(problem);
    }
    for (const button of element('picture-examples').children) {
      button.setAttribute('aria-pressed', String(EXAMPLES[button.textContent] === field.value));
    }
  }

  // The message, and the formula's line with the place marked.
  function show({message, start = 0, end = 0}) {
    const text = field.value;
    const from = text.lastIndexOf('\n', start - 1) + 1, to = text.indexOf('\n', start);
    const line = text.slice(from, to < 0 ? undefined : to);
    const number = text.slice(0, start).split('\n').length;
    const code = document.createElement('code'), mark = document.createElement('mark');
    mark.textContent = line.slice(start - from, Math.max(end, start + 1) - from) || ' ';
    code.append(line.slice(0, start - from), mark, line.slice(Math.max(end, start + 1) - from));
    const place = number > 1 ? `Line ${number}, character ${start - from + 1}` : `Character ${start + 1}`;
    element('formula-error').replaceChildren(`${place}: ${message}.`, code);
    element('formula-error').hidden = false;
    field.setAttribute('aria-invalid', 'true');
  }

  // ---- The program: the formula for points of a size, compiled when it is first called
  function compiled() {
    const [width, height] = SIZES[size];
    const wanted = formula;
    return {
      width, height, times: [],
      x: weft.linspace(-1.6, 1.6, width).reshape([1, width]),
      y: weft.linspace(1, -1, height).reshape([height, 1]),
      frame: weft.compile((x, y, t) => paint(wanted, x, y, t)),
    };
  }
  function forget() {
    const {x, y, frame} = program ?? {};
    for (const old of [x, y, frame]) old?.dispose();
    program = undefined;
    dirty = true;
    run();
  }

  async function draw() {
    program ??= compiled();
    const {x, y, frame, width, height, times} = program;
    const device = app.device, start = performance.now();
    const t = weft.tensor(time);
    let picture, bytes;
    try {
      picture = frame(x, y, t);
      bytes = await picture.data();
    } finally {
      t.dispose();
      picture?.dispose();
    }
    if (device !== app.device) return;
    if (canvas.width !== width) Object.assign(canvas, {width, height});
    context.putImageData(new ImageData(new Uint8ClampedArray(bytes.buffer, bytes.byteOffset, bytes.byteLength), width, height), 0, 0);
    canvas.parentElement.classList.add('started');
    pause.hidden = false;
    times.push(performance.now() - start);
    report(times, width, height);
  }

  function report(times, width, height) {
    const points = `for ${(width * height).toLocaleString('en')} points`;
    const figures = element('picture-figures');
    if (times.length > 1) {  // the first one compiles
      const recent = median(times.slice(1).slice(-FRAMES));
      app.took(recent);
      figures.textContent = `${recent.toFixed(1)} milliseconds a frame, ${points}`;
    } else if (paused) {
      app.took(times[0]);
      figures.textContent = `${times[0].toFixed(0)} milliseconds, compiling included, ${points}`;
    }
    if (times.length <= FRAMES) return;
    const typical = median(times.splice(0).slice(1));
    if (typical > SLOW && size > 0) {
      finest = --size;
      forget();
    } else if (typical < FAST && size < finest) {
      ++size;
      forget();
    }
  }

  // ---- Frames
  const active = () => app.device && formula && visible && !document.hidden && (!paused || dirty);

  async function run() {
    if (running) return;
    running = true;
    before = undefined;
    while (active()) {
      const now = performance.now();
      if (before !== undefined && !paused) time += Math.min(now - before, 100) / 1000;
      before = now;
      dirty = false;
      const drawn = formula;
      try {
        await draw();
      } catch (error) {
        if (drawn === formula && !app.failed(error)) {
          formula = undefined;
          show(error);
        }
      }
      await new Promise(requestAnimationFrame);
    }
    running = false;
  }

  function setPaused(value) {
    paused = value;
    pause.textContent = paused ? 'Play' : 'Pause';
    run();
  }

  // ---- The card
  for (const [name, text] of Object.entries(EXAMPLES)) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = name;
    button.onclick = () => {
      field.value = text;
      read();
    };
    element('picture-examples').append(button);
  }
  element('formula-functions').append('Functions are those of JavaScript and of shaders: ', ...names.functions.flatMap((name, i) => {
    const code = document.createElement('code');
    code.textContent = name;
    return i ? [', ', code] : [code];
  }), '.');
  field.addEventListener('input', read);
  pause.onclick = () => setPaused(!paused);
  still.addEventListener('change', () => setPaused(still.matches));
  document.addEventListener('visibilitychange', run);
  new IntersectionObserver(([entry]) => {
    visible = entry.isIntersecting;
    run();
  }).observe(canvas);
  setPaused(paused);
  field.value = EXAMPLES.Silk;
  read();

  return {
    use(device) {
      size = device.gpu ? 4 : 2;
      finest = SIZES.length - 1;
      forget();
    },
  };
}
