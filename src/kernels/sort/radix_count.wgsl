{# counts[row, digit, tile] = the number of the tile's elements with that digit. #}
var<workgroup> bins: array<atomic<u32>, 256>;

@compute @workgroup_size({{ workgroup }})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>,
        @builtin(local_invocation_index) tid: u32) {
  for (var d = tid; d < 256u; d += {{ workgroup }}u) { atomicStore(&bins[d], 0u); }
  workgroupBarrier();
  let group = group_index(wg, n);
  if (group >= p.rows * p.tiles) { return; }
  let row = group / p.tiles;
  let tile = group % p.tiles;
  let first = tile * {{ tile }}u + tid;
{% for e in range(tile // workgroup) %}
  let raw{{ e }} = {{ load_raw("row", "min(first + " ~ e * workgroup ~ "u, p.length - 1u)") }};
{% endfor %}
{% for e in range(tile // workgroup) %}
  if (first + {{ e * workgroup }}u < p.length) { atomicAdd(&bins[digit_of(raw{{ e }})], 1u); }
{% endfor %}
  workgroupBarrier();
  for (var d = tid; d < 256u; d += {{ workgroup }}u) {
    store_counts((row * 256u + d) * p.tiles + tile, atomicLoad(&bins[d]));
  }
}
