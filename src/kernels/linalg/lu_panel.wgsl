{#
  The LU factors of a panel: p.n adjacent columns, from their row p.row on, of p.m rows in all, a workgroup for each
  matrix. `panel` [matrix, column, row] is a copy with its columns side by side, which a thread walks down.

  options:
    size: number
    threads: number
#}
var<workgroup> pivot_row: array<value, {{ size }}>;
var<workgroup> best: array<Pivot, {{ threads }}>;

@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let matrix = group_index(wg, groups);
  let live = matrix < p.count;
  let c = coords(min(matrix, p.count - 1u));
  let base = min(matrix, p.count - 1u) * p.n * p.m;
  var zero = 0u;
  for (var k = 0u; k < min(p.n, p.m); k++) {
    var own = Pivot(-1.0, k);
    for (var i = k + lid; i < p.m; i += {{ threads }}u) {
      own = larger_pivot(own, Pivot(size_of(load_panel(base + k * p.m + i)), i));
    }
    best[lid] = own;
    workgroupBarrier();
    for (var step = {{ threads // 2 }}u; step > 0u; step /= 2u) {
      if (lid < step) { best[lid] = larger_pivot(best[lid], best[lid + step]); }
      workgroupBarrier();
    }
    let pivot = best[0].row;
    // The pivot's row takes the place of row k.
    for (var j = lid; j < p.n; j += {{ threads }}u) {
      let low = load_panel(base + j * p.m + pivot);
      pivot_row[j] = low;
      if (live && pivot != k) {
        let high = load_panel(base + j * p.m + k);
        store_panel(base + j * p.m + k, low);
        store_panel(base + j * p.m + pivot, high);
      }
    }
    if (lid == 0u && live) { store_pivots(at_pivots(c) + k * p.pivots_step, i32(p.row + pivot)); }
    storageBarrier();
    workgroupBarrier();
    let r = pivot_factor(pivot_row[k], k, &zero);
    // The rows below; a thread's rows are its own.
    for (var i = lid; i < p.m; i += {{ threads }}u) {
      if (i <= k || !live) { continue; }
      let x = product(load_panel(base + k * p.m + i), r);
      store_panel(base + k * p.m + i, x);
      for (var j = k + 1u; j < p.n; j++) {
        let e = base + j * p.m + i;
        store_panel(e, load_panel(e) - product(x, pivot_row[j]));
      }
    }
    storageBarrier();
    workgroupBarrier();
  }
  if (lid == 0u && live) { store_zero(at_info(c), zero); }
}
