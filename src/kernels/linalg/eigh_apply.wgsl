{#
  The second step of a round: the products of its rotations, which eigh_rotate.wgsl wrote to j, are applied to the rest of
  h, jᴴ h j, and to v, v j. A workgroup takes the `size` by `size` elements where two pairs of blocks meet and, since h
  is Hermitian, those opposite to them; or `size` rows of v in a pair's columns. A thread has `tile` by `tile` of them.

  options:
    size: number
    width: number
    tile: 1, 2, 4, number
#}
const kPitch = {{ size + 1 }}u;
var<workgroup> x: array<value, {{ size * (size + 1) }}>;
var<workgroup> js: array<value, {{ size * 16 }}>;
var<workgroup> sides: u32;  // bits: the rows' product is not the identity; the columns' is not

@compute @workgroup_size({{ width * width }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let group = group_index(wg, groups);
  let live = group < p.count * p.each;
  let index = min(group, p.count * p.each - 1u);
  let matrix = index / p.each;
  let of_v = index % p.each >= p.meetings;
  let e = index % p.each - select(0u, p.meetings, of_v);
  // Of two pairs each meets the other once: one and the one `step` further.
  let step = 1u + e / p.pairs;
  let first = select(e % p.pairs, e / p.pairs, of_v);
  let second = select((first + step) % p.pairs, e % p.pairs, of_v);
  let twice = !of_v && 2u * step == p.pairs && first >= step;
  if (lid == 0u && live && !twice) {
    let rows = select(load_active(matrix * p.pairs + first), 0, of_v);
    sides = u32(rows + 2 * load_active(matrix * p.pairs + second));
  }
  let turning = workgroupUniformLoad(&sides);
  if (turning == 0u) { return; }
  let above = select(tournament(first, p.round, 2u * p.pairs), vec2<u32>(2u * first, 2u * first + 1u), of_v);
  let beside = tournament(second, p.round, 2u * p.pairs);
  let base = matrix * p.rows * p.rows;
  for (var i = lid; i < {{ size * size }}u; i += {{ width * width }}u) {
    let at = base + row_of(i / {{ size }}u, above) * p.rows + row_of(i % {{ size }}u, beside);
    if (of_v) { x[i / {{ size }}u * kPitch + i % {{ size }}u] = load_v(at); }
    else { x[i / {{ size }}u * kPitch + i % {{ size }}u] = load_h(at); }
  }
  let tx = lid % {{ width }}u;
  let ty = lid / {{ width }}u;
  var sums: array<value, {{ tile * tile }}>;
  // Rows first, then columns.
  for (var side = 0u; side < 2u; side++) {
    if (((turning >> side) & 1u) == 0u) { continue; }
    let j0 = (matrix * p.pairs + select(second, first, side == 0u)) * {{ size * size }}u;
    for (var i = 0u; i < {{ tile * tile }}u; i++) { sums[i] = value(); }
    for (var k0 = 0u; k0 < {{ size }}u; k0 += 16u) {
      workgroupBarrier();
      for (var i = lid; i < {{ size * 16 }}u; i += {{ width * width }}u) { js[i] = load_j(j0 + k0 * {{ size }}u + i); }
      workgroupBarrier();
      if (side == 0u) {
        for (var k = 0u; k < 16u; k++) {
{% for c in range(tile) %}
          let b{{ c }} = x[(k0 + k) * kPitch + tx + {{ c * width }}u];
{% endfor %}
{% for r in range(tile) %}
          let a{{ r }} = conjugate(js[k * {{ size }}u + ty + {{ r * width }}u]);
{% for c in range(tile) %}
          sums[{{ r * tile + c }}] += product(a{{ r }}, b{{ c }});
{% endfor %}
{% endfor %}
        }
      } else {
        for (var k = 0u; k < 16u; k++) {
{% for c in range(tile) %}
          let b{{ c }} = js[k * {{ size }}u + tx + {{ c * width }}u];
{% endfor %}
{% for r in range(tile) %}
          let a{{ r }} = x[(ty + {{ r * width }}u) * kPitch + k0 + k];
{% for c in range(tile) %}
          sums[{{ r * tile + c }}] += product(a{{ r }}, b{{ c }});
{% endfor %}
{% endfor %}
        }
      }
    }
    workgroupBarrier();
{% for r in range(tile) %}
{% for c in range(tile) %}
    x[(ty + {{ r * width }}u) * kPitch + tx + {{ c * width }}u] = sums[{{ r * tile + c }}];
{% endfor %}
{% endfor %}
  }
  workgroupBarrier();
  for (var i = lid; i < {{ size * size }}u; i += {{ width * width }}u) {
    let at = base + row_of(i / {{ size }}u, above) * p.rows + row_of(i % {{ size }}u, beside);
    let y = x[i / {{ size }}u * kPitch + i % {{ size }}u];
    if (of_v) {
      store_v(at, y);
    } else {
      store_h(at, y);
      store_h(base + row_of(i / {{ size }}u, beside) * p.rows + row_of(i % {{ size }}u, above),
              conjugate(x[i % {{ size }}u * kPitch + i / {{ size }}u]));
    }
  }
}
fn row_of(i: u32, blocks: vec2<u32>) -> u32 {
  return select(blocks.x, blocks.y, i >= {{ size // 2 }}u) * {{ size // 2 }}u + i % {{ size // 2 }}u;
}
