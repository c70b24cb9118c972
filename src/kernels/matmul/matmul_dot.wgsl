{#
  Matrix product for few rows or columns, both operands contiguous along k: all invocations of a workgroup share
  tile_m × tile_n elements and split k among themselves, so that loads are wide and neighbouring; the partial sums meet
  in workgroup memory. tile_m · tile_n divides the number of invocations.
#}
{% set values = tile_m * tile_n %}
{% set parts = threads // values %}
{% set pitch = threads + 1 %}
{# One column more than there are invocations: writing a column and reading a row then both fall on all banks. #}
var<workgroup> partial: array<f32, {{ values * pitch }}>;
{% if parts > 1 %}
var<workgroup> sums: array<f32, {{ threads }}>;
{% endif %}

@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let group = group_index(wg, groups);
  if (group >= p.groups) { return; }
  let tile = group % (p.tiles_m * p.tiles_n);
  let c = coords(group / (p.tiles_m * p.tiles_n));
  let m0 = tile % p.tiles_m * {{ tile_m }}u;
  let n0 = tile / p.tiles_m * {{ tile_n }}u;
  let a0 = at_a(c);
  let b0 = at_b(c);
{% for i in range(tile_m) %}
  let a_at{{ i }} = a0 + min(m0 + {{ i }}u, p.m - 1u) * p.a_w;
{% endfor %}
{% for j in range(tile_n) %}
  let b_at{{ j }} = b0 + min(n0 + {{ j }}u, p.n - 1u) * p.b_w;
{% endfor %}
{% for i in range(tile_m) %}
{% for j in range(tile_n) %}
  var r{{ i }}_{{ j }} = 0.0;
{% endfor %}
{% endfor %}
  for (var k = lid * {{ a_width }}u; k < p.k; k += {{ threads * a_width }}u) {
{% for i in range(tile_m) %}
    let a{{ i }} = load{{ '4' if a_width == 4 else '' }}_a(a_at{{ i }} + k * p.a_k);
{% endfor %}
{% for j in range(tile_n) %}
    let b{{ j }} = load{{ '4' if a_width == 4 else '' }}_b(b_at{{ j }} + k * p.b_k);
{% endfor %}
{% for i in range(tile_m) %}
{% for j in range(tile_n) %}
{% if a_width == 4 %}
    r{{ i }}_{{ j }} = fma(a{{ i }}.x, b{{ j }}.x, fma(a{{ i }}.y, b{{ j }}.y, fma(a{{ i }}.z, b{{ j }}.z, fma(a{{ i }}.w, b{{ j }}.w, r{{ i }}_{{ j }}))));
{% else %}
    r{{ i }}_{{ j }} = fma(a{{ i }}, b{{ j }}, r{{ i }}_{{ j }});
{% endif %}
{% endfor %}
{% endfor %}
  }
{% for i in range(tile_m) %}
{% for j in range(tile_n) %}
  partial[{{ (i * tile_n + j) * pitch }}u + lid] = r{{ i }}_{{ j }};
{% endfor %}
{% endfor %}
  workgroupBarrier();
  let value = lid % {{ values }}u;
  let first = value * {{ pitch }}u + lid / {{ values }}u * {{ values }}u;
  var sum = partial[first];
  for (var i = 1u; i < {{ values }}u; i++) { sum += partial[first + i]; }
{% if parts > 1 %}
  sums[lid] = sum;
  workgroupBarrier();
  if (lid >= {{ values }}u) { return; }
  for (var i = 1u; i < {{ parts }}u; i++) { sum += sums[lid + i * {{ values }}u]; }
{% endif %}
  store_element(outputs(c, 0u), m0 + value / {{ tile_n }}u, n0 + value % {{ tile_n }}u, sum);
}
