{#
  y[…b, a] = x[…a, b] where y is contiguous along a and x along b, for rows that begin anywhere in a word. A tile of
  workgroup memory has `rows` rows of x, `words` words of n elements each, from the tile's begin on. Its rows r, r + n,
  … are adjacent, with an odd pitch, so that threads along a access different banks. It gives `tile_b` rows of y of
  `tile_words` words each; words that are shared with other rows or tiles are merged. `short_a`: the length of a, if it
  is so short that a tile spans it, and y's rows are adjacent: then y is one run, and a tile makes `tile_words` words
  of it. `aligned`: x's rows begin at words.

  options:
    n: 1, 2, 4
    rows: number
    words: number
    before: number
    aligned: flag
    short_a: 0, number
    tile_words: number
    tile_b: number
#}
{% set size_a = short_a ~ "u" if short_a else "p.size_a" %}
{% set element = 32 // n %}
{% set ones = "0xffffu" if n == 2 else "0xffu" %}
const kSlots = {{ (rows + n - 1) // n }}u;
const kPitch = {{ words + 1 - words % 2 }}u;
var<workgroup> tile: array<{{ "u32" if n > 1 else "x_t" }}, {{ n }}u * kSlots * kPitch>;

fn slot(r: u32) -> u32 { return (r % {{ n }}u * kSlots + r / {{ n }}u) * kPitch; }
{% if n > 1 %}
// The word that begins `skip` elements after the first of `low`.
fn shifted(low: u32, high: u32, skip: u32) -> u32 {
  let s = skip * {{ element }}u;
  return (low >> s) | ((high << 1u) << (31u - s));
}
{# Stores a word to y: its element 0 is element `first` of the `size` elements that begin at `begin`; others are
   skipped. #}
fn store_word(begin: u32, first: u32, size: u32, word: u32) {
  let at = (begin + first) / {{ n }}u;
  if (first < size && first + {{ n - 1 }}u < size) {
    atomicStore(&y_buf[at], word);
    return;
  }
  var mine = 0u;
{% for e in range(n) %}
  mine |= select(0u, {{ ones }} << {{ e * element }}u, first + {{ e }}u < size);
{% endfor %}
  if (mine != 0u) {
    atomicAnd(&y_buf[at], ~mine);
    atomicOr(&y_buf[at], word & mine);
  }
}
{% endif %}

@compute @workgroup_size({{ workgroup }})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
{{ tile_place() }}
  let y_begin = p.y_o + at_y(c);
{% if short_a %}
  // The tile's run begins at a word, which may be before y's first element.
  let run0 = tile_of_b * {{ tile_words * n }}u - y_begin % {{ n }}u;
  let a0 = 0u;
  let b0 = select(run0, 0u, tile_of_b == 0u) / {{ short_a * n }}u * {{ n }}u;
{% else %}
  let a0 = tile_of_a * {{ tile_words * n }}u;
  let b0 = tile_of_b * {{ tile_b }}u;
{% endif %}
  // Row r of the tile is a0 + r - {{ before }}: words of y may begin before a0. Elements outside of x, which are not
  // stored, load the first one instead: loads in branches would wait for each other.
  let x_first = at_x(c);
  let x_at = x_first + (a0 - {{ before }}u) * p.x_a + b0;
{% set loads = (rows * words + workgroup - 1) // workgroup %}
{% for k in range(loads) %}
  let s{{ k }} = lane + {{ k * workgroup }}u;
  let r{{ k }} = s{{ k }} / {{ words }}u;
  let e{{ k }} = s{{ k }} % {{ words }}u * {{ n }}u;
  let in{{ k }} = r{{ k }} < {{ rows }}u && a0 + r{{ k }} - {{ before }}u < {{ size_a }} && b0 + e{{ k }} < p.size_b;
  let i{{ k }} = select(x_first, x_at + r{{ k }} * p.x_a + e{{ k }}, in{{ k }});
  let v{{ k }} = {{ "word" if n > 1 else "load" }}_x(i{{ k }});
{% if not aligned %}
  let skip{{ k }} = (p.x_o + i{{ k }}) % {{ n }}u;
  let more{{ k }} = in{{ k }} && b0 + e{{ k }} + {{ n }}u - skip{{ k }} < p.size_b;
  let next{{ k }} = word_x(select(i{{ k }}, i{{ k }} + {{ n }}u, more{{ k }}));
{% endif %}
{% endfor %}
{% for k in range(loads) %}
{% set v = "v" ~ k if aligned else "shifted(v" ~ k ~ ", next" ~ k ~ ", skip" ~ k ~ ")" %}
  if (r{{ k }} < {{ rows }}u) { tile[slot(r{{ k }}) + e{{ k }} / {{ n }}u] = {{ v }}; }
{% endfor %}
  workgroupBarrier();
{% if short_a %}
  for (var s = lane; s < {{ tile_words }}u; s += {{ workgroup }}u) {
    let first = run0 + s * {{ n }}u;
    let size = {{ size_a }} * p.size_b;
{% if n == 1 %}
    if (first < size) { store_y(at_y(c) + first, tile[slot(first % {{ size_a }}) + first / {{ size_a }} - b0]); }
{% else %}
    var word = 0u;
{% for e in range(n) %}
    {
      let f = min(first + {{ e }}u, size - 1u);
      let b = min(f / {{ size_a }} - b0, {{ words * n - 1 }}u);   // elements outside are not stored
      let v = tile[slot(f % {{ size_a }}) + b / {{ n }}u] >> (b % {{ n }}u * {{ element }}u);
      word |= (v & {{ ones }}) << {{ e * element }}u;
    }
{% endfor %}
    store_word(y_begin, first, size, word);
{% endif %}
  }
{% else %}
  for (var s = lane; s < {{ tile_b // n * tile_words }}u; s += {{ workgroup }}u) {
    let word_of_a = s % {{ tile_words }}u;
    let word_of_b = s / {{ tile_words }}u;
{% for r in range(2 * n - 1) %}
    let t{{ r }} = tile[({{ r % n }}u * kSlots + word_of_a + {{ r // n }}u) * kPitch + word_of_b];
{% endfor %}
{% if n == 2 %}
    let low = vec2<u32>((t0 & 0xffffu) | (t1 << 16u), (t0 >> 16u) | (t1 & 0xffff0000u));
    let high = vec2<u32>(t2 & 0xffffu, t2 >> 16u);
{% elif n == 4 %}
    let low = turned(vec4<u32>(t0, t1, t2, t3));
    let high = turned(vec4<u32>(t4, t5, t6, 0u));
{% endif %}
{% for k in range(n) %}
    {
      let b = b0 + word_of_b * {{ n }}u + {{ k }}u;
      let first = a0 + word_of_a * {{ n }}u;
{% if n == 1 %}
      if (b < p.size_b && first < p.size_a) { store_y(at_y(c) + b * p.y_b + first, t0); }
{% else %}
      let begin = y_begin + b * p.y_b;
      let skipped = begin % {{ n }}u;
      let word = shifted(low[{{ k }}], high[{{ k }}], {{ n - 1 }}u - skipped);
      if (b < p.size_b) { store_word(begin, first - skipped, p.size_a, word); }
{% endif %}
    }
{% endfor %}
  }
{% endif %}
}
