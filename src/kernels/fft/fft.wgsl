{#
  One pass of a Fourier transform: a workgroup does `columns` transforms of `points` elements, `threads` threads each,
  in the stages `radices` (Stockham's order: no digit is ever reversed). A stage reads all its elements into registers,
  and writes them to workgroup memory, from which the next one reads; the first reads from `source`, the last writes to
  `sink`. A transform of one pass has x as its source and y as its sink, longer ones pass through `scratch`:

    n = N1 · N2 · N3, element i1 N2 N3 + i2 N3 + i3, result k1 + k2 N1 + k3 N1 N2
    pass 1  over i1, for each (i2, i3); then times w(n)^(k1 (i2 N3 + i3))
    pass 2  over i2, for each (k1, i3), in place; then times w(N2 N3)^(k2 i3)
    pass 3  over i3, for each (k1, k2)

  `before`: the lengths of the passes before; p.suffixes: the product of those behind (N2 N3, N3, 1).
  last: the last pass, whose results are in their order. mapped: for each stage, "along" if adjacent threads take
  adjacent elements of a transform, "across" if they take adjacent transforms. rows_fastest: so do rows follow each
  other in memory, those of the scratch as well.
  chirps: Bluestein's algorithm multiplies by the chirp where x is read and where y is written. filters: the results are
  multiplied by the chirp's transform, and swapped for the inverse. rounds: 2 if both transforms are in this pass.
  The inverse transform is the forward one with real and imaginary parts swapped on both ends.

  options:
    epilogue: text
    inputs: list of text
    operands: list of text
    prologue: flag
    butterflies: text
    radices: list of number
    mapped: list of across, along
    spans: list of number
    offsets: list of number
    steps: list of number
    points: number
    rounds: 1, 2
    threads: number
    columns: number
    pitch: number
    halves: flag
    padded: flag
    rows_fastest: flag
    single: flag
    last: flag
    before: list of number
    before_product: number
    filters: flag
    source: x, scratch
    sink: y, scratch
    kind: complex, real_to_complex, complex_to_real
    inverse: flag
    chirps: flag
    cut: flag
    y_cut: flag
#}
{{ epilogue }}
{{ butterflies }}
const kPitch = {{ pitch }}u;
var<workgroup> held: array<{{ "f32" if halves else "vec2<f32>" }}, {{ pitch * columns }}>;
fn place(i: u32) -> u32 { return {{ "i + (i >> 4u)" if padded else "i" }}; }
fn product(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> { return vec2<f32>(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
fn table(i: u32) -> vec2<f32> { return table_buf[p.table_o + i]; }
{% set stages = radices | length %}
{# Factor k of stage s for the butterfly q: a row of the table, or the product of two (fft.cc's add_stages). #}
{% macro factor(s, k, q) %}
{% set step = steps[s] | int %}
{% set base = offsets[s] | int %}
{% set span = spans[s] | int %}
{% set low = k % step %}
{% set high = k // step %}
{% set low_row = "table(" ~ (base + (low - 1) * span) ~ "u + " ~ q ~ ")" %}
{% set high_row = "table(" ~ (base + (step - 2 + high) * span) ~ "u + " ~ q ~ ")" %}
{{ low_row if high == 0 else (high_row if low == 0 else "product(" ~ high_row ~ ", " ~ low_row ~ ")") }}
{% endmacro %}
{# Stage s of round `round`: from the elements e<u>_<i>_<k> to the results y<u>_<i>, u being its number in all. #}
{% macro stage(s, round) %}
{% set u = round * stages + s %}
{% set r = radices[s] | int %}
{% set count = points // r %}
{% set turns = (count + threads - 1) // threads %}
{% set span = spans[s] | int %}
{% set across = mapped[s] == "across" %}
{% set t = "t_across" if across else "t_along" %}
{% set f = "f_across" if across else "f_along" %}
{% for i in range(turns) %}
{% set j = "j" ~ u ~ "_" ~ i %}
{% if span > 1 %}
  let q{{ u }}_{{ i }} = {{ j if span == count else j ~ " % " ~ span ~ "u" }};
{% endif %}
  let y{{ u }}_{{ i }} = butterfly_{{ r }}(array<vec2<f32>, {{ r }}>(
{% for k in range(r) %}
{% set e = "e" ~ u ~ "_" ~ i ~ "_" ~ k %}
    {{ "product(" ~ e ~ ", " ~ factor(s, k, "q" ~ u ~ "_" ~ i) ~ ")" if k > 0 and span > 1 else e }}{{ "," if k < r - 1 }}
{% endfor %}
  ));
{% endfor %}
{% endmacro %}
{# The butterflies of a thread in stage s: the last ones of too many are done twice. #}
{% macro indices(s, round) %}
{% set u = round * stages + s %}
{% set count = points // (radices[s] | int) %}
{% set t = "t_across" if mapped[s] == "across" else "t_along" %}
{% for i in range((count + threads - 1) // threads) %}
  let own{{ u }}_{{ i }} = {{ t }} + {{ i * threads }}u;
  let j{{ u }}_{{ i }} = {{ "min(own" ~ u ~ "_" ~ i ~ ", " ~ (count - 1) ~ "u)" if (i + 1) * threads > count else "own" ~ u ~ "_" ~ i }};
{% endfor %}
{% endmacro %}
{# Writes results of stage s to workgroup memory, or their real or imaginary parts; `part`: "", ".x" or ".y". #}
{% macro put(s, round, part) %}
{% set u = round * stages + s %}
{% set r = radices[s] | int %}
{% set count = points // r %}
{% set span = spans[s] | int %}
{% set f = "f_across" if mapped[s] == "across" else "f_along" %}
{% for i in range((count + threads - 1) // threads) %}
{% set j = "j" ~ u ~ "_" ~ i %}
  {{ "if (own" ~ u ~ "_" ~ i ~ " < " ~ count ~ "u) " if (i + 1) * threads > count }}{
    let to = {{ j ~ " * " ~ r ~ "u" if span == 1 else (j if span == count else "(" ~ j ~ " / " ~ span ~ "u) * " ~ (span * r) ~ "u + q" ~ u ~ "_" ~ i) }};
{% for k in range(r) %}
{% set y = "y" ~ u ~ "_" ~ i ~ "[" ~ k ~ "]" %}
    held[{{ f }} * kPitch + place(to{{ " + " ~ (k * span) ~ "u" if k }})] = {{ "product(table(p.filter_at + to + " ~ (k * span) ~ "u), " ~ y ~ ").yx" if s == stages - 1 else y }}{{ part }};
{% endfor %}
  }
{% endfor %}
{% endmacro %}
{# Reads the elements of stage s from there. #}
{% macro get(s, round, name) %}
{% set u = round * stages + s %}
{% set r = radices[s] | int %}
{% set count = points // r %}
{% set f = "f_across" if mapped[s] == "across" else "f_along" %}
{% for i in range((count + threads - 1) // threads) %}
{% for k in range(r) %}
  let {{ name }}{{ u }}_{{ i }}_{{ k }} = held[{{ f }} * kPitch + place(j{{ u }}_{{ i }} + {{ k * count }}u)];
{% endfor %}
{% endfor %}
{% endmacro %}
{% macro exchange(s, round, after_s, after_round) %}
{{ indices(after_s, after_round) }}
{% if s > 0 or round > 0 %}
  workgroupBarrier();
{% endif %}
{% if halves %}
{{ put(s, round, ".x") }}
  workgroupBarrier();
{{ get(after_s, after_round, "re") }}
  workgroupBarrier();
{{ put(s, round, ".y") }}
  workgroupBarrier();
{{ get(after_s, after_round, "im") }}
{% set u = after_round * stages + after_s %}
{% set r = radices[after_s] | int %}
{% for i in range((points // r + threads - 1) // threads) %}
{% for k in range(r) %}
{% set e = u ~ "_" ~ i ~ "_" ~ k %}
  let e{{ e }} = vec2<f32>(re{{ e }}, im{{ e }});
{% endfor %}
{% endfor %}
{% else %}
{{ put(s, round, "") }}
  workgroupBarrier();
{{ get(after_s, after_round, "e") }}
{% endif %}
{% endmacro %}
struct Place {
  from_row: u32, from_first: u32, to_row: u32, to_first: u32, step: u32, to_step: u32, suffix: u32,
  {% for input in inputs %}{{ input }}: u32, {% endfor %}{{ "y: u32, " if sink == "y" }}{% for e in operands %}{{ e }}: u32, {% endfor %}

}
// Where a transform reads and writes.
fn place_of(id: u32) -> Place {
{% if rows_fastest %}
  let row = id % p.rows;
  let local = id / p.rows;
{% elif single %}
  let row = id;
  let local = 0u;
{% else %}
  let row = id / p.locals;
  let local = id % p.locals;
{% endif %}
{% if source == "x" or sink == "y" %}
  let c = coords(row);
{% endif %}
  var at: Place;
  at.from_row = {{ "row" if rows_fastest else "row * p.total" }};
  at.to_row = at.from_row;
{% for input in inputs %}
  at.{{ input }} = at_{{ input }}(c);
{% endfor %}
{% if sink == "y" %}
  at.y = at_y(c);
{% endif %}
{% for e in operands %}
  at.{{ e }} = at_{{ e }}(c);
{% endfor %}
{% if last %}
  at.suffix = 0u;
  at.step = 1u;
  at.to_first = local;
  at.to_step = {{ before_product }}u;
  var rest = local;
  var from_first = 0u;
{% for n in before %}
  from_first = from_first * {{ n }}u + rest % {{ n }}u;
  rest /= {{ n }}u;
{% endfor %}
  at.from_first = from_first * {{ points }}u;
{% else %}
  at.suffix = local % p.suffixes;
  at.step = p.suffixes;
  at.to_step = p.suffixes;
  at.from_first = (local / p.suffixes) * ({{ points }}u * p.suffixes) + at.suffix;
  at.to_first = at.from_first;
{% endif %}
  return at;
}
{% if source == "x" %}
// Element i of x.
fn source(at: Place, i: u32) -> vec2<f32> {
{% if kind == "complex_to_real" %}
  // The other half is the conjugate.
  let mirrored = i > p.length / 2u;
  let k = select(i, p.length - i, mirrored);
{% else %}
  let k = i;
{% endif %}
{% if cut or chirps %}
  if ({{ "i >= p.length || " if chirps and kind == "complex_to_real" }}k >= p.given) { return vec2<f32>(0.0); }
{% endif %}
{% set element %}
{{ "expression(" if prologue }}{% for input in inputs %}{{ ", " if loop.index0 }}load_{{ input }}(at.{{ input }} + k * p.{{ input }}_step){% endfor %}{{ ")" if prologue }}
{% endset %}
{% if kind == "real_to_complex" %}
  var v = vec2<f32>({{ element }}, 0.0);
{% else %}
  var v = {{ element }};
{% endif %}
{% if kind == "complex_to_real" %}
  v.y = select(v.y, -v.y, mirrored);
{% endif %}
{% if inverse %}
  v = v.yx;
{% endif %}
{% if chirps %}
  v = product(v, table(p.chirp + i));
{% endif %}
  return v;
}
{% else %}
fn source(at: Place, i: u32) -> vec2<f32> { return scratch_buf[p.scratch_o + p.from_at + at.from_row + i * {{ "p.rows" if rows_fastest else "1u" }}]; }
{% endif %}
{% if sink == "y" %}
// Stores result k.
fn sink(at: Place, k: u32, value: vec2<f32>) {
{% if y_cut %}
  if (k >= p.wanted) { return; }
{% endif %}
  var v = value;
{% if chirps %}
  v = product(v.yx, table(p.chirp + k));
{% endif %}
{% if inverse %}
  v = v.yx;
{% endif %}
  let result = v{{ ".x" if kind == "complex_to_real" }} * p.scale;
  store_y(at.y + k * p.y_step, {{ "epilogue(result" if epilogue else "result" }}{% for e in operands %}, load_{{ e }}(at.{{ e }} + k * p.{{ e }}_step){% endfor %}{{ ")" if epilogue }});
}
{% else %}
fn sink(at: Place, k: u32, v: vec2<f32>) { scratch_buf[p.scratch_o + p.to_at + at.to_row + k * {{ "p.rows" if rows_fastest else "1u" }}] = v; }
{% endif %}
fn finish(at: Place, k: u32, value: vec2<f32>) {
  let to = at.to_first + k * at.to_step;
{% if not last %}
  let turn = k * at.suffix;
  let v = product(value, product(table(p.fine + (turn & p.fine_mask)), table(p.coarse + (turn >> p.fine_bits))));
{% elif filters %}
  let v = product(table(p.filter_at + to), value).yx;
{% else %}
  let v = value;
{% endif %}
  sink(at, to, v);
}

@compute @workgroup_size({{ threads * columns }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let group = group_index(wg, groups);
  let f_along = lid / {{ threads }}u;
  let t_along = lid % {{ threads }}u;
  let f_across = lid % {{ columns }}u;
  let t_across = lid / {{ columns }}u;
  let from_id = group * {{ columns }}u + {{ "f_across" if mapped[0] == "across" else "f_along" }};
  let first = place_of(min(from_id, p.count - 1u));
{{ indices(0, 0) }}
{% set r = radices[0] | int %}
{% set count = points // r %}
{% for i in range((count + threads - 1) // threads) %}
{% for k in range(r) %}
  let e0_{{ i }}_{{ k }} = source(first, first.from_first + (j0_{{ i }} + {{ k * count }}u) * first.step);
{% endfor %}
{% endfor %}
{% for round in range(rounds) %}
{% for s in range(stages) %}
{% if s > 0 %}
{{ exchange(s - 1, round, s, round) }}
{% elif round > 0 %}
{{ exchange(stages - 1, round - 1, 0, round) }}
{% endif %}
{{ stage(s, round) }}
{% endfor %}
{% endfor %}
{% set s = stages - 1 %}
{% set u = rounds * stages - 1 %}
{% set r = radices[s] | int %}
{% set count = points // r %}
{% set span = spans[s] | int %}
  let to_id = group * {{ columns }}u + {{ "f_across" if mapped[s] == "across" else "f_along" }};
  let last = place_of(min(to_id, p.count - 1u));
{% for i in range((count + threads - 1) // threads) %}
  if (to_id < p.count{{ " && own" ~ u ~ "_" ~ i ~ " < " ~ count ~ "u" if (i + 1) * threads > count }}) {
{% for k in range(r) %}
    finish(last, j{{ u }}_{{ i }}{{ " + " ~ (k * span) ~ "u" if k }}, y{{ u }}_{{ i }}[{{ k }}]);
{% endfor %}
  }
{% endfor %}
}
