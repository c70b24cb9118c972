{# Elements that a mask chooses, in blocks of {{ rounds }} elements a thread. Stage `count`: how many each block has; these are
   scanned; then each block knows where its chosen ones go. Within a block, a bit for each element says whether it is
   chosen, and counting the bits before it says where it stands. #}
const kWords = {{ rounds * workgroup // 32 }}u;
var<workgroup> chosen: array<atomic<u32>, kWords>;
var<workgroup> before: array<u32, kWords>;     // in the words up to and with this one

fn is_true(v: mask_t) -> bool {
{% if mask_kind == "float" %}
  return (bitcast<u32>(v) & 0x7fffffffu) != 0u;
{% elif mask_kind == "f64" %}
  return (v.x | (v.y & 0x7fffffffu)) != 0u;
{% elif mask_kind == "pair" %}
  return any(v != vec2<u32>(0u));
{% elif mask_kind == "complex" %}
  return any((bitcast<vec2<u32>>(v) & vec2<u32>(0x7fffffffu)) != vec2<u32>(0u));
{% else %}
  return v != mask_t(0);
{% endif %}
}

@compute @workgroup_size({{ workgroup }})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let group = group_index(wg, n);
  if (group >= p.groups) { return; }
  let first = group * {{ rounds * workgroup }}u;
  for (var w = lane; w < kWords; w += {{ workgroup }}u) { atomicStore(&chosen[w], 0u); }
  workgroupBarrier();
  for (var r = 0u; r < {{ rounds }}u; r++) {
    let local = r * {{ workgroup }}u + lane;
    let i = first + local;
    if (i < p.elements && is_true(load_mask(at_mask(coords(i))))) { atomicOr(&chosen[local / 32u], 1u << (local & 31u)); }
  }
  workgroupBarrier();
  // Sums over the words before, in doubling steps.
  for (var w = lane; w < kWords; w += {{ workgroup }}u) { before[w] = countOneBits(atomicLoad(&chosen[w])); }
  workgroupBarrier();
  for (var step = 1u; step < kWords; step *= 2u) {
    var sum = 0u;
    if (lane < kWords && lane >= step) { sum = before[lane - step]; }
    workgroupBarrier();
    if (lane < kWords) { before[lane] += sum; }
    workgroupBarrier();
  }
{% if form == "count" %}
  if (lane == 0u) { store_counts(group, before[kWords - 1u]); }
{% else %}
  let base = load_counts(group);
  if (group + 1u == p.groups && lane == 0u) { store_total(0u, base + before[kWords - 1u]); }
  for (var r = 0u; r < {{ rounds }}u; r++) {
    let local = r * {{ workgroup }}u + lane;
    let word = atomicLoad(&chosen[local / 32u]);
    let bit = 1u << (local & 31u);
    if ((word & bit) == 0u) { continue; }
    let k = base + before[local / 32u] - countOneBits(word & ~(bit - 1u));
    if (k >= p.capacity) { continue; }
    let c = coords(first + local);
{% if form == "compress" %}
    store_y(k * p.y_stride, load_x(at_x(c)));
{% elif form == "expand" %}
    store_y(at_y(c), load_x(k * p.x_stride));
{% else %}
{% for d in range(rank) %}
    store_y(k * p.y_stride + {{ d }}u * p.y_axis, {{ "vec2<u32>(c[" ~ d ~ "], 0u)" if wide else "y_t(c[" ~ d ~ "])" }});
{% endfor %}
{% endif %}
  }
{% endif %}
}
