{#
  Where the matrix begins that a batch's index chooses.

  options:
    operand: a, b
#}
fn at_{{ operand }}(c: Coords) -> u32 { return start_clamped(load_indices(at_indices(c)), p.matrices) * p.matrix; }
