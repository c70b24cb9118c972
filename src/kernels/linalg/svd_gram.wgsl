{#
  The Gram matrices of the pairs of blocks that meet in round p.round, each of 2 · `block` columns of x [matrix, column,
  row], in parts: a workgroup takes p.part_rows of the first p.n rows of a pair. gram [matrix, pair, part, i, j]. Nothing
  where go[matrix] is 0: all columns are orthogonal.

  options:
    block: number
    depth: number
#}
const kWidth = {{ 2 * block }}u;
const kSide = {{ block // 2 }}u;  // threads along each side, four elements each
const kThreads = {{ (block // 2) * (block // 2) }}u;
const kPitch = {{ 2 * block + 1 }}u;
var<workgroup> s: array<value, {{ depth * (2 * block + 1) }}>;
var<workgroup> on: i32;

@compute @workgroup_size({{ (block // 2) * (block // 2) }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let group = group_index(wg, groups);
  let part = group % p.parts;
  let pair = group / p.parts % p.pairs;
  let matrix = min(group / p.parts / p.pairs, p.count - 1u);
  if (lid == 0u) { on = select(0, load_go(matrix), group / p.parts / p.pairs < p.count); }
  if (workgroupUniformLoad(&on) == 0) { return; }
  let blocks = tournament(pair, p.round, 2u * p.pairs);
  let end = min((part + 1u) * p.part_rows, p.n);
  let tx = lid % kSide;
  let ty = lid / kSide;
  var sums: array<value, 16>;
  for (var k0 = part * p.part_rows; k0 < (part + 1u) * p.part_rows; k0 += {{ depth }}u) {
    for (var e = lid; e < {{ depth }}u * kWidth; e += kThreads) {
      let k = e % {{ depth }}u;
      let j = e / {{ depth }}u;
      let column = select(blocks.y * {{ block }}u + j - {{ block }}u, blocks.x * {{ block }}u + j, j < {{ block }}u);
      var v = value();
      if (k0 + k < end) { v = load_x((matrix * p.columns + column) * p.rows + k0 + k); }
      s[k * kPitch + j] = v;
    }
    workgroupBarrier();
    for (var k = 0u; k < {{ depth }}u; k++) {
      let at = k * kPitch;
{% for i in range(4) %}
      let a{{ loop.index0 }} = conjugate(s[at + ty + {{ loop.index0 }}u * kSide]);
      let b{{ loop.index0 }} = s[at + tx + {{ loop.index0 }}u * kSide];
{% endfor %}
{% for i in range(16) %}
      sums[{{ i }}] += product(a{{ i // 4 }}, b{{ i % 4 }});
{% endfor %}
    }
    workgroupBarrier();
  }
  let first = ((matrix * p.pairs + pair) * p.parts + part) * kWidth * kWidth;
{% for i in range(16) %}
  store_gram(first + (ty + {{ i // 4 }}u * kSide) * kWidth + tx + {{ i % 4 }}u * kSide, sums[{{ i }}]);
{% endfor %}
}
