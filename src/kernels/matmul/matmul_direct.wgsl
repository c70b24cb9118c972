{#
  Matrix product without workgroup memory, for devices whose "GPU" is a CPU: invocations are SIMD lanes, a load whose
  address all lanes share is one scalar load, any other a gather, and a barrier costs a switch of stacks. Lanes lie along
  n; each has thread_m rows (a: shared addresses) × thread_n columns (b: a gather serves thread_m products).
#}
{% set step = 4 if a_width == 4 or b_width == 4 else 1 %}
@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let group = group_index(wg, groups);
  if (group >= p.groups) { return; }
  let tile = group % (p.tiles_m * p.tiles_n);
  let c = coords(group / (p.tiles_m * p.tiles_n));
  // Columns first: the rows of a, which are read the most, stay in the nearest cache.
  let m0 = tile / p.tiles_n * {{ thread_m }}u;
  let n0 = tile % p.tiles_n * {{ threads * thread_n }}u + lid;
  let a0 = at_a(c);
  let b0 = at_b(c);
{% for i in range(thread_m) %}
  let a_at{{ i }} = a0 + min(m0 + {{ i }}u, p.m - 1u) * p.a_w;
{% endfor %}
{% for j in range(thread_n) %}
  let b_at{{ j }} = b0 + min(n0 + {{ j * threads }}u, p.n - 1u) * p.b_w;
{% endfor %}
{% for i in range(thread_m) %}
{% for j in range(thread_n) %}
  var r{{ i }}_{{ j }} = 0.0;
{% endfor %}
{% endfor %}
  for (var k = 0u; k < p.k; k += {{ step }}u) {
{% for j in range(thread_n) %}
{% if step == 1 %}
    let b{{ j }} = load_b(b_at{{ j }} + k * p.b_k);
{% elif b_width == 4 %}
    let b{{ j }} = load4_b(b_at{{ j }} + k);
{% else %}
    let b{{ j }} = vec4<f32>(load_b(b_at{{ j }} + k * p.b_k), load_b(b_at{{ j }} + (k + 1u) * p.b_k), load_b(b_at{{ j }} + (k + 2u) * p.b_k), load_b(b_at{{ j }} + (k + 3u) * p.b_k));
{% endif %}
{% endfor %}
{% for i in range(thread_m) %}
    {
{% if step == 1 %}
      let a = load_a(a_at{{ i }} + k * p.a_k);
{% elif a_width == 4 %}
      let a = load4_a(a_at{{ i }} + k);
{% else %}
      let a = vec4<f32>(load_a(a_at{{ i }} + k * p.a_k), load_a(a_at{{ i }} + (k + 1u) * p.a_k), load_a(a_at{{ i }} + (k + 2u) * p.a_k), load_a(a_at{{ i }} + (k + 3u) * p.a_k));
{% endif %}
{% for e in range(step) %}
{% for j in range(thread_n) %}
      r{{ i }}_{{ j }} = fma(a{{ '[' ~ e ~ ']' if step == 4 else '' }}, b{{ j }}{{ '[' ~ e ~ ']' if step == 4 else '' }}, r{{ i }}_{{ j }});
{% endfor %}
{% endfor %}
    }
{% endfor %}
  }
  let out = outputs(c, 0u);
{% for i in range(thread_m) %}
{% for j in range(thread_n) %}
  store_element(out, m0 + {{ i }}u, n0 + {{ j * threads }}u, r{{ i }}_{{ j }});
{% endfor %}
{% endfor %}
}
