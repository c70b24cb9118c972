{#
  Rows that fit in workgroup memory, as many to a workgroup as fit. Element j of row r is at r · padded + j.

  options:
    across: flag
#}
@compute @workgroup_size({{ workgroup }})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>,
        @builtin(local_invocation_index) tid: u32) {
  let together = {{ tile }}u / p.padded;
  let first = group_index(wg, n) * together;
  for (var i = tid; i < {{ tile }}u; i += {{ workgroup }}u) {
{% if across %}
    let r = i % together;
    let j = i / together;
{% else %}
    let r = i / p.padded;
    let j = i % p.padded;
{% endif %}
    let slot = r * p.padded + j;
    keys[slot] = last_key;
    places[slot] = nowhere;
    if (first + r < p.rows && j < p.length) {
      keys[slot] = ordered_key(load_x(at_x(coords(first + r)) + j * p.x_step));
      places[slot] = j;
    }
  }
  sort_tile(tid, p.padded);
  for (var i = tid; i < {{ tile }}u; i += {{ workgroup }}u) {
{% if across %}
    let r = i % together;
    let j = i / together;
{% else %}
    let r = i / p.padded;
    let j = i % p.padded;
{% endif %}
    if (first + r < p.rows && j < p.keep) { store_result(coords(first + r), j, places[r * p.padded + j]); }
  }
}
