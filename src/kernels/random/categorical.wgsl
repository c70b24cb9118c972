{#
  y = the category with the greatest logit + Gumbel noise of each row, as specified in include/weft/kernels/random.h.
  `lanes` threads share a row, `rows` of them a workgroup.

  options:
    workgroup: number
    lanes: 1, 2, number
    rows: number
#}
var<workgroup> scores: array<f32, {{ workgroup }}>;
var<workgroup> found: array<i32, {{ workgroup }}>;

// Of the noise: -ln(-ln(1 - u)).
fn gumbel(w: u32) -> f32 {
  let inner = log1p_parts(-fraction(w));
  let outer = log_parts(-log_core(inner.x, inner.y));
  return -log_core(outer.x, outer.y);
}

@compute @workgroup_size({{ workgroup }})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let key = vec2<u32>(load_key(0u), load_key(p.key_step));
  let lane = thread % {{ lanes }}u;
  let row = group_index(wg, n) * {{ rows }}u + thread / {{ lanes }}u;
  // Less the greatest logit, so that logits of any size leave the noise its digits.
  var top = bitcast<f32>(0xff800000u | p.opaque_zero);
  if (row < p.count) {
    let start = at_x(coords(row));
    for (var i = lane; i < p.length; i += {{ lanes }}u) {
      let x = load_x(start + i * p.x_step);
      if (x > top) { top = x; }
    }
  }
{% if lanes > 1 %}
  scores[thread] = top;
  for (var step = {{ lanes // 2 }}u; step > 0u; step >>= 1u) {
    workgroupBarrier();
    if (lane < step) {
      let other = scores[thread + step];
      if (other > top) {
        top = other;
        scores[thread] = other;
      }
    }
  }
  workgroupBarrier();
  top = scores[thread - lane];
  workgroupBarrier();
{% endif %}
  if (bitcast<u32>(top) == 0xff800000u) { top = 0.0; }
  var best = bitcast<f32>(0xff800000u | p.opaque_zero);
  var at = -1;
  if (row < p.count) {
    let start = at_x(coords(row));
    for (var i = 2u * lane; i < p.length; i += {{ 2 * lanes }}u) {
      let w = threefry(key, vec2<u32>(i >> 1u, p.first + row));
{% for k in range(2) %}
      {{ "if (i + 1u < p.length) " if k == 1 }}{
        let x = load_x(start + (i + {{ k }}u) * p.x_step);
        let own = rounded(x - top) + gumbel(w.{{ "x" if k == 0 else "y" }});
        let score = select(own, x, bitcast<u32>(x) == 0x7f800000u);
        if ((bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u) {
          best = bitcast<f32>(0x7f800000u | p.opaque_zero);
          at = -1;
        } else if (score > best) {
          best = score;
          at = i32(i + {{ k }}u);
        }
      }
{% endfor %}
    }
  }
{% if lanes > 1 %}
  scores[thread] = best;
  found[thread] = at;
  for (var step = {{ lanes // 2 }}u; step > 0u; step >>= 1u) {
    workgroupBarrier();
    if (lane < step) {
      let score = scores[thread + step];
      let other = found[thread + step];
      if (score > best || (score == best && other < at)) {
        best = score;
        at = other;
        scores[thread] = score;
        found[thread] = other;
      }
    }
  }
{% endif %}
  if (lane == 0u && row < p.count) { store_y(at_y(coords(row)), at); }
}
