{#
  One step of a recurrent network: the product of the state with the recurrent weights, and the new state of the gates'
  sums. A workgroup computes four units of `groups` · `rows` sequences: all products of a unit are in one workgroup. A
  thread has the four units of one product and `rows` sequences, and every `slices`-th part of k; the slices' sums are
  added in workgroup memory. Adjacent threads are adjacent slices, so that loads of r are contiguous, then other products
  of the same sequences, which load the same states.

  products: how many rows of r a unit has here. width: the elements of r that are loaded at once. cell: how many units a
  thread computes the new state of, 4 or 1.
  types, modes, product: of each input of the expression: its type; how its operand is loaded ("vec", "each" of `cell`
  elements, "splat", "time" for the step's number, "none"); the product that is added to it, or "".
  outputs: how each output is stored, "vec" or "each".

  options:
    products: 1…4
    rows: 1, 2, 4
    groups: 1…8
    slices: number
    width: 1, 4, 8
    cell: 1, 4
    types: list of f32, i32, u32
    modes: list of time, none, vec, splat, each
    product: list of 0, 1, 2, 3, ''
    outputs: list of vec, each
#}
{% set positions = products * groups %}
{% set threads = positions * slices %}
{% set sums = 4 * rows * positions %}
{# One more than there are slices: threads then write and read in all banks. #}
{% set pitch = slices + 1 %}
{% set sequences = groups * rows %}
var<workgroup> partial: array<f32, {{ sums * pitch }}>;
var<workgroup> total: array<f32, {{ sums }}>;

@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>) {
  let d = wg.z;
  let unit0 = wg.x * 4u;
  let batch0 = wg.y * {{ sequences }}u;

  // The operands of the thread's cell are on their way while it computes products.
{% if cell == 4 %}
  let row = lid;
  let unit = unit0;
{% else %}
  let row = lid / 4u;
  let unit = unit0 + lid % 4u;
{% endif %}
  let c = Coords(d, min(batch0 + row, p.n1 - 1u));
  let live = row < {{ sequences }}u && batch0 + row < p.n1 && unit < p.hidden;
{% for mode in modes %}
{% set x = "x" ~ loop.index0 %}
{% set type = types[loop.index0] %}
{% set value = "vec4<" ~ type ~ ">" if cell == 4 else type %}
  var v{{ loop.index0 }} = {{ value }}();
{% if mode == "time" %}
  v{{ loop.index0 }} = {{ value }}(bitcast<{{ type }}>(p.time + i32(d) * p.time_step));
{% elif mode == "splat" or (mode != "none" and cell == 1) %}
  if (live) { v{{ loop.index0 }} = {{ value }}(load_{{ x }}(at_{{ x }}(c) + unit * p.{{ x }}_inner)); }
{% elif mode == "vec" %}
  if (live) { v{{ loop.index0 }} = load4_{{ x }}(at_{{ x }}(c) + unit); }
{% elif mode == "each" %}
  if (live) {
    for (var l = 0u; l < 4u; l++) { v{{ loop.index0 }}[l] = load_{{ x }}(at_{{ x }}(c) + (unit + l) * p.{{ x }}_inner); }
  }
{% endif %}
{% endfor %}

  let slice = lid % {{ slices }}u;
  let position = lid / {{ slices }}u;
  let group = position / {{ products }}u;
  let first_row = position % {{ products }}u * p.hidden;
{% for u in range(4) %}
  let r_at{{ u }} = at_r(Coords(d, first_row + min(unit0 + {{ u }}u, p.hidden - 1u)));
{% endfor %}
{% for i in range(rows) %}
  let h_at{{ i }} = at_h(Coords(d, min(batch0 + group * {{ rows }}u + {{ i }}u, p.n1 - 1u)));
{% for u in range(4) %}
  var sum{{ u }}_{{ i }} = 0.0;
{% endfor %}
{% endfor %}
  for (var k = slice * {{ width }}u; k < p.hidden; k += {{ slices * width }}u) {
{% for u in range(4) %}
{% if width == 8 %}
    let words{{ u }} = words_r(r_at{{ u }} + k);
    let r{{ u }}_0 = four0_r(words{{ u }});
    let r{{ u }}_1 = four1_r(words{{ u }});
{% else %}
    let r{{ u }}_0 = {{ "load4_r(r_at" ~ u ~ " + k)" if width == 4 else "load_r(r_at" ~ u ~ " + k * p.r_inner)" }};
{% endif %}
{% endfor %}
{% for f in range(2 if width == 8 else 1) %}
{% for i in range(rows) %}
    let h{{ i }}_{{ f }} = {{ "load_h" if width == 1 else "load4_h" }}(h_at{{ i }} + k{{ " + 4u" if f }});
{% for u in range(4) %}
{% set r = "r" ~ u ~ "_" ~ f %}
{% set h = "h" ~ i ~ "_" ~ f %}
{% set sum = "sum" ~ u ~ "_" ~ i %}
{% if width == 1 %}
    {{ sum }} = fma({{ h }}, {{ r }}, {{ sum }});
{% else %}
    {{ sum }} = fma({{ h }}.x, {{ r }}.x, fma({{ h }}.y, {{ r }}.y, fma({{ h }}.z, {{ r }}.z, fma({{ h }}.w, {{ r }}.w, {{ sum }}))));
{% endif %}
{% endfor %}
{% endfor %}
{% endfor %}
  }

{% for u in range(4) %}
{% for i in range(rows) %}
  partial[({{ (u * rows + i) * positions }}u + position) * {{ pitch }}u + slice] = sum{{ u }}_{{ i }};
{% endfor %}
{% endfor %}
  workgroupBarrier();
  for (var i = lid; i < {{ sums }}u; i += {{ threads }}u) {
    var sum = partial[i * {{ pitch }}u];
    for (var s = 1u; s < {{ slices }}u; s++) { sum += partial[i * {{ pitch }}u + s]; }
    total[i] = sum;
  }
  workgroupBarrier();
  if (!live) { return; }
  // Where the first product's sum of the first unit of the cell's sequence is; that of the next unit is `next` further.
  let at = row % {{ rows }}u * {{ positions }}u + row / {{ rows }}u * {{ products }}u;
{% set next = rows * positions %}
{% for q in product %}
{% if q and cell == 4 %}
  v{{ loop.index0 }} += vec4<f32>(total[at + {{ q }}u], total[at + {{ next }}u + {{ q }}u], total[at + {{ 2 * next }}u + {{ q }}u], total[at + {{ 3 * next }}u + {{ q }}u]);
{% elif q %}
  v{{ loop.index0 }} += total[at + lid % 4u * {{ next }}u + {{ q }}u];
{% endif %}
{% endfor %}
  let results = expression({% for mode in modes %}{{ ", " if not loop.first }}v{{ loop.index0 }}{% endfor %});
{% for mode in outputs %}
{% set y = "y" ~ loop.index0 %}
{% set result = "results" ~ ("" if outputs | length == 1 else "." ~ y) %}
{% if cell == 1 %}
  store_{{ y }}(at_{{ y }}(c) + unit * p.{{ y }}_inner, {{ result }});
{% elif mode == "vec" %}
  store4_{{ y }}(at_{{ y }}(c) + unit, {{ result }});
{% else %}
  for (var l = 0u; l < 4u; l++) { store_{{ y }}(at_{{ y }}(c) + (unit + l) * p.{{ y }}_inner, {{ result }}[l]); }
{% endif %}
{% endfor %}
}
