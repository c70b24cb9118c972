{#
  Steps p.first to p.last of the QR factors of a panel of p.n columns and p.m rows, by p.groups workgroups for each
  matrix, of p.chunk rows each; several steps only for a single one. Step s applies reflection s - 1 to the columns from
  s on, whereby column s is finished, and multiplies that with all columns: what the next step needs for its reflection,
  for its weights and for t. The columns are [matrix, column, row], so that threads walk side by side.

  panel: the columns that are not finished. v: those that are, as the vectors u of their reflections, with zeros above;
  the product of the first ones is 1 - v t vᴴ. r: rows and columns of the panel. sums [2, matrix, p.groups + 1, column]:
  of a step and the one before, each workgroup's sums over the rows below row s, and that row.

  size: columns at most. lanes: threads along the rows. unroll: rows that a thread loads at a time.

  options:
    size: number
    threads: number
    lanes: number
    unroll: 4
#}
var<workgroup> partial: array<value, {{ size * (lanes + 1) }}>;
// Of column k of t each row's sum, in parts.
const kParts = 8u;
var<workgroup> parts_of_t: array<value, {{ size * 9 }}>;
var<workgroup> dots: array<value, {{ size }}>;
var<workgroup> tops: array<value, {{ size }}>;

fn weight(h: Reflection, j: u32) -> value {
  return product(conjugate(h.factor), product(conjugate(h.tip), tops[j]) + dots[j]);
}

@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let group = group_index(wg, groups);
  let live = group / p.groups < p.count;
  let matrix = min(group / p.groups, p.count - 1u);
  let own = group % p.groups;
  let c = coords(matrix);
  let lane = lid % {{ lanes }}u;
  let ty = lid / {{ lanes }}u;
  let begin = own * p.chunk;
  let end = min(begin + p.chunk, p.m);
  let panel0 = matrix * p.n * p.m;
  let t0 = matrix * p.n * p.n;
  let v0 = at_v(c);
  for (var s = p.first; s < p.last; s++) {
    let before = ((s + 1u) % 2u * p.count + matrix) * (p.groups + 1u) * p.n;
    let after = (s % 2u * p.count + matrix) * (p.groups + 1u) * p.n;
    let k = max(s, 1u) - 1u;
    var h = Reflection();
    if (s > 0u) {
      if (lid < p.n) {
        var sum = load_sums(before + lid);
        for (var g = 1u; g < p.groups; g++) { sum += load_sums(before + g * p.n + lid); }
        dots[lid] = sum;
        tops[lid] = load_sums(before + p.groups * p.n + lid);
      }
      workgroupBarrier();
      h = reflection(tops[k], real_part(dots[k]));
      if (own == 0u && live) {
        if (lid == 0u) { store_v(v0 + k * p.v_row + k, h.tip); }
        if (lid >= k && lid < p.n) {
          var v = {{ "vec2<f32>(h.beta, 0.0)" if complex else "h.beta" }};
          if (lid > k) { v = tops[lid] - product(h.tip, weight(h, lid)); }
          store_r(at_r(c) + k * p.r_row + lid * p.r_column, v);
        }
        for (var i = ty; i < p.n; i += {{ threads // lanes }}u) {
          if (lane >= kParts) { continue; }
          var sum = value();
          for (var j = i + lane; j < k; j += kParts) {
            sum += product(load_t(t0 + i * p.n + j), conjugate(dots[j]) + product(conjugate(tops[j]), h.tip));
          }
          parts_of_t[i * (kParts + 1u) + lane] = sum;
        }
      }
    }
    if (s < p.n) {
      var w = value();
      if (s > 0u) { w = weight(h, s); }
      for (var j = ty; j < p.n; j += {{ threads // lanes }}u) {
        var own_w = value();
        if (s > 0u && j > s) { own_w = weight(h, j); }
        var sum = value();
        // Several rows are loaded before the first one is stored, since compilers keep that order.
        for (var i0 = begin + lane; i0 < end; i0 += {{ lanes * unroll }}u) {
{% for u in range(unroll) %}
          let i{{ u }} = min(i0 + {{ u * lanes }}u, end - 1u);
          var fresh{{ u }} = load_panel(panel0 + s * p.m + i{{ u }});
          var x{{ u }} = value();
          if (s > 0u) { x{{ u }} = load_v(v0 + k * p.v_row + i{{ u }}); }
          var e{{ u }} = value();
          if (j < s) { e{{ u }} = load_v(v0 + j * p.v_row + i{{ u }}); } else { e{{ u }} = load_panel(panel0 + j * p.m + i{{ u }}); }
{% endfor %}
{% for u in range(unroll) %}
          if (i0 + {{ u * lanes }}u < end) {
            let below = i{{ u }} >= s;
            let fresh = select(value(), fresh{{ u }} - product(x{{ u }}, w), below);
            var e = e{{ u }};
            if (j == s) { e = fresh; }
            if (j > s) { e -= product(x{{ u }}, own_w); }
            if (i{{ u }} > s) { sum += product(conjugate(fresh), e); }
            if (live) {
              if (j > s && below) { store_panel(panel0 + j * p.m + i{{ u }}, e); }
              if (j == s) { store_v(v0 + s * p.v_row + i{{ u }}, fresh); }
              if (i{{ u }} == s) { store_sums(after + p.groups * p.n + j, e); }
            }
          }
{% endfor %}
        }
        partial[j * {{ lanes + 1 }}u + lane] = sum;
      }
    }
    workgroupBarrier();
    if (lid < p.n && live) {
      if (s < p.n) {
        var sum = partial[lid * {{ lanes + 1 }}u];
        for (var l = 1u; l < {{ lanes }}u; l++) { sum += partial[lid * {{ lanes + 1 }}u + l]; }
        store_sums(after + own * p.n + lid, sum);
      }
      if (s > 0u && own == 0u) {
        var sum = parts_of_t[lid * (kParts + 1u)];
        for (var l = 1u; l < kParts; l++) { sum += parts_of_t[lid * (kParts + 1u) + l]; }
        store_t(t0 + lid * p.n + k, select(-product(h.factor, sum), h.factor, lid == k));
      }
    }
    storageBarrier();
    workgroupBarrier();
  }
}
