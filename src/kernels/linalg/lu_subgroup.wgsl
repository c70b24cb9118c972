{#
  The LU factors with partial pivoting of matrices of up to as many rows as a subgroup has lanes, a subgroup for each:
  each lane has a row in registers, and no row moves until the end. Pivots are those of lu_small.
  complex: elements are vec2<f32>. in_place: a is lu.

  options:
    in_place: flag
    rows: number
    pitch: number
    columns: number
    steps: number
    lanes: number
#}
const kPitch = {{ pitch }}u;
var<workgroup> s: array<value, {{ rows * pitch }}>;
fn key_of(a: value) -> u32 {
  let bits = bitcast<u32>(size_of(a));
  return select(bits + 1u, 0u, bits > 0x7f800000u);
}

@compute @workgroup_size({{ lanes }})
fn main(@builtin(subgroup_invocation_id) lane: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let matrix = group_index(wg, groups);
  let c = coords(min(matrix, p.count - 1u));
  let lu0 = at_lu(c);
{% if not in_place %}
  let a0 = at_a(c);
{% endif %}
  for (var e = lane; e < {{ rows * columns }}u; e += {{ lanes }}u) {
    let i = e / {{ columns }}u;
    let j = e % {{ columns }}u;
    s[i * kPitch + j] = {{ "load_lu(lu0 + i * p.lu_row + j * p.lu_column)" if in_place else "load_a(a0 + i * p.a_row + j * p.a_column)" }};
  }
  workgroupBarrier();
  let row = min(lane, {{ rows - 1 }}u) * kPitch;
{% for j in range(columns) %}
  var r{{ j }} = s[row + {{ j }}u];
{% endfor %}
  // Where the lane's row is, after the exchanges up to now.
  var place = lane;
  var pivot = 0u;
  var zero = 0u;
  var d = value();
  var x = value();
  var best = 0u;
  var chosen = 0u;
  var below = false;
{% for k in range(steps) %}
  // Magnitudes in the order of their bits; NaN is the least.
  below = lane < {{ rows }}u && place >= {{ k }}u;
  best = subgroupMax(select(0u, key_of(r{{ k }}), below));
  chosen = subgroupMin(select(0xffffffffu, (place << 8u) | lane, below && key_of(r{{ k }}) == best));
  if (lane == {{ k }}u) { pivot = chosen >> 8u; }
  if (place == {{ k }}u) { place = chosen >> 8u; } else if (place == chosen >> 8u) { place = {{ k }}u; }
  below = below && place > {{ k }}u;
  d = subgroupShuffle(r{{ k }}, chosen & 0xffu);
  x = product(r{{ k }}, pivot_factor(d, {{ k }}u, &zero));
  if (below) { r{{ k }} = x; }
{% for j in range(k + 1, columns) %}
  d = subgroupShuffle(r{{ j }}, chosen & 0xffu);
  if (below) { r{{ j }} -= product(x, d); }
{% endfor %}
{% endfor %}
  workgroupBarrier();
  if (lane < {{ rows }}u) {
{% for j in range(columns) %}
    s[place * kPitch + {{ j }}u] = r{{ j }};
{% endfor %}
  }
  workgroupBarrier();
  if (matrix >= p.count) { return; }
  for (var e = lane; e < {{ rows * columns }}u; e += {{ lanes }}u) {
    let i = e / {{ columns }}u;
    let j = e % {{ columns }}u;
    store_lu(lu0 + i * p.lu_row + j * p.lu_column, s[i * kPitch + j]);
  }
  if (lane < {{ rows }}u) { store_order(at_order(c) + place * p.order_step, i32(lane)); }
  if (lane < {{ steps }}u) { store_pivots(at_pivots(c) + lane * p.pivots_step, i32(pivot)); }
  if (lane == 0u) { store_info(at_info(c), i32(zero)); }
}
