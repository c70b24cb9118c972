// The page: opens devices, tells which one computes and how long it takes, and hands it to the cards.
import * as weft from './weft/index.js';

import {createDigit} from './digit.js';
import {createModel} from './model.js';
import {createPicture} from './picture.js';
import {createRead} from './read.js';
import {createSearch} from './search.js';

const element = (id) => document.getElementById(id);
const opened = {};             // devices, by 'gpu' and 'cpu'
const asked = {cpu: 'cpu', gpu: 'gpu'};  // what Weft is asked for
let kind;                      // of the one in use

// ---- What is missing for a GPU, and how one gets it: undefined if nothing is.
async function missing() {
  if (!isSecureContext) {
    return 'Browsers give pages the graphics card (WebGPU) only where they come by https or from this machine itself.';
  }
  if (!navigator.gpu) {
    return 'This browser has no WebGPU, by which pages use the graphics card. Chrome and Edge have it since version 113, ' +
        'Safari since 26, Firefox since 141 on Windows and 145 on Macs.';
  }
  const adapter = await navigator.gpu.requestAdapter().catch(() => null);
  if (!adapter) {
    return 'This browser has WebGPU but finds no graphics card that it may use. Look whether hardware acceleration is ' +
        'switched on in its settings; on Linux, Chrome also wants WebGPU and Vulkan enabled at chrome://flags.';
  }
  // Weft takes a GPU that is emulated only where it is named.
  const {isFallbackAdapter, architecture, description, vendor} = adapter.info ?? {};
  if (isFallbackAdapter) asked.gpu = architecture || description || vendor;
  return undefined;
}

function notice(text, action) {
  const paragraph = document.createElement('p');
  paragraph.append(text);
  if (action) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = action.label;
    button.onclick = action.run;
    paragraph.append(' ', button);
  }
  element('notice').replaceChildren(paragraph);
  element('notice').hidden = !text;
}

// ---- What cards get
let shown = 0;
export const app = {
  device: undefined,
  // Milliseconds that something took.
  took(milliseconds) {
    const now = performance.now();
    if (now - shown < 250) return;
    shown = now;
    element('time').textContent = `${milliseconds.toFixed(milliseconds < 10 ? 1 : 0)} ms`;
  },
  // An error that a card met; true if it is about the device, and not the card's to show.
  failed(error) {
    if (error.name !== 'DeviceLost') return false;
    if (opened[kind] !== app.device) return true;
    delete opened[kind];
    app.device = undefined;
    element('device-name').textContent = 'The graphics card was lost';
    element('time').textContent = '';
    notice('The browser lost the graphics card: its driver started anew, or the card was needed elsewhere.',
           {label: 'Try again', run: () => use('gpu')});
    return true;
  },
};
const cards = [createPicture(app), createDigit(app), createSearch(app), createModel(app), createRead(app)];

// As weft.wasm comes.
function progress({loaded, total}) {
  const megabytes = (bytes) => (bytes / 1e6).toFixed(1);
  element('start-state').textContent = `Loading Weft: ${megabytes(loaded)}${total ? ` of ${megabytes(total)}` : ''} MB`;
  if (total) element('start-bar').value = loaded / total;
  if (loaded === total) element('start-state').textContent = 'Starting Weft…';
}

// ---- The device
async function use(wanted) {
  try {
    opened[wanted] ??= await weft.open({device: asked[wanted], progress});
  } catch (error) {
    if (wanted === 'cpu') throw error;
    notice(`The graphics card cannot be used: ${error.message}. The page computes on the CPU instead.`);
    return use('cpu');
  }
  kind = wanted;
  const device = app.device = opened[wanted];
  weft.use(device);
  const name = device.gpu ? device.name : 'CPU, one core';
  element('device-name').textContent = name;
  element('device-name').title = `${name}. ${device.reason}`;
  document.querySelector('.dot').className = `dot ${wanted}`;
  document.querySelector(`[name=device][value=${wanted}]`).checked = true;
  shown = 0;
  for (const card of cards) card.use(device);
  return device;
}

async function start() {
  const lacking = await missing();
  const wanted = new URLSearchParams(location.search).get('device');
  if (lacking) notice(`${lacking} Until then everything here is computed on the CPU, more slowly.`);
  // Weft's own choice is a hardware GPU, else the cpu.
  const first = wanted === 'cpu' || lacking ? 'cpu' : wanted === 'gpu' ? 'gpu' : undefined;
  if (first) {
    await use(first);
  } else {
    const device = await weft.open({progress});
    opened[device.gpu ? 'gpu' : 'cpu'] = device;
    await use(device.gpu ? 'gpu' : 'cpu');
    if (!device.gpu) notice('The only graphics card here is one that the browser emulates on the CPU; the CPU itself is faster.');
  }
  for (const input of document.querySelectorAll('[name=device]')) {
    input.disabled = input.value === 'gpu' && !!lacking;
    input.onchange = () => {
      element('notice').hidden ||= !lacking;
      element('device-name').textContent = 'Changing…';
      use(input.value).catch(refuse);
    };
  }
}

function refuse(error) {
  console.error(error);
  element('device-name').textContent = 'Weft did not start';
  element('picture-start').textContent = 'Weft did not start.';
  notice(`Weft did not start: ${error.message}. It needs a browser with WebAssembly as of 2023 or later.`);
}

start().catch(refuse);
