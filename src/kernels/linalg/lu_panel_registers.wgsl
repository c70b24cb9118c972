{#
  The LU factors of a panel as lu_panel computes them, of up to `threads` * `slots` rows: `width` columns at a time are in
  registers, `slots` rows of them in each thread, and what they take from the panel's other columns follows.

  options:
    size: number
    slots: 1, 2, 4, 8, 16, 32, 64
    width: 1, 2, 4, 8
    threads: number
#}
var<workgroup> pivot_row: array<value, {{ width }}>;
var<workgroup> upper_row: array<value, {{ width }}>;
var<workgroup> exchanged: array<u32, {{ width }}>;
var<workgroup> best: array<Pivot, {{ threads }}>;
var<workgroup> part_best: array<Pivot, 32>;
var<workgroup> unit: array<value, {{ width * width }}>;  // l of the rows of these columns
var<workgroup> beside: array<value, {{ width * size }}>;  // u of the rows of these columns, in the columns after them

@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let matrix = group_index(wg, groups);
  let live = matrix < p.count;
  let c = coords(min(matrix, p.count - 1u));
  let base = min(matrix, p.count - 1u) * p.n * p.m;
  let steps = min(p.n, p.m);
  var zero = 0u;
  for (var first = 0u; first < steps; first += {{ width }}u) {
{% for t in range(slots) %}
{% for w in range(width) %}
    var r{{ t }}_{{ w }} = value();
    if (lid + {{ t * threads }}u < p.m && first + {{ w }}u < p.n) {
      r{{ t }}_{{ w }} = load_panel(base + (first + {{ w }}u) * p.m + lid + {{ t * threads }}u);
    }
{% endfor %}
{% endfor %}
    // The column of a step is the registers' first: it becomes their last, so that all are in order again at the end.
    for (var w = 0u; w < {{ width }}u; w++) {
      let k = first + w;
      if (k < steps) {
        var own = Pivot(-1.0, k);
{% for t in range(slots) %}
        if (lid + {{ t * threads }}u >= k && lid + {{ t * threads }}u < p.m) {
          own = larger_pivot(own, Pivot(size_of(r{{ t }}_0), lid + {{ t * threads }}u));
        }
{% endfor %}
        best[lid] = own;
        workgroupBarrier();
        if (lid < 32u) {
          for (var i = lid + 32u; i < {{ threads }}u; i += 32u) { own = larger_pivot(own, best[i]); }
          part_best[lid] = own;
        }
        workgroupBarrier();
        var chosen = Pivot(-1.0, k);
        for (var i = 0u; i < 32u; i++) { chosen = larger_pivot(chosen, part_best[i]); }
        let pivot = chosen.row;
        // Row k is in slot 0 of thread k.
{% for t in range(slots) %}
        if (lid + {{ t * threads }}u == pivot) {
{% for x in range(width) %}
          pivot_row[{{ x }}] = r{{ t }}_{{ x }};
{% endfor %}
        }
{% endfor %}
        if (lid == k) {
{% for x in range(width) %}
          upper_row[{{ x }}] = r0_{{ x }};
{% endfor %}
        }
        if (lid == 0u) {
          exchanged[w] = pivot;
          if (live) { store_pivots(at_pivots(c) + k * p.pivots_step, i32(p.row + pivot)); }
        }
        workgroupBarrier();
        if (pivot != k) {
{% for t in range(slots) %}
          if (lid + {{ t * threads }}u == pivot) {
{% for x in range(width) %}
            r{{ t }}_{{ x }} = upper_row[{{ x }}];
{% endfor %}
          }
{% endfor %}
          if (lid == k) {
{% for x in range(width) %}
            r0_{{ x }} = pivot_row[{{ x }}];
{% endfor %}
          }
        }
        let factor = pivot_factor(pivot_row[0], k, &zero);
{% for t in range(slots) %}
        let below{{ t }} = lid + {{ t * threads }}u > k;
        if (below{{ t }}) { r{{ t }}_0 = product(r{{ t }}_0, factor); }
{% endfor %}
        // (The columns of earlier steps are behind those of later ones.)
{% for x in range(1, width) %}
        if (w + {{ x }}u < {{ width }}u) {
          let u = pivot_row[{{ x }}];
{% for t in range(slots) %}
          if (below{{ t }}) { r{{ t }}_{{ x }} -= product(r{{ t }}_0, u); }
{% endfor %}
        }
{% endfor %}
      }
{% if width > 1 %}
{% for t in range(slots) %}
      let done{{ t }} = r{{ t }}_0;
{% for x in range(1, width) %}
      r{{ t }}_{{ x - 1 }} = r{{ t }}_{{ x }};
{% endfor %}
      r{{ t }}_{{ width - 1 }} = done{{ t }};
{% endfor %}
{% endif %}
    }
    if (lid >= first && lid < first + {{ width }}u) {
{% for w in range(width) %}
      unit[(lid - first) * {{ width }}u + {{ w }}u] = r0_{{ w }};
{% endfor %}
    }
    if (live) {
{% for t in range(slots) %}
{% for w in range(width) %}
      if (lid + {{ t * threads }}u < p.m && first + {{ w }}u < p.n) {
        store_panel(base + (first + {{ w }}u) * p.m + lid + {{ t * threads }}u, r{{ t }}_{{ w }});
      }
{% endfor %}
{% endfor %}
    }
    workgroupBarrier();
    // The same exchanges in the other columns, a thread for each, and their rows of u in those that come after.
    let after = lid >= first + {{ width }}u;
    if (live && lid < p.n && (lid < first || after)) {
      let column = base + lid * p.m;
{% for w in range(width) %}
      var v{{ w }} = value();
      if (first + {{ w }}u < p.m) { v{{ w }} = load_panel(column + first + {{ w }}u); }
{% endfor %}
{% for w in range(width) %}
      if (first + {{ w }}u < steps) {
        let other = exchanged[{{ w }}];
        if (other >= first + {{ width }}u) {
          let below = load_panel(column + other);
          store_panel(column + other, v{{ w }});
          v{{ w }} = below;
        }
{% for x in range(w + 1, width) %}
        if (other == first + {{ x }}u) {
          let below = v{{ x }};
          v{{ x }} = v{{ w }};
          v{{ w }} = below;
        }
{% endfor %}
      }
{% endfor %}
      if (after) {
{% for w in range(1, width) %}
{% for x in range(w) %}
        v{{ w }} -= product(unit[{{ w * width + x }}], v{{ x }});
{% endfor %}
{% endfor %}
{% for w in range(width) %}
        beside[{{ w * size }}u + lid] = v{{ w }};
{% endfor %}
      }
{% for w in range(width) %}
      if (first + {{ w }}u < p.m) { store_panel(column + first + {{ w }}u, v{{ w }}); }
{% endfor %}
    }
    storageBarrier();
    workgroupBarrier();
    if (live) {
      for (var j = first + {{ width }}u; j < p.n; j++) {
        let column = base + j * p.m + lid;
{% for t in range(slots) %}
        var v{{ t }} = value();
        let inside{{ t }} = lid + {{ t * threads }}u >= first + {{ width }}u && lid + {{ t * threads }}u < p.m;
        if (inside{{ t }}) { v{{ t }} = load_panel(column + {{ t * threads }}u); }
{% endfor %}
{% for w in range(width) %}
        let u{{ w }} = beside[{{ w * size }}u + j];
{% for t in range(slots) %}
        v{{ t }} -= product(r{{ t }}_{{ w }}, u{{ w }});
{% endfor %}
{% endfor %}
{% for t in range(slots) %}
        if (inside{{ t }}) { store_panel(column + {{ t * threads }}u, v{{ t }}); }
{% endfor %}
      }
    }
    storageBarrier();
    workgroupBarrier();
  }
  if (lid == 0u && live) { store_zero(at_info(c), zero); }
}
