{#
  Matrix product for few rows, with b's rows contiguous: a vector times [k, n]. A thread sums four adjacent columns;
  tile_n / 4 adjacent threads read whole lines of b, and the workgroup's other threads take other k. Their sums are
  added in workgroup memory. As many k are in flight at once as are unrolled here.

  options:
    window: ''
    a_width: 1
    b_width: 1, 4
    threads: number
#}
{% set across = tile_n // 4 %}
{% set strips = threads // across %}
{% set unrolled = 4 %}
var<workgroup> sums: array<vec4<{{ product }}>, {{ threads }}>;

@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
{{ begin("k_first") }}
  let strip = lid / {{ across }}u;
  let column = at.n0 + lid % {{ across }}u * 4u;
  // Rows and columns past the edges repeat the last ones and are not stored.
{% if b_width == 4 %}
  let b_at = at_b(c) + min(column, p.n - 4u);
{% else %}
{% for j in range(4) %}
  let b_at{{ j }} = at_b(c) + min(column + {{ j }}u, p.n - 1u) * p.b_w;
{% endfor %}
{% endif %}
{% for i in range(tile_m) %}
  let a_at{{ i }} = at_a(c) + min(at.m0 + {{ i }}u, p.m - 1u) * p.a_w;
  var r{{ i }} = vec4<{{ product }}>();
{% endfor %}
{% macro load(u) %}
{% set k = '(k + ' ~ u * strips ~ 'u)' %}
{% if b_width == 4 %}
    let b{{ u }} = vec4<{{ product }}>(load4_b(b_at + {{ k }} * p.b_k));
{% else %}
    let b{{ u }} = vec4<{{ product }}>(vec4<b_t>(load_b(b_at0 + {{ k }} * p.b_k), load_b(b_at1 + {{ k }} * p.b_k), load_b(b_at2 + {{ k }} * p.b_k), load_b(b_at3 + {{ k }} * p.b_k)));
{% endif %}
{% for i in range(tile_m) %}
    let a{{ i }}_{{ u }} = vec4<{{ product }}>({{ product }}(load_a(a_at{{ i }} + {{ k }} * p.a_k)));
{% endfor %}
{% endmacro %}
{% macro multiply(u) %}
{% for i in range(tile_m) %}
    r{{ i }} = {% if product == 'f32' %}fma(a{{ i }}_{{ u }}, b{{ u }}, r{{ i }}){% else %}a{{ i }}_{{ u }} * b{{ u }} + r{{ i }}{% endif %};
{% endfor %}
{% endmacro %}
  var k = k_first + strip;
  for (; k + {{ (unrolled - 1) * strips }}u < k_end; k += {{ unrolled * strips }}u) {
{% for u in range(unrolled) %}
{{ load(u) }}
{% endfor %}
{% for u in range(unrolled) %}
{{ multiply(u) }}
{% endfor %}
  }
  for (; k < k_end; k += {{ strips }}u) {
{{ load(0) }}
{{ multiply(0) }}
  }
  let out = outputs(c{{ ', at.slice' if splits else ', 0u' }});
{% for i in range(tile_m) %}
{% if i > 0 %}
  workgroupBarrier();
{% endif %}
  sums[lid] = r{{ i }};
  workgroupBarrier();
  if (strip == 0u) {
    var sum = sums[lid];
    for (var s = 1u; s < {{ strips }}u; s++) { sum += sums[lid + s * {{ across }}u]; }
    store_result(out, at.m0 + {{ i }}u, column, sum);
  }
{% endfor %}
}
