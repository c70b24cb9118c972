// y[…b, a] = x[…a, b] where y is contiguous along a and x along b: tiles of {{ tile }}×{{ tile }} are read along b and
// written along a, {{ width }} elements at a time. A tile's rows are one element apart in their banks.
const kTile = {{ tile }}u;
const kPitch = kTile + 1u;
const kRow = kTile / {{ width }}u;                          // accesses a row
var<workgroup> tile: array<x_t, kTile * kPitch>;

@compute @workgroup_size({{ workgroup }})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
{{ tile_place() }}
  let a0 = tile_of_a * kTile;
  let b0 = tile_of_b * kTile;
  let x_at = at_x(c) + b0 + a0 * p.x_a;
  let y_at = at_y(c) + a0 + b0 * p.y_b;
  for (var s = lane; s < kTile * kRow; s += {{ workgroup }}u) {
    let a = s / kRow;
    let b = s % kRow * {{ width }}u;
    if (a0 + a < p.size_a && b0 + b < p.size_b) {
{% if width == 4 %}
      let v = load4_x(x_at + a * p.x_a + b);
      for (var k = 0u; k < 4u; k++) { tile[(b + k) * kPitch + a] = v[k]; }
{% else %}
      tile[b * kPitch + a] = load_x(x_at + a * p.x_a + b);
{% endif %}
    }
  }
  workgroupBarrier();
  for (var s = lane; s < kTile * kRow; s += {{ workgroup }}u) {
    let b = s / kRow;
    let a = s % kRow * {{ width }}u;
    if (a0 + a < p.size_a && b0 + b < p.size_b) {
      let t = b * kPitch + a;
{% if width == 4 %}
      store4_y(y_at + b * p.y_b + a, vec4<y_t>(tile[t], tile[t + 1u], tile[t + 2u], tile[t + 3u]));
{% else %}
      store_y(y_at + b * p.y_b + a, tile[t]);
{% endif %}
    }
  }
}
