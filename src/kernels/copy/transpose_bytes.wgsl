{#
  options:
    tile: number
#}
// Like transpose_direct.wgsl, for bytes: each thread transposes 4×16 of them, which it reads as four words along b from
// each of four rows and writes as a word along a to each of sixteen rows. x and y are views of words.

@compute @workgroup_size({{ workgroup }})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
{{ tile_place() }}
{{ place_in_tile(4, 16) }}
  let x_at = at_x(c) + b / 4u + a * p.x_a;
  let y_at = at_y(c) + a / 4u + b * p.y_b;
  let r0 = load4_x(x_at);
  let r1 = load4_x(x_at + p.x_a);
  let r2 = load4_x(x_at + 2u * p.x_a);
  let r3 = load4_x(x_at + 3u * p.x_a);
{% for w in range(4) %}
  let t{{ w }} = turned(vec4<u32>(r0[{{ w }}], r1[{{ w }}], r2[{{ w }}], r3[{{ w }}]));
{% for k in range(4) %}
  store_y(y_at + {{ 4 * w + k }}u * p.y_b, t{{ w }}[{{ k }}]);
{% endfor %}
{% endfor %}
}
