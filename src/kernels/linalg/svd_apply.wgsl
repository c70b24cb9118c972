{#
  Multiplies each active pair of blocks that meet in round p.round, 2 · `block` columns of x [matrix, column, row], by its
  q [matrix, pair, j, i] from the right, in place; a workgroup for 64 rows of a pair.

  options:
    block: number
    depth: number
#}
const kWidth = {{ 2 * block }}u;
const kSide = {{ block // 2 }}u;  // threads along the columns, four each
const kThreads = {{ 8 * block }}u;
var<workgroup> xs: array<value, {{ 64 * depth }}>;
var<workgroup> qs: array<value, {{ depth * (2 * block + 1) }}>;
var<workgroup> on: i32;

@compute @workgroup_size({{ 8 * block }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let group = group_index(wg, groups);
  let tile = group % p.tiles;
  let index = min(group / p.tiles, p.count * p.pairs - 1u);
  let matrix = index / p.pairs;
  if (lid == 0u) { on = select(0, load_active(index), group / p.tiles < p.count * p.pairs); }
  if (workgroupUniformLoad(&on) == 0) { return; }
  let blocks = tournament(index % p.pairs, p.round, 2u * p.pairs);
  let tx = lid % 16u;
  let ty = lid / 16u;
  var sums: array<value, 16>;
  for (var k0 = 0u; k0 < kWidth; k0 += {{ depth }}u) {
    for (var e = lid; e < 64u * {{ depth }}u; e += kThreads) {
      let k = k0 + e / 64u;
      let row = tile * 64u + e % 64u;
      let column = select(blocks.y * {{ block }}u + k - {{ block }}u, blocks.x * {{ block }}u + k, k < {{ block }}u);
      var v = value();
      if (row < p.rows && k < kWidth) { v = load_x((matrix * p.columns + column) * p.rows + row); }
      xs[e] = v;
    }
    for (var e = lid; e < kWidth * {{ depth }}u; e += kThreads) {
      let k = e % {{ depth }}u;
      let j = e / {{ depth }}u;
      var v = value();
      if (k0 + k < kWidth) { v = load_q((index * kWidth + j) * kWidth + k0 + k); }
      qs[k * (kWidth + 1u) + j] = v;
    }
    workgroupBarrier();
    for (var k = 0u; k < {{ depth }}u; k++) {
{% for i in range(4) %}
      let a{{ i }} = xs[k * 64u + tx + {{ 16 * i }}u];
      let b{{ i }} = qs[k * (kWidth + 1u) + ty + {{ i }}u * kSide];
{% endfor %}
{% for i in range(16) %}
      sums[{{ i }}] += product(a{{ i // 4 }}, b{{ i % 4 }});
{% endfor %}
    }
    workgroupBarrier();
  }
{% for j in range(4) %}
  {
    let k = ty + {{ j }}u * kSide;
    let column = select(blocks.y * {{ block }}u + k - {{ block }}u, blocks.x * {{ block }}u + k, k < {{ block }}u);
    let first = (matrix * p.columns + column) * p.rows + tile * 64u + tx;
{% for i in range(4) %}
    if (tile * 64u + tx + {{ 16 * i }}u < p.rows) { store_x(first + {{ 16 * i }}u, sums[{{ 4 * i + j }}]); }
{% endfor %}
  }
{% endfor %}
}
