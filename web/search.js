// The third card: sentences of a text, ranked by what they mean.
import * as weft from './weft/index.js';

const TEXT = `The key to the house hangs in the small grey box beside the front door.
Breakfast is between seven and ten in the room with the blue tiles.
Please keep your windows shut when the wind comes from the sea.
The radiators have a knob at the bottom: turn it to the left and they warm up.
There are more blankets in the chest under the stairs.
The password of the wireless network is on the back of this card.
The last bus into town leaves at a quarter past nine, at weekends an hour later.
Old Marta sells bread, cheese and tomatoes three houses down the road.
The tavern by the harbour has the best fish, but it is closed on Mondays.
Dogs are welcome, though not on the beds.
In an emergency dial 112; the nearest doctor lives in Church Street.
You may leave your luggage with us on the day you go home, until the evening.
We would like to have the room back by eleven o’clock.
Children should not go to the pond without a grown-up.
Rubbish goes into the green bin, glass and paper into the shed.`;

const QUESTIONS = ['Can I bring my puppy?', 'Where can I store my suitcases?', 'How do I unlock the house?', 'My son is ill',
                   'groceries'];

const DEFAULT_SIZE = 91;  // millions of bytes
const MOST = 5000, SHOWN = 5;
const NO_ADDRESS = 'The address is empty: write that of a folder with a model.';

// What stays in this browser from visit to visit, by names; where pages may keep nothing, nothing.
const stored = {
  get(name) {
    try {
      return localStorage.getItem(`weft-${name}`) ?? undefined;
    } catch {
      return undefined;
    }
  },
  // `standard`: what the page has itself.
  set(name, value, standard) {
    try {
      if (value === standard) localStorage.removeItem(`weft-${name}`);
      else localStorage.setItem(`weft-${name}`, value);
    } catch {
      // It is too long, or nothing may be kept.
    }
  },
};

const megabytes = (bytes) => `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;

// The sentences of a text; a line ends one, too.
export function sentencesOf(text) {
  const segmenter = globalThis.Intl?.Segmenter && new Intl.Segmenter('en', {granularity: 'sentence'});
  const split = (line) => (segmenter ? [...segmenter.segment(line)].map(({segment}) => segment) :
                                       line.match(/[^.!?]+[.!?]*\s*/g) ?? []);
  return [...new Set(text.split(/\n+/).flatMap(split).map((s) => s.trim()).filter((s) => /[\p{L}\p{N}]/u.test(s)))];
}

export function createSearch(app) {
  const element = (id) => document.getElementById(id);
  const address = element('model-url'), text = element('text'), query = element('query');
  const standard = address.getAttribute('value');
  address.value = stored.get('model') ?? standard;
  address.closest('details').open = address.value !== standard;

  let source;   // what is loaded, or was: an address, or {files}
  let encoder, controller;
  let vectors = new Map();  // of sentences
  let matrix;               // {sentences, tensor}, of the text as it is now
  let generation = 0;

  // ---- The model
  // How large it is, asked of the server where it is not the one that the page knows.
  async function tellSize() {
    const asked = address.value, say = (words) => {
      if (asked === address.value) element('model-size').textContent = words;
    };
    if (!asked.trim()) return say(NO_ADDRESS);
    try {
      const weights = new URL('model.safetensors', asked.endsWith('/') ? asked : `${asked}/`);
      const cache = await globalThis.caches?.open(weft.models.CACHE).catch(() => undefined);
      if (await cache?.match(weights.href)) {
        return say('The model is on this computer already: your browser kept it from an earlier visit.');
      }
      const host = weights.host;
      if (asked === standard) {
        return say(`It needs a language model of ${DEFAULT_SIZE} MB, all-MiniLM-L6-v2, which your browser fetches once from ` +
                   `${host} and keeps. Your text and your questions are not sent anywhere.`);
      }
      // Said as one types: what moves when the field is left moves a button away from under the mouse.
      say(`Asking ${host} how large the model is…`);
      await new Promise((done) => setTimeout(done, 500));
      if (asked !== address.value) return;
      const bytes = Number((await fetch(weights, {method: 'HEAD'})).headers.get('content-length'));
      say(`The model there has ${bytes ? megabytes(bytes) : 'a size that the server does not tell'}; your browser fetches it ` +
          'once and keeps it. Your text and your questions are not sent anywhere.');
    } catch {
      say('How large the model is there cannot be found out; the address may be wrong.');
    }
  }

  function progress(state, part) {
    element('model-progress').hidden = state === undefined;
    element('model-state').textContent = state ?? '';
    if (part === undefined) element('model-bar').removeAttribute('value');
    else element('model-bar').value = part;
  }

  async function load(from) {
    controller?.abort();
    const mine = controller = new AbortController(), {signal} = mine;
    source = from;
    element('model-error').hidden = true;
    element('model-load').hidden = true;
    progress('Loading…');
    const start = performance.now();
    try {
      const made = await weft.models.load(from, {
        signal,
        progress({file, loaded, total}) {
          if (!file.endsWith('.safetensors')) return;
          progress(`${megabytes(loaded)}${total ? ` of ${megabytes(total)}` : ''}`, total && loaded / total);
        },
      });
      if (mine !== controller) return made.dispose();
      encoder?.dispose();
      encoder = made;
      element('search-figures').textContent = `loaded in ${((performance.now() - start) / 1000).toFixed(1)} seconds`;
      query.disabled = false;
      query.placeholder = 'What do you want to know?';
      for (const button of element('query-examples').children) button.disabled = false;
      progress('Reading the text…');
      query.value ||= QUESTIONS[0];
      forget();
      await search();
    } catch (error) {
      if (mine !== controller) return;
      source = undefined;
      progress();
      element('model-load').hidden = false;
      if (!signal.aborted) fail(error);
    }
  }

  function fail(error) {
    progress();
    if (app.failed(error)) return;
    console.error(error);
    refuse(navigator.onLine ? error.message : `There is no connection to the internet. ${error.message}`);
  }
  function refuse(message) {
    element('model-error').textContent = message;
    element('model-error').hidden = false;
  }

  // ---- The text
  function forget() {
    vectors = new Map();
    matrix?.tensor.dispose();
    matrix = undefined;
  }

  // The text's sentences as rows of a tensor; those that were not there before are embedded. Undefined if something newer
  // came between.
  async function rows(mine) {
    const sentences = sentencesOf(text.value).slice(0, MOST);
    if (matrix && matrix.sentences.length === sentences.length && sentences.every((s, i) => s === matrix.sentences[i])) {
      return matrix;
    }
    const fresh = sentences.filter((s) => !vectors.has(s));
    const step = encoder.gpu ? 32 : 4;
    const start = performance.now();
    for (let i = 0; i < fresh.length; i += step) {
      if (fresh.length > step) progress(`Reading sentence ${i + 1} of ${fresh.length}`, i / fresh.length);
      const part = fresh.slice(i, i + step);
      const made = await encoder.vectors(part, {batch: step});
      part.forEach((s, n) => vectors.set(s, made[n].slice()));
      if (mine !== generation) return undefined;
    }
    progress();
    if (fresh.length) {
      const took = performance.now() - start;
      app.took(took);
      element('search-figures').dataset.read =
          `read ${fresh.length} sentence${fresh.length === 1 ? '' : 's'} in ${Math.round(took)} milliseconds; `;
    }
    matrix?.tensor.dispose();
    const all = new Float32Array(sentences.length * encoder.dimension);
    sentences.forEach((s, i) => all.set(vectors.get(s), i * encoder.dimension));
    return matrix = {sentences, tensor: weft.tensor(all, {shape: [sentences.length, encoder.dimension]})};
  }

  // ---- The search
  let busy = false, again = false;

  // Ranks the sentences; while it is at it, only the newest question is next.
  async function search() {
    if (!encoder) return;
    ++generation;
    if (busy) return void (again = true);
    busy = true;
    const mine = generation;
    try {
      const table = await rows(mine);
      const question = query.value.trim();
      if (table && !(question && table.sentences.length)) show([]);
      if (table && question && table.sentences.length) {
        const start = performance.now();
        const [vector] = await encoder.vectors([question]);
        if (mine === generation) {
          const row = weft.tensor(vector.slice(), {shape: [1, encoder.dimension]});
          const alike = weft.models.similarity(row, table.tensor);
          const scores = await alike.data();
          row.dispose();
          alike.dispose();
          const took = performance.now() - start;
          app.took(took);
          const figures = element('search-figures');
          figures.textContent = `${figures.dataset.read ?? ''}answered in ${took.toFixed(took < 10 ? 1 : 0)} milliseconds`;
          show(table.sentences.map((sentence, i) => ({sentence, score: scores[i]})).sort((a, b) => b.score - a.score));
        }
      }
    } catch (error) {
      if (mine === generation) fail(error);
    }
    busy = false;
    if (again) {
      again = false;
      search();
    }
  }

  function show(ranked) {
    element('results').replaceChildren(...ranked.slice(0, SHOWN).map(({sentence, score}) => {
      const row = document.createElement('li'), mark = document.createElement('div'), words = document.createElement('p');
      const track = document.createElement('i'), bar = document.createElement('b');
      mark.className = 'score';
      track.append(bar);
      bar.style.transform = `scaleX(${Math.max(0, score).toFixed(3)})`;
      mark.append(score.toFixed(2), track);
      words.textContent = sentence;
      row.append(mark, words);
      return row;
    }));
  }

  // ---- The card
  let waiting;
  const soon = (delay) => () => {
    clearTimeout(waiting);
    waiting = setTimeout(search, delay);
  };
  const example = element('text-example');
  const textChanged = () => {
    stored.set('text', text.value, TEXT);
    example.hidden = text.value === TEXT;
  };
  text.value = stored.get('text') ?? TEXT;
  textChanged();
  text.addEventListener('input', textChanged);
  text.addEventListener('input', soon(400));
  example.onclick = () => {
    text.value = TEXT;
    textChanged();
    search();
  };
  query.addEventListener('input', soon(120));
  for (const question of QUESTIONS) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = question;
    button.disabled = true;
    button.onclick = () => {
      query.value = question;
      search();
    };
    element('query-examples').append(button);
  }
  address.addEventListener('input', () => {
    stored.set('model', address.value, standard);
    tellSize();
  });
  element('model-button').onclick = () => (address.value.trim() ? load(address.value) : refuse(NO_ADDRESS));
  element('model-stop').onclick = () => controller?.abort();
  element('model-files').addEventListener('change', ({target}) => {
    if (target.files.length) load({files: [...target.files]});
  });
  const box = element('model-load');
  for (const name of ['dragover', 'dragleave', 'drop']) {
    box.addEventListener(name, (event) => {
      event.preventDefault();
      box.classList.toggle('over', name === 'dragover');
      if (name === 'drop') dropped(event.dataTransfer).then((files) => load({files}));
    });
  }
  tellSize();

  return {
    // On another device the model is loaded again, from the browser's cache or the same files.
    use() {
      ++generation;
      if (source) load(source);
    },
  };
}

// The files that were dropped, by their paths: in a folder without the folder's name.
async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  const files = {};
  const walk = async (entry, path) => {
    if (entry.isFile) {
      files[path + entry.name] = await new Promise((resolve, reject) => entry.file(resolve, reject));
      return;
    }
    const reader = entry.createReader();
    for (let list; (list = await new Promise((resolve, reject) => reader.readEntries(resolve, reject))).length;) {
      await Promise.all(list.map((child) => walk(child, `${path}${entry.name}/`)));
    }
  };
  await Promise.all(entries.map((entry) => walk(entry, '')));
  const [folder] = entries;
  if (entries.length !== 1 || !folder.isDirectory) return files;
  return Object.fromEntries(Object.entries(files).map(([path, file]) => [path.slice(folder.name.length + 1), file]));
}
