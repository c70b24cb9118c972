{#
  Matrix product for few rows or columns, both operands contiguous along k: all threads of a workgroup share tile_m ×
  tile_n elements and divide k among themselves, so that loads are wide and adjacent; the partial sums are added in
  workgroup memory. tile_m · tile_n divides the number of threads.

  b_width 8: b's 16-bit floats (b_type) are loaded 16 bytes at a time, on which the rate of a matrix–vector product
  depends; a, which is read repeatedly from the cache, in two loads.
  packed: the function that multiplies four 8-bit integers; elements are then words of four, along k.

  options:
    window: ''
    a_width: 1, 4
    b_width: 1, 4, 8
    b_type: f16, bf16, ''
    threads: number
    packed: dot4I8Packed, dot4U8Packed, ''
    tile_m: 1, 2, 4, 8
    tile_n: 2, 4, 8
#}
{% set step = b_width %}
{% set element = 'u32' if packed else product %}
{% set quads = 2 if step == 8 else 1 %}
{% if step == 8 %}
fn pair(w: u32) -> vec2<f32> {
{% if b_type == 'f16' %}
  return unpack2x16float(w);
{% else %}
  return bitcast<vec2<f32>>(vec2<u32>(w << 16u, w & 0xffff0000u));
{% endif %}
}
{% endif %}
@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
{{ begin_tile() }}
  let m0 = tile % p.tiles_m * {{ tile_m }}u;
  let n0 = tile / p.tiles_m * {{ tile_n }}u;
{{ sums_of(tile_m, tile_n, 1) }}
  for (var k = lid * {{ step }}u; k < p.k; k += {{ threads * step }}u) {
{% for i in range(tile_m) %}
{% for q in range(quads) %}
    let a{{ i }}_{{ q }} = {% if a_width == 4 %}vec4<{{ element }}>(load4_a(a_at{{ i }} + k + {{ q * 4 }}u)){% else %}{{ element }}(load_a(a_at{{ i }} + k)){% endif %};
{% endfor %}
{% endfor %}
{% for j in range(tile_n) %}
{% if step == 8 %}
    let w{{ j }} = b_buf[(p.b_o * 8u + b_at{{ j }} + k) / 8u];
    let b{{ j }}_0 = vec4<f32>(pair(w{{ j }}.x), pair(w{{ j }}.y));
    let b{{ j }}_1 = vec4<f32>(pair(w{{ j }}.z), pair(w{{ j }}.w));
{% else %}
    let b{{ j }}_0 = {% if step == 4 %}vec4<{{ element }}>(load4_b(b_at{{ j }} + k)){% else %}{{ element }}(load_b(b_at{{ j }} + k)){% endif %};
{% endif %}
{% endfor %}
{% for i in range(tile_m) %}
{% for j in range(tile_n) %}
{% for q in range(quads) %}
{% set a = 'a' ~ i ~ '_' ~ q %}
{% set b = 'b' ~ j ~ '_' ~ q %}
{% set r = 'r' ~ i ~ '_' ~ j %}
{% if packed %}
{% set lanes = ['.x', '.y', '.z', '.w'] if step == 4 else [''] %}
{% for part in lanes %}
    {{ r }} += i32({{ packed }}({{ a }}{{ part }}, {{ b }}{{ part }}));
{% endfor %}
{% elif step == 1 %}
    {{ r }} = {% if product == 'f32' %}fma({{ a }}, {{ b }}, {{ r }}){% else %}{{ a }} * {{ b }} + {{ r }}{% endif %};
{% elif product == 'f32' %}
    {{ r }} = fma({{ a }}.x, {{ b }}.x, fma({{ a }}.y, {{ b }}.y, fma({{ a }}.z, {{ b }}.z, fma({{ a }}.w, {{ b }}.w, {{ r }}))));
{% else %}
    {{ r }} += dot({{ a }}, {{ b }});
{% endif %}
{% endfor %}
{% endfor %}
{% endfor %}
  }
{{ store_sums() }}
}
