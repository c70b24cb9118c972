{#
  Matrix product for few rows of a with a b whose weights are dequantised as they are read (quantized_reader.wgsl), along
  k: a thread takes 32 elements of tile_n columns at a time, adjacent threads adjacent ones. They are multiplied as they
  are stored, less a number in the middle; a scale and what is added come to the sums of a run, which is why the sums
  of a's elements are needed too. a goes through workgroup memory, so that a thread reads its elements from all banks.

  run_scales: 2 if the first and the last sixteen elements have scales of their own.
#}
{% set runs = 32 // run_scales %}
{% set quads = 8 // run_scales %}
{# Quad q of all threads lies together; one more than there are threads, so that stores of adjacent quads use all banks. #}
{% set pitch = threads + 1 %}
var<workgroup> tile_a: array<vec4<f32>, {{ tile_m * 8 * pitch }}>;

@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
{{ begin_tile() }}
  let m0 = tile % p.tiles_m * {{ tile_m }}u;
  let n0 = tile / p.tiles_m * {{ tile_n }}u;
{{ sums_of(tile_m, tile_n, 1) }}
  for (var first = 0u; first < p.k; first += {{ threads * 32 }}u) {
{% for t in range(8) %}
    {
      let quad = lid + {{ t * threads }}u;
      let to = quad % 8u * {{ pitch }}u + quad / 8u;
      if (first + quad * 4u < p.k) {
{% for i in range(tile_m) %}
        tile_a[to + {{ i * 8 * pitch }}u] = vec4<f32>(load4_a(a_at{{ i }} + first + quad * 4u));
{% endfor %}
      }
    }
{% endfor %}
    workgroupBarrier();
    let k = first + lid * 32u;
    if (k < p.k) {
{% for j in range(tile_n) %}
      let e{{ j }} = b_at{{ j }} + k + p.w_first;
{{ load_run('w' ~ j, 'e' ~ j) }}
{% endfor %}
{% for s in range(run_scales) %}
      {
{% for j in range(tile_n) %}
        let f{{ j }} = factors_of(e{{ j }}{{ ' + 16u' if s else '' }});
{% endfor %}
{% for i in range(tile_m) %}
{% if sums_x %}
        var x{{ i }} = 0.0;
{% endif %}
{% for j in range(tile_n) %}
        var t{{ i }}_{{ j }} = 0.0;
{% endfor %}
{% endfor %}
{% for q in range(quads) %}
{% set at = s * quads + q %}
        {
{% for i in range(tile_m) %}
          let a{{ i }} = tile_a[lid + {{ (i * 8 + at) * pitch }}u];
{% if sums_x %}
          x{{ i }} += (a{{ i }}.x + a{{ i }}.y) + (a{{ i }}.z + a{{ i }}.w);
{% endif %}
{% endfor %}
{% for j in range(tile_n) %}
          let b{{ j }} = {{ run_code('w' ~ j, 'e' ~ j, at) }};
{% for i in range(tile_m) %}
          t{{ i }}_{{ j }} = fma(a{{ i }}.x, b{{ j }}.x, fma(a{{ i }}.y, b{{ j }}.y, fma(a{{ i }}.z, b{{ j }}.z, fma(a{{ i }}.w, b{{ j }}.w, t{{ i }}_{{ j }}))));
{% endfor %}
{% endfor %}
        }
{% endfor %}
{% for i in range(tile_m) %}
{% for j in range(tile_n) %}
        r{{ i }}_{{ j }} += run_sum(t{{ i }}_{{ j }}, {{ 'x' ~ i if sums_x else '0.0' }}, f{{ j }});
{% endfor %}
{% endfor %}
      }
{% endfor %}
    }
    workgroupBarrier();
  }
{{ store_sums() }}
}
