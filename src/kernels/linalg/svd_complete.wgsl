{#
  Completes the first `good` columns of `left` [p.n, p.n], which are orthonormal, to an orthonormal set, a workgroup for
  each matrix. Each further column is the unit vector that is farthest from the columns in front of it, less its
  projection on these, twice.

  options:
    threads: number
#}
var<workgroup> best: array<f32, {{ threads }}>;
var<workgroup> best_row: array<u32, {{ threads }}>;
var<workgroup> have: i32;

@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let group = group_index(wg, groups);
  let matrix = min(group, p.count - 1u);
  if (lid == 0u) { have = select(i32(p.n), load_good(matrix), group < p.count); }
  let good = workgroupUniformLoad(&have);
  let c = coords(matrix);
  let left = at_left(c);
  let coefficients = matrix * p.n;
  for (var column = u32(good); column < p.n; column++) {
    let own = left + column * p.left_column;
    // The squared length of what is left of each unit vector.
    var most = -1.0;
    var at = 0u;
    for (var i = lid; i < p.n; i += {{ threads }}u) {
      var rest = 1.0;
      for (var j = 0u; j < column; j++) { rest -= square_of(load_left(left + i * p.left_row + j * p.left_column)); }
      if (rest > most) {
        most = rest;
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
    let unit = best_row[0];
    for (var turn = 0u; turn < 2u; turn++) {
      for (var j = lid; j < column; j += {{ threads }}u) {
        var sum = value();
        let other = left + j * p.left_column;
        if (turn == 0u) {
          sum = conjugate(load_left(other + unit * p.left_row));
        } else {
          for (var i = 0u; i < p.n; i++) {
            sum += product(conjugate(load_left(other + i * p.left_row)), load_left(own + i * p.left_row));
          }
        }
        store_coefficients(coefficients + j, sum);
      }
      storageBarrier();
      workgroupBarrier();
      var squares = 0.0;
      for (var i = lid; i < p.n; i += {{ threads }}u) {
        var v = value();
        if (turn == 1u) {
          v = load_left(own + i * p.left_row);
        } else if (i == unit) {
          v = {{ "vec2<f32>(1.0, 0.0)" if complex else "1.0" }};
        }
        for (var j = 0u; j < column; j++) {
          v -= product(load_left(left + i * p.left_row + j * p.left_column), load_coefficients(coefficients + j));
        }
        store_left(own + i * p.left_row, v);
        squares += square_of(v);
      }
      best[lid] = squares;
      workgroupBarrier();
      for (var step = {{ threads // 2 }}u; step > 0u; step /= 2u) {
        if (lid < step) { best[lid] += best[lid + step]; }
        workgroupBarrier();
      }
      let norm = sqrt(best[0]);
      for (var i = lid; i < p.n; i += {{ threads }}u) {
        store_left(own + i * p.left_row, load_left(own + i * p.left_row) / norm);
      }
      storageBarrier();
      workgroupBarrier();
    }
  }
}
