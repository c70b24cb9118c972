// Formulas in JavaScript's syntax, of which Weft computes pictures:
//
//   const formula = parse('v = sin(9 * r - t); [v, 0.5, 1 - v]');
//   const [red, green, blue] = formula.colours({x, y, t});
//
// There are numbers, conditions and colours. Numbers are tensors that broadcast; a colour is a list of three of them.
// Everything is checked when it is parsed: nothing that parse() takes fails later.
import * as weft from './weft/index.js';

// What is wrong with a formula: its characters from `start` until before `end`.
export class FormulaError extends Error {
  constructor(message, start, end) {
    super(message);
    this.name = 'FormulaError';
    Object.assign(this, {start, end});
  }
}

// ---- What formulas may call
const lift = (value) => (typeof value === 'number' ? weft.full([], value) : value);
const number = (value) => (value.dtype === 'bool' ? value.cast('f32') : lift(value));
const condition = (value) => (value.dtype === 'bool' ? value : lift(value).notEqual(0));

// Of the components, where one argument is a colour.
const each = (f) => (...given) =>
  given.some(Array.isArray) ? [0, 1, 2].map((i) => f(...given.map((v) => number(Array.isArray(v) ? v[i] : v))))
                            : f(...given.map(number));

const fract = (v) => v.sub(v.floor());
const clamp = (v, low, high) => v.maximum(low).minimum(high);
const folded = (name) => (first, ...rest) => rest.reduce((a, b) => a[name](b), first);

// Each as {least, most} arguments and what computes it of them.
const functions = {};
const define = (least, most, table) => {
  for (const [name, f] of Object.entries(table)) functions[name] = {least, most, f: each(f)};
};
const unary = ['sin', 'cos', 'tan', 'asin', 'acos', 'atan', 'sinh', 'cosh', 'tanh', 'exp', 'log', 'log2', 'log10', 'sqrt',
               'cbrt', 'abs', 'sign', 'floor', 'ceil', 'trunc'];
define(1, 1, Object.fromEntries(unary.map((name) => [name, (v) => v[name]()])));
define(1, 1, {round: (v) => v.add(0.5).floor(), fract});
define(2, 2, {
  pow: (a, b) => a.pow(b),
  atan2: (a, b) => a.atan2(b),
  step: (edge, v) => v.greaterEqual(edge).cast('f32'),
});
define(1, 8, {min: folded('minimum'), max: folded('maximum'), hypot: (a, ...rest) => folded('hypot')(a, ...rest).abs()});
define(3, 3, {
  clamp,
  mix: (a, b, t) => a.add(b.sub(a).mul(t)),
  smoothstep: (from, to, v) => {
    const part = clamp(v.sub(from).div(to.sub(from)), 0, 1);
    return part.mul(part).mul(part.mul(-2).add(3));
  },
});

// Of palette(): gold at 0, then wine, night and morning, and gold again at 1.
const HUES = [[0.58, 0.42, 0], [0.42, 0.36, 0.12], [0.55, 0.36, 0.35]];

// Those that make a colour of numbers.
const colours = {
  palette: {
    least: 1,
    most: 1,
    f: (v) => HUES.map(([middle, reach, shift]) => number(v).add(shift).mul(2 * Math.PI).cos().mul(reach).add(middle)),
  },
  hsl: {
    least: 3,
    most: 3,
    f: (hue, saturation, light) => {
      const [h, s, l] = [hue, saturation, light].map(number);
      const reach = s.mul(l.minimum(l.mul(-1).add(1)));
      return [0, 8, 4].map((n) => {
        const k = fract(h.add(n / 12)).mul(12);
        return l.sub(reach.mul(clamp(k.sub(3).minimum(k.mul(-1).add(9)), -1, 1)));
      });
    },
  },
};

const operators = {
  '+': each((a, b) => a.add(b)),
  '-': each((a, b) => a.sub(b)),
  '*': each((a, b) => a.mul(b)),
  '/': each((a, b) => a.div(b)),
  '%': each((a, b) => a.rem(b)),
  '**': each((a, b) => a.pow(b)),
};
const comparisons = {
  '<': 'less', '<=': 'lessEqual', '>': 'greater', '>=': 'greaterEqual', '==': 'equal', '===': 'equal', '!=': 'notEqual',
  '!==': 'notEqual',
};

const constants = {pi: Math.PI, PI: Math.PI, E: Math.E};
// Names that are formulas themselves.
const shorthands = {r: 'hypot(x, y)', angle: 'atan2(y, x)'};
const derivatives = {dx: 'x', dy: 'y'};

// All names, for those who write about them.
export const names = {
  variables: ['x', 'y', 't', ...Object.keys(shorthands), 'pi'],
  functions: [...Object.keys(functions), ...Object.keys(colours), ...Object.keys(derivatives)],
};

// Names that a formula cannot set.
const fixed = new Set(['x', 'y', 't', 'Math', ...Object.keys(constants), ...names.functions]);

// ---- Text to tokens
const TOKEN = /\s+|\/\/[^\n]*|(?<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?<name>[A-Za-z_]\w*)|(?<sign>\*\*|[<>]=|[!=]==?|&&|\|\||[-+*/%<>!?:=()[\],;.])/y;

function tokens(text) {
  const list = [];
  for (let at = 0; at < text.length; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text);
    if (!match) {
      const [strange] = text.slice(at);
      throw new FormulaError(`“${strange}” has no meaning here`, at, at + strange.length);
    }
    const {groups} = match;
    const kind = Object.keys(groups).find((name) => groups[name] !== undefined);
    if (kind) list.push({kind, text: match[0], start: at, end: TOKEN.lastIndex});
  }
  list.push({kind: 'end', text: '', start: text.length, end: text.length});
  return list;
}

// ---- Tokens to a formula: nodes {type: 'number' | 'condition' | 'colour', compute(at), start, end}; `at` has x, y, t and
// `done`, what was computed with these.
const LONGEST = 2000, DEEPEST = 60;

// From loosest to tightest; all are of the left but `**`.
const LEVELS = [['||'], ['&&'], ['==', '===', '!=', '!=='], ['<', '<=', '>', '>='], ['+', '-'], ['*', '/', '%']];

class Parser {
  constructor(text, variables) {
    this.all = tokens(text);
    this.at = 0;
    this.depth = 0;
    this.variables = variables;
  }

  get next() {
    return this.all[this.at];
  }
  is(sign, ahead = 0) {
    const token = this.all[this.at + ahead];
    return token?.kind === 'sign' && token.text === sign;
  }
  take(sign) {
    return this.is(sign) ? this.all[this.at++] : undefined;
  }
  fail(message, {start, end} = this.next) {
    throw new FormulaError(message, start, end);
  }
  expect(sign, what) {
    return this.take(sign) ?? this.fail(this.next.kind === 'end' ? `${what} is missing at the end` :
                                        `${what} is missing before “${this.next.text}”`);
  }
  node(type, {start}, compute, parts = []) {
    return {
      type, start, end: this.all[this.at - 1].end, parts,
      compute: (at) => {
        if (!at.done.has(compute)) at.done.set(compute, compute(at));
        return at.done.get(compute);
      },
    };
  }

  // Names that are set, and at the end what the picture is.
  program() {
    while (true) {
      while (this.take(';'));
      if (this.next.kind === 'name' && ['let', 'const', 'var'].includes(this.next.text)) this.at++;
      if (this.next.kind === 'name' && this.is('=', 1)) {
        const name = this.all[this.at];
        this.at += 2;
        if (fixed.has(name.text)) {
          this.fail(`“${name.text}” has a meaning already; choose another name`, name);
        }
        this.variables.set(name.text, this.expression());
        if (this.next.kind === 'end') this.fail(`${name.text} is set, but nothing follows that is to be shown`);
        if (!this.is(';')) this.fail(`an operator or “;” is missing before “${this.next.text}”`);
        continue;
      }
      const result = this.expression();
      while (this.take(';'));
      if (this.is('=')) this.fail('“=” sets a name, such as v = x; to compare, write “==”');
      if (this.next.kind !== 'end') this.fail(`an operator or “;” is missing before “${this.next.text}”`);
      return result;
    }
  }

  expression() {
    if (++this.depth > DEEPEST) this.fail('there are too many brackets in each other');
    const first = this.next;
    const test = this.level(0);
    let result = test;
    if (this.take('?')) {
      if (test.type === 'colour') this.fail('this is a colour; “?” needs a condition before it', test);
      const yes = this.expression();
      this.expect(':', '“:”');
      const no = this.expression();
      const type = yes.type === 'colour' || no.type === 'colour' ? 'colour' : 'number';
      const choose = (given) => each((a, b) => weft.where(given, a, b));
      result = this.node(type, first, (at) => choose(condition(test.compute(at)))(yes.compute(at), no.compute(at)),
                         [test, yes, no]);
    }
    --this.depth;
    return result;
  }

  level(n) {
    if (n === LEVELS.length) return this.unary();
    const first = this.next;
    let left = this.level(n + 1);
    while (this.next.kind === 'sign' && LEVELS[n].includes(this.next.text)) {
      const sign = this.all[this.at++].text;
      left = this.binary(sign, first, left, this.level(n + 1));
    }
    return left;
  }

  binary(sign, first, left, right) {
    const parts = [left, right];
    if (sign in operators) {
      const type = parts.some((p) => p.type === 'colour') ? 'colour' : 'number';
      return this.node(type, first, (at) => operators[sign](left.compute(at), right.compute(at)), parts);
    }
    const colour = parts.find((p) => p.type === 'colour');
    if (colour) this.fail(`this is a colour; “${sign}” needs numbers`, colour);
    return this.node('condition', first, (at) => {
      const a = left.compute(at), b = right.compute(at);
      if (sign === '&&') return condition(a).logicalAnd(condition(b));
      if (sign === '||') return condition(a).logicalOr(condition(b));
      return number(a)[comparisons[sign]](number(b));
    }, parts);
  }

  unary() {
    const first = this.next;
    const sign = this.take('-') ?? this.take('+') ?? this.take('!');
    if (!sign) return this.power();
    if (++this.depth > DEEPEST) this.fail('there are too many signs in a row');
    const value = this.unary();
    --this.depth;
    if (sign.text === '!') {
      if (value.type === 'colour') this.fail('this is a colour; “!” needs a condition', value);
      return this.node('condition', first, (at) => condition(value.compute(at)).logicalNot(), [value]);
    }
    const type = value.type === 'colour' ? 'colour' : 'number';
    return this.node(type, first, (at) => operators['*'](value.compute(at), sign.text === '-' ? -1 : 1), [value]);
  }

  power() {
    const first = this.next;
    const base = this.primary();
    return this.take('**') ? this.binary('**', first, base, this.unary()) : base;
  }

  primary() {
    const first = this.next;
    if (first.kind === 'end') this.fail('something is missing at the end');
    this.at++;
    if (first.kind === 'number') {
      const value = Number(first.text);
      return this.node('number', first, () => value);
    }
    if (first.kind === 'name') {
      let name = first;
      if (name.text === 'Math' && this.take('.')) name = this.all[this.at++];
      return this.is('(') ? this.call(first, name) : this.variable(first, name);
    }
    if (first.text === '(') {
      const value = this.expression();
      this.expect(')', '“)”');
      return value;
    }
    if (first.text === '[') {
      const parts = this.list(']');
      if (parts.length !== 3) this.fail(`a colour is [red, green, blue], here are ${parts.length} numbers`, this.from(first));
      for (const part of parts) if (part.type === 'colour') this.fail('this is a colour within a colour', part);
      return this.node('colour', first, (at) => parts.map((part) => number(part.compute(at))), parts);
    }
    return this.fail(`“${first.text}” was not expected here`, first);
  }

  from({start}) {
    return {start, end: this.all[this.at - 1].end};
  }

  // Expressions until that bracket.
  list(end) {
    const parts = [];
    if (this.take(end)) return parts;
    do parts.push(this.expression());
    while (this.take(','));
    this.expect(end, `“${end}”`);
    return parts;
  }

  variable(first, {text: name, start, end}) {
    if (this.variables.has(name)) return {...this.variables.get(name), start, end};
    if (Object.hasOwn(constants, name)) return this.node('number', first, () => constants[name]);
    if (['x', 'y', 't'].includes(name)) return this.node('number', first, (at) => at[name]);
    if (Object.hasOwn(shorthands, name)) {
      this.variables.set(name, new Parser(shorthands[name], this.variables).program());
      return {...this.variables.get(name), start, end};
    }
    const known = [...names.variables, ...this.variables.keys()];
    if (names.functions.includes(name)) this.fail(`“${name}” is a function: write ${name}(…)`, {start, end});
    return this.fail(`“${name}” is not known; there are ${[...new Set(known)].join(', ')}`, {start, end});
  }

  call(first, {text: name, start, end}) {
    this.take('(');
    if (!names.functions.includes(name)) {
      const alike = names.functions.filter((f) => f.startsWith(name.slice(0, 2)) || f.includes(name));
      this.fail(`there is no function “${name}”${alike.length ? `; did you mean ${alike.slice(0, 3).join(' or ')}?` : ''}`,
                {start, end});
    }
    const parts = this.list(')');
    const {least, most, f} = functions[name] ?? colours[name] ?? {least: 1, most: 1};
    if (parts.length < least || parts.length > most) {
      const wanted = least === most ? `${least}` : `${least} to ${most}`;
      this.fail(`${name} takes ${wanted} number${most === 1 ? '' : 's'}, here are ${parts.length}`, this.from(first));
    }
    const colour = parts.find((p) => p.type === 'colour');
    if (colour && !(name in functions)) this.fail(`this is a colour; ${name} takes numbers`, colour);
    if (name in derivatives) return this.derivative(first, derivatives[name], parts[0]);
    const type = name in colours || colour ? 'colour' : 'number';
    return this.node(type, first, (at) => f(...parts.map((part) => part.compute(at))), parts);
  }

  // How the value changes with a coordinate: its derivative, of everything that depends on that.
  derivative(first, coordinate, of) {
    return this.node('number', first, (at) => {
      const value = (moved) => number(of.compute({...at, [coordinate]: moved, done: new Map()}));
      return weft.grad((moved) => value(moved).add(moved.mul(0)).sum())(at[coordinate]);
    }, [of]);
  }
}

// The formula of that text. Throws FormulaError.
export function parse(text) {
  if (text.length > LONGEST) {
    throw new FormulaError(`a formula has at most ${LONGEST} characters, this one ${text.length}`, LONGEST, text.length);
  }
  if (!text.trim()) throw new FormulaError('write a formula, for example sin(9 * x + t)', 0, text.length);
  const result = new Parser(text, new Map()).program();
  return {
    // Red, green and blue at each point: tensors, of `x` and `y` of the picture's shape and a number `t`.
    colours(at) {
      const value = result.compute({...at, done: new Map()});
      return result.type === 'colour' ? value.map(number) : [0, 1, 2].map(() => number(value));
    },
  };
}

// A picture of a formula: a tensor of u32 [height, width], whose bytes are red, green, blue and 255. `x` is [1, width], `y`
// [height, 1], `t` one number.
export function paint(formula, x, y, t) {
  const shape = [y.shape[0], x.shape[1]];
  const bytes = formula.colours({x: x.broadcastTo(shape), y: y.broadcastTo(shape), t}).map((v) => {
    const part = weft.where(v.isNan(), 0, clamp(v, 0, 1));
    return part.mul(255).add(0.5).cast('u32');
  });
  const [red, green, blue] = bytes;
  const alpha = weft.full([], 0xff000000, 'u32');
  return red.bitwiseOr(green.shiftLeft(8)).bitwiseOr(blue.shiftLeft(16)).bitwiseOr(alpha).broadcastTo(shape);
}
