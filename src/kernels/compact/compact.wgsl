{#
  Compacts the elements that a mask chooses, in blocks of `rounds` elements a thread. Stage `count` counts the chosen
  elements of each block; the counts are scanned; then each block knows where its elements go. Within a block, a bit
  for each element says whether it is chosen, and the number of bits before it is its position. `carried`: earlier
  parts chose elements too. `staged`: narrow elements are collected in workgroup memory, from which whole words are
  stored.

  options:
    mask_fours: flag
    staged: flag
    batch: number
    wide: flag
    first_axis: number
    axes: number
#}
const kWords = {{ rounds * workgroup // 32 }}u;
var<workgroup> chosen: array<atomic<u32>, kWords>;
{% if form == "count" %}
var<workgroup> sum: atomic<u32>;
{% else %}
var<workgroup> before: array<u32, kWords>;     // sums up to and including this word
{% endif %}
{% if staged %}
{% set per = 32 // bits %}
var<workgroup> stage: array<atomic<u32>, {{ rounds * workgroup // per + 1 }}>;
{% endif %}

@compute @workgroup_size({{ workgroup }})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let group = group_index(wg, n);
  if (group >= p.groups) { return; }
  let first = group * {{ rounds * workgroup }}u;
  for (var w = lane; w < kWords; w += {{ workgroup }}u) { atomicStore(&chosen[w], 0u); }
{% if form == "count" %}
  if (lane == 0u) { atomicStore(&sum, 0u); }
{% endif %}
  workgroupBarrier();
{% if mask_fours %}
{% for r in range(rounds // 4) %}
  let at{{ r }} = {{ 4 * r * workgroup }}u + lane * 4u;
  let m{{ r }} = load4_mask(min(first + at{{ r }}, p.elements - 4u));
{% endfor %}
{% for r in range(rounds // 4) %}
  if (first + at{{ r }} < p.elements) {
    atomicOr(&chosen[at{{ r }} / 32u], dot(select(vec4<u32>(0u), vec4<u32>(1u, 2u, 4u, 8u),
      vec4<bool>(is_true(m{{ r }}.x), is_true(m{{ r }}.y), is_true(m{{ r }}.z), is_true(m{{ r }}.w))), vec4<u32>(1u)) << (at{{ r }} & 31u));
  }
{% endfor %}
{% else %}
  for (var r = 0u; r < {{ rounds }}u; r++) {
    let local = r * {{ workgroup }}u + lane;
    let i = first + local;
    if (i < p.elements && is_true(load_mask(at_mask(coords(i))))) { atomicOr(&chosen[local / 32u], 1u << (local & 31u)); }
  }
{% endif %}
  workgroupBarrier();
{% if form == "count" %}
  for (var w = lane; w < kWords; w += {{ workgroup }}u) { atomicAdd(&sum, countOneBits(atomicLoad(&chosen[w]))); }
  workgroupBarrier();
  if (lane == 0u) { store_counts(group, atomicLoad(&sum)); }
{% else %}
  // Prefix sums of the words' counts, in doubling steps.
  for (var w = lane; w < kWords; w += {{ workgroup }}u) { before[w] = countOneBits(atomicLoad(&chosen[w])); }
  workgroupBarrier();
  for (var step = 1u; step < kWords; step *= 2u) {
    var sum = 0u;
    if (lane < kWords && lane >= step) { sum = before[lane - step]; }
    workgroupBarrier();
    if (lane < kWords) { before[lane] += sum; }
    workgroupBarrier();
  }
  let base = load_counts(group){{ " + load_carry(0u)" if carried else "" }};
{% if staged %}
  for (var w = lane; w < {{ rounds * workgroup // per + 1 }}u; w += {{ workgroup }}u) { atomicStore(&stage[w], 0u); }
  let start = p.y_o + base;
  let misalignment = start % {{ per }}u;
  workgroupBarrier();
{% endif %}
  if (group + 1u == p.groups && lane == 0u) { store_total(0u, base + before[kWords - 1u]); }
  for (var r = 0u; r < {{ rounds }}u; r += {{ batch }}u) {
{% for b in range(batch) %}
    let local{{ b }} = (r + {{ b }}u) * {{ workgroup }}u + lane;
    let word{{ b }} = atomicLoad(&chosen[local{{ b }} / 32u]);
    let bit{{ b }} = 1u << (local{{ b }} & 31u);
    let k{{ b }} = base + before[local{{ b }} / 32u] - countOneBits(word{{ b }} & ~(bit{{ b }} - 1u));
    let moves{{ b }} = (word{{ b }} & bit{{ b }}) != 0u && k{{ b }} - p.list_first < p.list_size;
{% endfor %}
{% if form != "indices" %}
    // All loads of a batch before its stores.
{% for b in range(batch) %}
    var v{{ b }}: x_t;
    if (moves{{ b }}) { v{{ b }} = load_x({{ "at_x(coords(first + local" ~ b ~ "))" if form == "compress" else "(k" ~ b ~ " - p.list_first) * p.x_stride" }}); }
{% endfor %}
{% endif %}
{% for b in range(batch) %}
    if (moves{{ b }}) {
{% if staged %}
      let to = misalignment + k{{ b }} - base;
      atomicOr(&stage[to / {{ per }}u], v{{ b }} << (to % {{ per }}u * {{ bits }}u));
{% elif form == "compress" %}
      store_y((k{{ b }} - p.list_first) * p.y_stride, v{{ b }});
{% elif form == "expand" %}
      store_y(at_y(coords(first + local{{ b }})), v{{ b }});
{% else %}
      let c = coords(first + local{{ b }});
{% for d in range(first_axis, first_axis + axes) %}
      let c{{ d }} = c[{{ d }}] + p.begin{{ d }};
      store_y((k{{ b }} - p.list_first) * p.y_stride + {{ d - first_axis }}u * p.y_axis, {{ "vec2<u32>(c" ~ d ~ ", 0u)" if wide else "y_t(c" ~ d ~ ")" }});
{% endfor %}
{% endif %}
    }
{% endfor %}
  }
{% if staged %}
  workgroupBarrier();
  let end = misalignment + min(before[kWords - 1u], p.list_size - min(base, p.list_size));
  for (var w = lane; w * {{ per }}u < end; w += {{ workgroup }}u) {
    let value = atomicLoad(&stage[w]);
{{ put_word() }}
  }
{% endif %}
{% endif %}
}
