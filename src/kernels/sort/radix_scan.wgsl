{#
  counts[row, digit, …] = the number of elements with the digit in the tiles before; totals[row, digit]: in all tiles.
  With few tiles a thread sums them, with many a workgroup.

  options:
    serial: flag
    workgroup: number
#}
{% if not serial %}
var<workgroup> sums: array<u32, {{ workgroup }}>;
{% endif %}

@compute @workgroup_size({{ workgroup }})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>,
        @builtin(local_invocation_index) tid: u32) {
{% if serial %}
  let list = group_index(wg, n) * {{ workgroup }}u + tid;
  if (list >= p.lists) { return; }
  var before = 0u;
  for (var i = list * p.tiles; i < (list + 1u) * p.tiles; i++) {
    let count = load_counts(i);
    store_counts(i, before);
    before += count;
  }
  store_totals(list, before);
{% else %}
  let list = group_index(wg, n);
  if (list >= p.lists) { return; }
  let first = list * p.tiles;
  var before = 0u;
  for (var base = 0u; base < p.tiles; base += {{ 4 * workgroup }}u) {
    let own = base + 4u * tid;
    var counts = vec4<u32>(0u);
    for (var k = 0u; k < 4u; k++) {
      if (own + k < p.tiles) { counts[k] = load_counts(first + own + k); }
    }
    let sum = counts.x + counts.y + counts.z + counts.w;
    var through = sum;   // including this thread
    sums[tid] = sum;
    for (var distance = 1u; distance < {{ workgroup }}u; distance *= 2u) {
      workgroupBarrier();
      if (tid >= distance) { through += sums[tid - distance]; }
      workgroupBarrier();
      sums[tid] = through;
    }
    workgroupBarrier();
    var at = before + through - sum;
    for (var k = 0u; k < 4u; k++) {
      if (own + k < p.tiles) { store_counts(first + own + k, at); }
      at += counts[k];
    }
    before += sums[{{ workgroup - 1 }}u];
    workgroupBarrier();
  }
  if (tid == 0u) { store_totals(list, before); }
{% endif %}
}
