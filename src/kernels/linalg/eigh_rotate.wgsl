{#
  A round of a sweep over the blocks of large matrices, its first step: a workgroup for each pair of blocks of
  `size` / 2 rows rotates their rows and columns where they meet, and writes the product of its rotations to j
  [matrix, pair, row, column]. active [matrix, pair]: whether there is any.

  flags [sweep % 2, matrix, pair]: what the rounds of a sweep rotated; where the last sweep did nothing, this one is not
  needed. p.sweep counts from 0. p.own: pairs within the blocks are rotated too, once in each sweep.
#}
var<workgroup> going: atomic<u32>;

@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let group = group_index(wg, groups);
  let live = group < p.count * p.pairs;
  let index = min(group, p.count * p.pairs - 1u);
  let matrix = index / p.pairs;
  let pair = index % p.pairs;
  let slots = p.count * p.pairs;
  let slot = p.sweep % 2u * slots + index;
  if (live && p.sweep == 0u && lid == 0u) { atomicMax(&going, 1u); }
  if (live && p.sweep > 0u) {
    for (var k = lid; k < p.pairs; k += {{ threads }}u) {
      if (load_flags((p.sweep + 1u) % 2u * slots + matrix * p.pairs + k) != 0) { atomicMax(&going, 1u); }
    }
  }
  if (workgroupUniformLoad(&going) == 0u) {
    if (live && lid == 0u) {
      store_active(index, 0);
      if (p.own != 0u) { store_flags(slot, 0); }
    }
    return;
  }
  let blocks = tournament(pair, p.round, 2u * p.pairs);
  let base = matrix * p.rows * p.rows;
  for (var e = lid; e < {{ size * size }}u; e += {{ threads }}u) {
    let i = e / {{ size }}u;
    let j = e % {{ size }}u;
    s[i * kPitch + j] = load_h(base + row_of(i, blocks) * p.rows + row_of(j, blocks));
    v[i * kPitch + j] = of_real(select(0.0, 1.0, i == j));
  }
  let threshold = load_scales(3u * matrix + 2u);
  if (p.own != 0u) {
    for (var round = 0u; round < {{ size // 2 - 1 }}u; round++) {
      workgroupBarrier();
      for (var k = lid; k < {{ size // 2 }}u; k += {{ threads }}u) {
        choose_turn(k, tournament(k % {{ size // 4 }}u, round, {{ size // 2 }}u) + vec2<u32>(k / {{ size // 4 }}u * {{ size // 2 }}u), {{ size }}u, threshold);
      }
      workgroupBarrier();
      apply_turns(lid, {{ size // 2 }}u, {{ size }}u);
    }
  }
  for (var round = 0u; round < {{ size // 2 }}u; round++) {
    workgroupBarrier();
    for (var k = lid; k < {{ size // 2 }}u; k += {{ threads }}u) {
      choose_turn(k, vec2<u32>(k, {{ size // 2 }}u + (k + round) % {{ size // 2 }}u), {{ size }}u, threshold);
    }
    workgroupBarrier();
    apply_turns(lid, {{ size // 2 }}u, {{ size }}u);
  }
  let state = workgroupUniformLoad(&rotated);
  if (lid == 0u) {
    store_active(index, select(0, 1, state != 0u));
    let before = select(load_flags(slot), 0, p.own != 0u);
    store_flags(slot, max(before, i32(state)));
  }
  if (state == 0u) { return; }
  for (var e = lid; e < {{ size * size }}u; e += {{ threads }}u) {
    let i = e / {{ size }}u;
    let j = e % {{ size }}u;
    store_h(base + row_of(i, blocks) * p.rows + row_of(j, blocks), s[i * kPitch + j]);
    store_j(index * {{ size * size }}u + e, v[i * kPitch + j]);
  }
}
fn row_of(i: u32, blocks: vec2<u32>) -> u32 {
  return select(blocks.x, blocks.y, i >= {{ size // 2 }}u) * {{ size // 2 }}u + i % {{ size // 2 }}u;
}
