{#
  Matrix product for few rows of a with a b whose weights are dequantised as they are read, in runs along k
  (quantized_runs.wgsl). Adjacent threads, a stripe of 32 times `slices`, share four columns: each takes runs of 32
  elements of them, and loads the next ones while it multiplies. Elements are multiplied as they are stored, more or
  less a number; a scale and what is added come to the sums of a run, for which the sums of a's elements are needed too.
  tile_k elements of a lie in workgroup memory, where all stripes read them.

  run_span: so many adjacent threads share as many runs; each takes a part of every one.

  options:
    window: ''
    a_width: 4
    b_width: 4
    threads: number
    tile_m: 1, 2, 4
    tile_n: number
    tile_k: number
    slices: 1, 2, 4
#}
{% set lanes = 32 * slices %}
{% set stripes = threads // lanes %}
{% set steps = tile_k // (lanes * 32) %}
{# Quad q of all threads lies together; one more than there are threads, so that stores of adjacent quads use all banks. #}
{% set pitch = lanes + 1 %}
{% set row_pitch = steps * 8 * pitch %}
{% set part_quads = 8 // run_span %}
{% set quads = 8 // run_scales %}
{% set scale_distance = 32 if run_span > 1 else 32 // run_scales %}
{# The next step's words are held in registers, unless they are so many that fewer threads would have room. #}
{% set prefetch = run_words > 0 and run_words * (4 if wide else 1) < 6 %}
{% macro load_next() %}
  if (k < p.k) {
{% for j in range(4) %}
{{ load_run('next' ~ j, '(e_at' ~ j ~ ' + k)') }}
{% endfor %}
  }
{% endmacro %}
// Fours of a's elements, and then of sums.
var<workgroup> tile_a: array<vec4<f32>, {{ tile_m * (row_pitch if steps * 8 > stripes else stripes * pitch) }}>;

@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
{{ begin_tile() }}
  let lane = lid % {{ lanes }}u;
  let stripe = lid / {{ lanes }}u;
  let m0 = tile % p.tiles_m * {{ tile_m }}u;
  let n0 = tile / p.tiles_m * {{ tile_n }}u + stripe * 4u;
{{ sums_of(tile_m, 4, 1) }}
{% for j in range(4) %}
  let e_at{{ j }} = b_at{{ j }} + p.w_first;
{{ run_variables('next' ~ j) }}
{% endfor %}
  // Where this thread's elements begin.
  var k = {{ 'lane * 32u' if run_span == 1 else 'lane / ' ~ run_span ~ 'u * ' ~ 32 * run_span ~ 'u + lane % ' ~ run_span ~ 'u * ' ~ part_quads * 4 ~ 'u' }};
{{ load_next() if prefetch }}
{# Quads of a that a thread loads, a tile ahead of their use. #}
{% set own_quads = tile_k // 4 // threads %}
{% macro load_tile(first) %}
{% for t in range(own_quads) %}
  if ({{ first }} + {{ 't' ~ t }} * 4u < p.k) {
{% for i in range(tile_m) %}
    ahead{{ i }}_{{ t }} = vec4<f32>(load4_a(a_at{{ i }} + {{ first }} + t{{ t }} * 4u));
{% endfor %}
  }
{% endfor %}
{% endmacro %}
{% for t in range(own_quads) %}
  let t{{ t }} = lid + {{ t * threads }}u;
{% for i in range(tile_m) %}
  var ahead{{ i }}_{{ t }} = vec4<f32>();
{% endfor %}
{% endfor %}
{{ load_tile('0u') }}
  for (var first = 0u; first < p.k; first += {{ tile_k }}u) {
{% for t in range(own_quads) %}
    {
      let run = t{{ t }} / {{ 8 * run_span }}u * {{ run_span }}u{{ ' + t' ~ t ~ ' % 8u / ' ~ part_quads ~ 'u' if run_span > 1 }};
      let part = {{ 't' ~ t ~ ' % 8u' if run_span == 1 else 't' ~ t ~ ' / 8u % ' ~ run_span ~ 'u * ' ~ part_quads ~ 'u + t' ~ t ~ ' % ' ~ part_quads ~ 'u' }};
      let to = (run / {{ lanes }}u * 8u + part) * {{ pitch }}u + run % {{ lanes }}u;
{% for i in range(tile_m) %}
      tile_a[to + {{ i * row_pitch }}u] = ahead{{ i }}_{{ t }};
{% endfor %}
    }
{% endfor %}
{{ load_tile('first + ' ~ tile_k ~ 'u') }}
    workgroupBarrier();
    for (var step = 0u; step < {{ steps }}u; step++) {
      let now = k;
      k += {{ lanes * 32 }}u;
{% if prefetch %}
{% for j in range(4) %}
{{ copy_run('w' ~ j, 'next' ~ j) }}
{% endfor %}
{{ load_next() }}
{% endif %}
      if (now < p.k) {
        let at = step * {{ 8 * pitch }}u + lane;
{% for j in range(4) %}
        let e{{ j }} = e_at{{ j }} + now;
{% if not prefetch %}
{{ load_run('next' ~ j, 'e' ~ j) }}
{{ copy_run('w' ~ j, 'next' ~ j) }}
{% endif %}
{% endfor %}
{% for s in range(run_scales) %}
        {
{% for j in range(4) %}
          let f{{ j }} = factors_of(e{{ j }}{{ ' + ' ~ s * scale_distance ~ 'u' if s }});
{% endfor %}
{% for i in range(tile_m) %}
{% if sums_x %}
          var x{{ i }} = 0.0;
{% endif %}
{% for j in range(4) %}
          var t{{ i }}_{{ j }} = 0.0;
{% endfor %}
{% endfor %}
{% for u in range(quads) %}
{% set q = s * quads + u %}
          {
{% for i in range(tile_m) %}
            let a{{ i }} = tile_a[at + {{ i * row_pitch + q * pitch }}u];
{% if sums_x %}
            x{{ i }} += (a{{ i }}.x + a{{ i }}.y) + (a{{ i }}.z + a{{ i }}.w);
{% endif %}
{% endfor %}
{% for j in range(4) %}
            let b{{ j }} = {{ run_code('w' ~ j, 'e' ~ j, q) }};
{% for i in range(tile_m) %}
            t{{ i }}_{{ j }} = fma(a{{ i }}.x, b{{ j }}.x, fma(a{{ i }}.y, b{{ j }}.y, fma(a{{ i }}.z, b{{ j }}.z, fma(a{{ i }}.w, b{{ j }}.w, t{{ i }}_{{ j }}))));
{% endfor %}
{% endfor %}
          }
{% endfor %}
{% for i in range(tile_m) %}
{% for j in range(4) %}
          r{{ i }}_{{ j }} += run_sum(t{{ i }}_{{ j }}, {{ 'x' ~ i if sums_x else '0.0' }}, f{{ j }});
{% endfor %}
{% endfor %}
        }
{% endfor %}
      }
    }
    workgroupBarrier();
  }

  // Each stripe's sums: of four threads{{ ', of ' ~ slices ~ ' fours' if slices > 1 }}, then of the eight that are left.
{% for i in range(tile_m) %}
  tile_a[(stripe * {{ tile_m }}u + {{ i }}u) * {{ pitch }}u + lane] = vec4<f32>(r{{ i }}_0, r{{ i }}_1, r{{ i }}_2, r{{ i }}_3);
{% endfor %}
  workgroupBarrier();
  if (lane < {{ tile_m * lanes // 4 }}u) {
    let at = (stripe * {{ tile_m }}u + lane / {{ lanes // 4 }}u) * {{ pitch }}u + lane % {{ lanes // 4 }}u * 4u;
    tile_a[at] = (tile_a[at] + tile_a[at + 1u]) + (tile_a[at + 2u] + tile_a[at + 3u]);
  }
  workgroupBarrier();
{% if slices > 1 %}
  if (lane < {{ tile_m * 8 }}u) {
    let at = (stripe * {{ tile_m }}u + lane / 8u) * {{ pitch }}u + lane % 8u * {{ lanes // 8 }}u;
    tile_a[at] = tile_a[at]{% for i in range(1, slices) %} + tile_a[at + {{ i * 4 }}u]{% endfor %};
  }
  workgroupBarrier();
{% endif %}
  if (lane >= {{ tile_m * 4 }}u) { return; }
  let at = (stripe * {{ tile_m }}u + lane / 4u) * {{ pitch }}u;
  var sum = tile_a[at][lane % 4u];
{% for i in range(lanes // 8, lanes, lanes // 8) %}
  sum += tile_a[at + {{ i }}u][lane % 4u];
{% endfor %}
  store_element(outputs(c, 0u), m0 + lane / 4u, n0 + lane % 4u, {{ product }}(sum));
}
