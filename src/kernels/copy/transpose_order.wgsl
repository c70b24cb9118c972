{#
  options:
    b_first: flag
    turns_bytes: flag
    workgroup: number
#}
{% if turns_bytes %}
// Transposes 4×4 bytes: byte k of result word i is byte i of word k.
fn turned(r: vec4<u32>) -> vec4<u32> {
  let low = 0x00ff00ffu;
  let even = vec2<u32>((r.x & low) | ((r.y & low) << 8u), (r.z & low) | ((r.w & low) << 8u));
  let odd = vec2<u32>(((r.x >> 8u) & low) | (r.y & 0xff00ff00u), ((r.z >> 8u) & low) | (r.w & 0xff00ff00u));
  return vec4<u32>((even.x & 0xffffu) | (even.y << 16u), (odd.x & 0xffffu) | (odd.y << 16u),
                   (even.x >> 16u) | (even.y & 0xffff0000u), (odd.x >> 16u) | (odd.y & 0xffff0000u));
}
{% endif %}
{# The tile of a workgroup, shared by the transposing kernels: consecutive tiles lie along a, or along b (b_first). #}
{% macro tile_place() -%}
  let group = group_index(wg, n);
  if (group >= p.groups) { return; }
{% if b_first %}
  let tile_of_a = group / p.tiles_b % p.tiles_a;
  let tile_of_b = group % p.tiles_b;
{% else %}
  let tile_of_a = group % p.tiles_a;
  let tile_of_b = group / p.tiles_a % p.tiles_b;
{% endif %}
  let c = coords(group / p.tiles_a / p.tiles_b);
{%- endmacro %}
{# The start of a thread's elements, of_a along a and of_b along b, with `tile` threads along a. #}
{% macro place_in_tile(of_a, of_b) -%}
  let a = (tile_of_a * {{ tile }}u + lane % {{ tile }}u) * {{ of_a }}u;
  let b = (tile_of_b * {{ workgroup // tile }}u + lane / {{ tile }}u) * {{ of_b }}u;
  if (a >= p.size_a || b >= p.size_b) { return; }
{%- endmacro %}
