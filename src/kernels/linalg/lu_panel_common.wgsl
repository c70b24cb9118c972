{#
  What templates of the LU factors of a panel share. first: it is the matrix's first one.

  options:
    first: flag
#}
// Says in `info`, which is at that place, which pivot of the matrix is the first that is 0, of the panel's `zero`.
fn store_zero(at: u32, zero: u32) {
{% if first %}
  store_info(at, i32(select(0u, p.row + zero, zero != 0u)));
{% else %}
  if (zero != 0u && load_info(at) == 0) { store_info(at, i32(p.row + zero)); }
{% endif %}
}
