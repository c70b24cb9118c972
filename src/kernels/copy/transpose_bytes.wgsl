// As transpose_direct.wgsl, of bytes: each thread turns 4×16 of them, read as four words along b from each of four rows,
// written as a word along a to each of sixteen. x and y are views of words.
// The words whose byte k is byte i of word k.
fn turned(r: vec4<u32>) -> vec4<u32> {
  let low = 0x00ff00ffu;
  let even = vec2<u32>((r.x & low) | ((r.y & low) << 8u), (r.z & low) | ((r.w & low) << 8u));
  let odd = vec2<u32>(((r.x >> 8u) & low) | (r.y & 0xff00ff00u), ((r.z >> 8u) & low) | (r.w & 0xff00ff00u));
  return vec4<u32>((even.x & 0xffffu) | (even.y << 16u), (odd.x & 0xffffu) | (odd.y << 16u),
                   (even.x >> 16u) | (even.y & 0xffff0000u), (odd.x >> 16u) | (odd.y & 0xffff0000u));
}

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
