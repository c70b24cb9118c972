// Chromium without a window, driven through the DevTools protocol.
import {spawn} from 'node:child_process';
import {existsSync, mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

// WebGPU on SwiftShader.
export const SOFTWARE_GPU = ['--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader', '--disable-gpu-watchdog'];

const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

// Calls `use(browser)`, whose open(url, {width, height, dark, still, before}) gives a Page, and ends Chromium. `before` is
// a script that runs before the page's own.
export async function withBrowser(flags, use) {
  const profile = mkdtempSync(join(tmpdir(), 'weft-chromium-'));
  const chromium = spawn('chromium', [
    '--headless=new', '--no-sandbox', '--no-first-run', '--disable-dev-shm-usage', `--user-data-dir=${profile}`,
    '--remote-debugging-port=0', ...flags, 'about:blank'], {stdio: 'ignore'});
  const ended = new Promise((resolve) => {
    chromium.once('exit', resolve);
    chromium.once('error', resolve);
  });
  const kill = () => chromium.kill();
  process.once('exit', kill);
  try {
    const port = join(profile, 'DevToolsActivePort');
    for (let i = 0; !existsSync(port) || !readFileSync(port, 'utf8').includes('\n'); ++i) {
      if (i === 600 || chromium.exitCode !== null) throw new Error('Chromium did not start');
      await sleep(50);
    }
    const [number, path] = readFileSync(port, 'utf8').split('\n');
    const browser = await connect(`ws://127.0.0.1:${number}${path}`);
    try {
      return await use(browser);
    } finally {
      browser.socket.close();
    }
  } finally {
    process.off('exit', kill);
    chromium.kill();
    await ended;
    rmSync(profile, {recursive: true, force: true, maxRetries: 10, retryDelay: 200});
  }
}

async function connect(url) {
  const socket = new WebSocket(url);
  await new Promise((resolve, reject) => Object.assign(socket, {onopen: resolve, onerror: reject}));
  const answers = new Map(), pages = new Map();
  let last = 0;
  const send = (method, params = {}, sessionId) => new Promise((resolve, reject) => {
    answers.set(++last, {resolve, reject, method});
    socket.send(JSON.stringify({id: last, method, params, sessionId}));
  });
  socket.onmessage = ({data}) => {
    const {id, result, error, method, params, sessionId} = JSON.parse(data);
    if (!id) return pages.get(sessionId)?.heard(method, params);
    const {resolve, reject, method: asked} = answers.get(id);
    answers.delete(id);
    if (error) reject(new Error(`${asked}: ${error.message}`));
    else resolve(result);
  };
  socket.onclose = () => {
    for (const {reject} of answers.values()) reject(new Error('Chromium ended'));
    answers.clear();
  };
  return {
    socket,
    crashGpu: () => send('Browser.crashGpuProcess'),
    async open(address, {width = 1024, height = 768, dark = false, still = false, before} = {}) {
      const {targetId} = await send('Target.createTarget', {url: 'about:blank'});
      const {sessionId} = await send('Target.attachToTarget', {targetId, flatten: true});
      const page = new Page((method, params) => send(method, params, sessionId), () => send('Target.closeTarget', {targetId}));
      pages.set(sessionId, page);
      for (const domain of ['Page', 'Runtime', 'Log', 'DOM']) await page.send(`${domain}.enable`);
      await page.send('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor: 1, mobile: false});
      await page.send('Emulation.setEmulatedMedia', {features: [
        {name: 'prefers-color-scheme', value: dark ? 'dark' : 'light'},
        {name: 'prefers-reduced-motion', value: still ? 'reduce' : 'no-preference'},
      ]});
      if (before) await page.send('Page.addScriptToEvaluateOnNewDocument', {source: before});
      await page.send('Page.navigate', {url: address});
      return page;
    },
  };
}

class Page {
  // What the page complained about: exceptions, errors on its console, refusals of its policy.
  complaints = [];
  constructor(send, close) {
    Object.assign(this, {send, close});
  }
  heard(method, params) {
    if (method === 'Runtime.exceptionThrown') {
      const {exceptionDetails: {text, exception}} = params;
      this.complaints.push(`${text} ${exception?.description ?? ''}`);
    }
    if (method === 'Runtime.consoleAPICalled' && params.type === 'error') {
      this.complaints.push(params.args.map((a) => a.description ?? a.value).join(' '));
    }
    if (method === 'Log.entryAdded' && params.entry.level === 'error') this.complaints.push(`${params.entry.text} ${params.entry.url ?? ''}`);
  }
  // The value of an expression, which may be a promise.
  async get(expression) {
    const {result, exceptionDetails} =
        await this.send('Runtime.evaluate', {expression, awaitPromise: true, returnByValue: true});
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }
  // The value when it is truthy.
  async until(expression, seconds = 60) {
    const end = performance.now() + 1000 * seconds;
    while (true) {
      const value = await this.get(expression);
      if (value) return value;
      if (performance.now() > end) throw new Error(`after ${seconds} s it does not hold: ${expression}\n${this.complaints.join('\n')}`);
      await sleep(50);
    }
  }
  text(selector) {
    return this.get(`document.querySelector(${JSON.stringify(selector)}).innerText`);
  }
  // The middle of an element, or another part of it, in the window.
  place(selector, x = 0.5, y = 0.5) {
    return this.get(`(() => {
      const element = document.querySelector(${JSON.stringify(selector)});
      element.scrollIntoView({block: 'center', behavior: 'instant'});
      const {left, top, width, height} = element.getBoundingClientRect();
      return {x: left + ${x} * width, y: top + ${y} * height};
    })()`);
  }
  mouse(type, {x, y}) {
    return this.send('Input.dispatchMouseEvent',
                     {type, x, y, button: 'left', buttons: type === 'mouseReleased' ? 0 : 1, clickCount: 1});
  }
  async click(selector) {
    const at = await this.place(selector);
    await this.mouse('mousePressed', at);
    await this.mouse('mouseReleased', at);
  }
  // Types into a field, in place of what is there.
  async type(selector, text) {
    await this.get(`(() => { const f = document.querySelector(${JSON.stringify(selector)}); f.scrollIntoView({block: 'center', behavior: 'instant'}); f.focus(); f.select(); })()`);
    await this.send('Input.insertText', {text});
  }
  async choose(selector, files) {
    const {root} = await this.send('DOM.getDocument');
    const {nodeId} = await this.send('DOM.querySelector', {nodeId: root.nodeId, selector});
    await this.send('DOM.setFileInputFiles', {nodeId, files});
  }
  // A line through points from 0 to 1 of an element, which the mouse draws.
  async draw(selector, line) {
    const a = await this.place(selector, 0, 0), b = await this.place(selector, 1, 1);
    const at = ([x, y]) => ({x: a.x + x * (b.x - a.x), y: a.y + y * (b.y - a.y)});
    await this.mouse('mousePressed', at(line[0]));
    for (const point of line.slice(1)) await this.mouse('mouseMoved', at(point));
    await this.mouse('mouseReleased', at(line.at(-1)));
  }
  // A PNG of the window, or of all of the page.
  async picture({whole = false} = {}) {
    const {data} = await this.send('Page.captureScreenshot', {format: 'png', captureBeyondViewport: whole});
    return Buffer.from(data, 'base64');
  }
}
