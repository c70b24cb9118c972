{#
  options:
    tile: number
#}
// y[…b, a] = x[…a, b] where y is contiguous along a and x along b: each thread transposes 4×4 elements in registers.
// {{ tile }} threads of a workgroup lie along a, so that a row of theirs fills whole lines of the output.

@compute @workgroup_size({{ workgroup }})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
{{ tile_place() }}
{{ place_in_tile(4, 4) }}
  let x_at = at_x(c) + b + a * p.x_a;
  let y_at = at_y(c) + a + b * p.y_b;
  let r0 = load4_x(x_at);
  let r1 = load4_x(x_at + p.x_a);
  let r2 = load4_x(x_at + 2u * p.x_a);
  let r3 = load4_x(x_at + 3u * p.x_a);
{% for k in range(4) %}
  store4_y(y_at + {{ k }}u * p.y_b, vec4<y_t>(r0[{{ k }}], r1[{{ k }}], r2[{{ k }}], r3[{{ k }}]));
{% endfor %}
}
