{#
  Matrix product without workgroup memory, for devices whose "GPU" is a CPU: threads are SIMD lanes, and a barrier costs
  a switch of stacks. Lanes lie along n; each has thread_m rows × thread_n columns.

  The code that llvmpipe (Mesa 26.1) generates, in instructions for each vector of 8 products: 2 for the multiplication
  and the addition (it has no fused form); 40 / thread_m for b (a gather); 7 / thread_n for a (an address that all lanes
  share is one scalar load with a range check, and is broadcast to the lanes); 3 / 4 for preserving the sums across
  iterations under the execution mask. Sums that exceed 32 registers are in the first-level cache, which costs less than
  more loads. Processor time at 128 × 1536 × 384, the best of several runs, relative to that of 16×4: 32×4 0.83; with
  other load on the machine 32×4 0.76, 48×4 0.78, 32×5 0.84, 32×3 0.89, 24×4 0.90, 64×4 0.98, 32×2 1.16, 16×8 1.21;
  unrolling k by two or four is slower.

  options:
    window: ''
    a_width: 1, 4
    b_width: 1, 4
    threads: number
    thread_m: 1, 4, 8, 16, 32
    thread_n: 4
    ranged: flag
#}
{% set step = 4 if a_width == 4 or b_width == 4 else 1 %}
@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
{{ begin_tile() }}
  // Columns first: the rows of a, which are read most often, stay in the first-level cache.
  let m0 = tile / p.tiles_n * {{ thread_m }}u;
  let n0 = tile % p.tiles_n * {{ threads * thread_n }}u + lid;
{{ sums_of(thread_m, thread_n, threads) }}
{% if ranged %}
  let range = range_of(c);
{% endif %}
  for (var k = {{ "range.x" if ranged else "0u" }}; k < {{ "range.y" if ranged else "p.k" }}; k += {{ step }}u) {
{% for j in range(thread_n) %}
{% if step == 1 %}
    let b{{ j }} = {{ product }}(load_b(b_at{{ j }} + k * p.b_k));
{% elif b_width == 4 %}
    let b{{ j }} = vec4<{{ product }}>(load4_b(b_at{{ j }} + k));
{% else %}
    let b{{ j }} = vec4<{{ product }}>(vec4<b_t>(load_b(b_at{{ j }} + k * p.b_k), load_b(b_at{{ j }} + (k + 1u) * p.b_k), load_b(b_at{{ j }} + (k + 2u) * p.b_k), load_b(b_at{{ j }} + (k + 3u) * p.b_k)));
{% endif %}
{% endfor %}
{% for i in range(thread_m) %}
    {
{% if step == 1 %}
      let a = {{ product }}(load_a(a_at{{ i }} + k * p.a_k));
{% elif a_width == 4 %}
      let a = vec4<{{ product }}>(load4_a(a_at{{ i }} + k));
{% else %}
      let a = vec4<{{ product }}>(vec4<a_t>(load_a(a_at{{ i }} + k * p.a_k), load_a(a_at{{ i }} + (k + 1u) * p.a_k), load_a(a_at{{ i }} + (k + 2u) * p.a_k), load_a(a_at{{ i }} + (k + 3u) * p.a_k)));
{% endif %}
{% for e in range(step) %}
{% for j in range(thread_n) %}
      {% set of = '[' ~ e ~ ']' if step == 4 else '' %}
      r{{ i }}_{{ j }} = {% if product == 'f32' %}fma(a{{ of }}, b{{ j }}{{ of }}, r{{ i }}_{{ j }}){% else %}a{{ of }} * b{{ j }}{{ of }} + r{{ i }}_{{ j }}{% endif %};
{% endfor %}
{% endfor %}
    }
{% endfor %}
  }
  // A loop, because the epilogue's text is long, and compiling copies of it takes longer than running it.
  var results = array<{{ product }}, {{ thread_m * thread_n }}>({% for i in range(thread_m) %}{% for j in range(thread_n) %}r{{ i }}_{{ j }}, {% endfor %}{% endfor %});
  let out = outputs(c, 0u);
  for (var i = 0u; i < {{ thread_m * thread_n }}u; i++) {
    store_element(out, m0 + i / {{ thread_n }}u, n0 + i % {{ thread_n }}u * {{ threads }}u, results[i]);
  }
}
