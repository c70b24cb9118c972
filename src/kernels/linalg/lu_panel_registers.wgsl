{#
  The LU factors of a panel as lu_panel computes them, of up to `threads` * `slots` rows: `width` columns at a time are in
  registers, `slots` rows of them in each thread, and what they take from the panel's other columns follows.

  options:
    first: flag
    size: number
    slots: 1, 2, 4, 8, 16, 32, 64
    width: 1, 2, 4, 8
    threads: number
#}
var<workgroup> pivot_row: array<value, {{ width }}>;
var<workgroup> upper_row: array<value, {{ width }}>;
var<workgroup> exchanged: array<u32, {{ width }}>;
var<workgroup> best: array<f32, {{ threads }}>;
var<workgroup> best_row: array<u32, {{ threads }}>;
var<workgroup> part_best: array<f32, 32>;
var<workgroup> part_row: array<u32, 32>;
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
        var most = -1.0;
        var at = k;
{% for t in range(slots) %}
        if (lid + {{ t * threads }}u >= k && lid + {{ t * threads }}u < p.m) {
          let v = size_of(r{{ t }}_0);
          if (v > most) {
            most = v;
            at = lid + {{ t * threads }}u;
          }
        }
{% endfor %}
        best[lid] = most;
        best_row[lid] = at;
        workgroupBarrier();
        if (lid < 32u) {
          for (var i = lid + 32u; i < {{ threads }}u; i += 32u) {
            let v = best[i];
            if (v > most || (v == most && best_row[i] < at)) {
              most = v;
              at = best_row[i];
            }
          }
          part_best[lid] = most;
          part_row[lid] = at;
        }
        workgroupBarrier();
        most = -1.0;
        var pivot = k;
        for (var i = 0u; i < 32u; i++) {
          let v = part_best[i];
          let row = part_row[i];
          if (v > most || (v == most && row < pivot)) {
            most = v;
            pivot = row;
          }
        }
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
        let d = pivot_row[0];
        if (size_of(d) == 0.0 && zero == 0u) { zero = k + 1u; }
        let factor = inverse(d);
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
  if (lid == 0u && live) {
    let at = at_info(c);
{% if first %}
    store_info(at, i32(select(0u, p.row + zero, zero != 0u)));
{% else %}
    if (zero != 0u && load_info(at) == 0) { store_info(at, i32(p.row + zero)); }
{% endif %}
  }
}
