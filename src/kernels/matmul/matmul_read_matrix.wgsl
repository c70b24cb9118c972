{#
  Matrix product on cooperative matrices for up to sixteen rows of a, f16, with a b whose weights are dequantised as they
  are read, in runs along k (quantized_runs.wgsl). A workgroup computes tile_n columns; its subgroups take turns over
  steps of tile_k elements of k, each in workgroup memory of its own, so that many loads are in flight; their sums are
  added at the end. The next step's operands are loaded while this one's are multiplied.

  As many runs as run_span adjacent threads read lie in one step.
#}
{% set subgroups = threads // 32 %}
{% set pitch = tile_k + 8 %}
{% set row_runs = tile_k // 32 %}
{% set runs = tile_n * row_runs // 32 %}
{% set chunks = tile_k // 8 %}
{% set a_loads = 16 * chunks // 32 %}
{% set part_quads = 8 // run_span %}
{% set quads = 8 // run_scales %}
{% set scale_distance = 32 if run_span > 1 else 32 // run_scales %}
{% set sums_pitch = tile_n + 4 %}
var<workgroup> tile_a: array<array<f16, {{ 16 * pitch }}>, {{ subgroups }}>;
var<workgroup> tile_b: array<array<f16, {{ tile_n * pitch }}>, {{ subgroups }}>;
var<workgroup> sums: array<array<f32, {{ 16 * sums_pitch }}>, {{ subgroups }}>;

@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>, @builtin(subgroup_id) subgroup: u32) {
{{ begin_tile() }}
  let lane = lid % 32u;
  let part = lid / 32u;
  let m0 = tile % p.tiles_m * 16u;
  let n0 = tile / p.tiles_m * {{ tile_n }}u;
  let b0 = at_b(c) + p.w_first;
{% for t in range(runs) %}
  // Where in a step, and in memory, this thread's run begins, and its row of tile_b.
  let run{{ t }} = (lane + {{ 32 * t }}u) % {{ row_runs }}u;
  let row{{ t }} = (lane + {{ 32 * t }}u) / {{ row_runs }}u;
  let in_step{{ t }} = {{ 'run' ~ t ~ ' * 32u' if run_span == 1 else 'run' ~ t ~ ' / ' ~ run_span ~ 'u * ' ~ 32 * run_span ~ 'u + run' ~ t ~ ' % ' ~ run_span ~ 'u * ' ~ part_quads * 4 ~ 'u' }};
  let e_at{{ t }} = b0 + min(n0 + row{{ t }}, p.n - 1u) * p.b_w + in_step{{ t }};
{{ run_variables('next' ~ t) }}
{% for s in range(run_scales) %}
  var factors{{ t }}_{{ s }} = HeldFactors();
{% endfor %}
{% endfor %}
{% for t in range(a_loads) %}
  let chunk{{ t }} = (lane + {{ 32 * t }}u) % {{ chunks }}u * 8u;
  let of_a{{ t }} = (lane + {{ 32 * t }}u) / {{ chunks }}u;
  let a_at{{ t }} = (at_a(c) + min(m0 + of_a{{ t }}, p.m - 1u) * p.a_w + chunk{{ t }}) / 8u + p.a_o;
  var next_a{{ t }} = vec4<u32>();
{% endfor %}
  var r0: subgroup_matrix_result<f32, 16, 16>;
{% for j in range(1, tile_n // 16) %}
  var r{{ j }}: subgroup_matrix_result<f32, 16, 16>;
{% endfor %}
  var k = part * {{ tile_k }}u;
{% macro load_step() %}
{% for t in range(runs) %}
  if (k + in_step{{ t }} < p.k) {
{{ load_run('next' ~ t, '(e_at' ~ t ~ ' + k)') }}
{% for s in range(run_scales) %}
    factors{{ t }}_{{ s }} = held_factors(e_at{{ t }} + k{{ ' + ' ~ s * scale_distance ~ 'u' if s }});
{% endfor %}
  }
{% endfor %}
{% for t in range(a_loads) %}
  if (m0 + of_a{{ t }} < p.m && k + chunk{{ t }} < p.k) { next_a{{ t }} = a_buf[a_at{{ t }} + k / 8u]; }
{% endfor %}
{% endmacro %}
{{ load_step() }}
  for (var step = 0u; step < p.k; step += {{ tile_k * subgroups }}u) {
    workgroupBarrier();
{% for t in range(a_loads) %}
    if (m0 + of_a{{ t }} < p.m) {
      let words_a = {{ 'select(vec4<u32>(), next_a' ~ t ~ ', k + chunk' ~ t ~ ' < p.k)' if edge_k else 'next_a' ~ t }};
      let to = of_a{{ t }} * {{ pitch }}u + chunk{{ t }};
{{ store_f16('words_a', 4, 'tile_a[part][to', 0) }}
    }
{% endfor %}
{% for t in range(runs) %}
    {
{{ copy_run('w', 'next' ~ t) }}
      let e = e_at{{ t }} + k;
{% for s in range(run_scales) %}
      let f{{ s }} = value_factors(factors_of_held(factors{{ t }}_{{ s }}));
{% endfor %}
{% for g in range(4) %}
{% set f = 'f' ~ 2 * g // quads %}
      {
        let words = as_words8(run_values({{ run_code('w', 'e', 2 * g) }}, {{ f }}), run_values({{ run_code('w', 'e', 2 * g + 1) }}, {{ f }}));
        let words_b = {{ 'select(vec4<u32>(), words, k + in_step' ~ t ~ ' < p.k)' if edge_k else 'words' }};
        let to = row{{ t }} * {{ pitch }}u + in_step{{ t }} + {{ 2 * g // part_quads * 32 + 2 * g % part_quads * 4 }}u;
{{ store_f16('words_b', 4, 'tile_b[part][to', 0) }}
      }
{% endfor %}
    }
{% endfor %}
    k += {{ tile_k * subgroups }}u;
{{ load_step() }}
    workgroupBarrier();
{% for kk in range(tile_k // 16) %}
    {
      let a = subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>, row_major>(&tile_a[subgroup], {{ kk * 16 }}u, {{ pitch }}u);
{% for j in range(tile_n // 16) %}
      let b{{ j }} = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, col_major>(&tile_b[subgroup], {{ j * 16 * pitch + kk * 16 }}u, {{ pitch }}u);
      r{{ j }} = subgroupMatrixMultiplyAccumulate(a, b{{ j }}, r{{ j }});
{% endfor %}
    }
{% endfor %}
  }
{% for j in range(tile_n // 16) %}
  subgroupMatrixStore<row_major>(&sums[subgroup], {{ j * 16 }}u, r{{ j }}, {{ sums_pitch }}u);
{% endfor %}
  workgroupBarrier();
  let out = outputs(c, 0u);
  for (var i = lid; i < min(p.m - m0, 16u) * {{ tile_n }}u; i += {{ threads }}u) {
    let at = i / {{ tile_n }}u * {{ sums_pitch }}u + i % {{ tile_n }}u;
    var sum = sums[0][at];
{% for s in range(1, subgroups) %}
    sum += sums[{{ s }}][at];
{% endfor %}
    store_element(out, m0 + i / {{ tile_n }}u, n0 + i % {{ tile_n }}u, {{ product }}(sum));
  }
}
