{#
  Applies a panel's interchanges of rows to all columns of lu outside of it, and to the order of the rows; a thread for
  each column, and one for the order. p.row: the panel's first row and column, p.n: its columns, p.steps: interchanges.

  options:
    threads: number
#}
@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let index = group_index(wg, groups) * {{ threads }}u + lid;
  let matrix = index / (p.columns + 1u);
  let column = index % (p.columns + 1u);
  if (matrix >= p.count || (column >= p.row && column < p.row + p.n)) { return; }
  let c = coords(matrix);
  let pivots = at_pivots(c);
  let lu = at_lu(c) + column * p.lu_column;
  let order = at_order(c);
  for (var k = 0u; k < p.steps; k++) {
    let row = p.row + k;
    let other = u32(load_pivots(pivots + k * p.pivots_step));
    if (other == row) { continue; }
    if (column == p.columns) {
      let upper = load_order(order + row * p.order_step);
      store_order(order + row * p.order_step, load_order(order + other * p.order_step));
      store_order(order + other * p.order_step, upper);
    } else {
      let upper = load_lu(lu + row * p.lu_row);
      store_lu(lu + row * p.lu_row, load_lu(lu + other * p.lu_row));
      store_lu(lu + other * p.lu_row, upper);
    }
  }
}
