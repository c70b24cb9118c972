{#
  x = a⁻¹ b for a lower triangular block of up to `size` rows, by substitution: a workgroup takes `columns` columns of a
  matrix, a thread each. conjugates: a's elements are conjugated. unit: its diagonal is 1.

  options:
    in_place: flag
    unit: flag
    conjugates: flag
    size: number
    columns: number
#}
var<workgroup> s: array<value, {{ size * (size + 1) }}>;
var<workgroup> xs: array<value, {{ size * columns }}>;

@compute @workgroup_size({{ columns }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let group = group_index(wg, groups);
  let c = coords(min(group / p.tiles, p.count - 1u));
  let column = group % p.tiles * {{ columns }}u + lid;
  let live = group / p.tiles < p.count && column < p.m;
  let a0 = at_a(c);
  for (var e = lid; e < p.n * p.n; e += {{ columns }}u) {
    let i = e / p.n;
    let j = e % p.n;
    if ({{ "j < i" if unit else "j <= i" }}) {
      let v = load_a(a0 + i * p.a_row + j * p.a_column);
      s[i * {{ size + 1 }}u + j] = {{ "conjugate(v)" if conjugates else "v" }};
    }
  }
  workgroupBarrier();
  if (!live) { return; }
{% if in_place %}
  let x0 = at_x(c) + column * p.x_column;
{% else %}
  let b0 = at_b(c) + column * p.b_column;
  let x0 = at_x(c) + column * p.x_column;
{% endif %}
  for (var i = 0u; i < p.n; i++) {
{% if in_place %}
    var sum = load_x(x0 + i * p.x_row);
{% else %}
    var sum = load_b(b0 + i * p.b_row);
{% endif %}
    for (var k = 0u; k < i; k++) { sum -= product(s[i * {{ size + 1 }}u + k], xs[k * {{ columns }}u + lid]); }
{% if not unit %}
    sum = quotient(sum, s[i * {{ size + 1 }}u + i]);
{% endif %}
    xs[i * {{ columns }}u + lid] = sum;
    store_x(x0 + i * p.x_row, sum);
  }
}
