{#
  The LU factors of a panel: p.n adjacent columns, from their row p.row on, of p.m rows in all, a workgroup for each
  matrix. `panel` [matrix, column, row] is a copy with its columns side by side, which a thread walks down.

  options:
    first: flag
    size: number
    threads: number
#}
var<workgroup> pivot_row: array<value, {{ size }}>;
var<workgroup> best: array<f32, {{ threads }}>;
var<workgroup> best_row: array<u32, {{ threads }}>;

@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let matrix = group_index(wg, groups);
  let live = matrix < p.count;
  let c = coords(min(matrix, p.count - 1u));
  let base = min(matrix, p.count - 1u) * p.n * p.m;
  var zero = 0u;
  for (var k = 0u; k < min(p.n, p.m); k++) {
    var most = -1.0;
    var at = k;
    for (var i = k + lid; i < p.m; i += {{ threads }}u) {
      let v = size_of(load_panel(base + k * p.m + i));
      if (v > most) {
        most = v;
        at = i;
      }
    }
    best[lid] = most;
    best_row[lid] = at;
    workgroupBarrier();
    for (var step = {{ threads // 2 }}u; step > 0u; step /= 2u) {
      if (lid < step) {
        let v = best[lid + step];
        let row = best_row[lid + step];
        if (v > best[lid] || (v == best[lid] && row < best_row[lid])) {
          best[lid] = v;
          best_row[lid] = row;
        }
      }
      workgroupBarrier();
    }
    let pivot = best_row[0];
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
    let d = pivot_row[k];
    if (size_of(d) == 0.0 && zero == 0u) { zero = k + 1u; }
    let r = inverse(d);
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
  if (lid == 0u && live) {
    let at = at_info(c);
{% if first %}
    store_info(at, i32(select(0u, p.row + zero, zero != 0u)));
{% else %}
    if (zero != 0u && load_info(at) == 0) { store_info(at, i32(p.row + zero)); }
{% endif %}
  }
}
