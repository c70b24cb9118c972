{#
  options:
    bits: 8, 16, 32
    mask: number
    short: flag
#}
// y[c] = x[the mapped index of c on each axis], like remap.wgsl, for contiguous y and contiguous rows of x: a thread
// makes 16 bytes of y, {{ lanes }} elements of {{ bits }} bits, which belong to at most two rows of y.
{% set last = rank - 1 %}
{% set per_word = 32 // bits %}
{% set bounded = mapped[last] and mode == "constant" %}
{{ row_of("p.x_o * " ~ 4 * per_word ~ "u + p.x_first") }}
// Along the last axis: begin_of(c) is the state of the mapping at index c, and index_of(begin, step) x's index `step`
// later in the row of y.
fn begin_of(c: u32) -> vec2<u32> {
{% if not mapped[last] %}
  return vec2<u32>(c, 0u);
{% elif mode == "constant" or mode == "edge" %}
  return vec2<u32>(c + p.shift{{ last }}, 0u);
{% elif mode == "repeat" %}
  let u = c + p.shift{{ last }};
  let q = u / p.period{{ last }};
  return vec2<u32>(q, u - q * p.period{{ last }});
{% else %}
  let s = c + p.shift{{ last }};
  return vec2<u32>({{ modulo(last) }}, 0u);
{% endif %}
}
fn index_of(begin: vec2<u32>, step: u32) -> u32 {
{% if mode == "repeat" and mapped[last] %}
  let u = begin.y + step;
  return begin.x + {{ "u32((f32(u) + 0.5) * p.inverse)" if short else "select(0u, 1u, u >= p.period" ~ last ~ ")" }};
{% else %}
  let u = begin.x + step;
{% if not mapped[last] or mode == "constant" %}
  return u;
{% elif mode == "edge" %}
  return u32(clamp(bitcast<i32>(u), 0, bitcast<i32>(p.m{{ last }}) - 1));
{% else %}
  let w = select(u, u - p.period{{ last }}, u >= p.period{{ last }});
  return {{ {"wrap": "w", "reflect": "min(w, p.period" ~ last ~ " - w)", "symmetric": "min(w, p.period" ~ last ~ " - 1u - w)"}[mode] }};
{% endif %}
{% endif %}
}

fn word(i: u32) -> u32 { return x_buf[i >> 2u][i & 3u]; }
fn element(i: u32) -> u32 {
{% if per_word == 1 %}
  return word(i);
{% else %}
  return (word(i / {{ per_word }}u) >> (i % {{ per_word }}u * {{ bits }}u)) & {{ mask }}u;
{% endif %}
}

{% macro packed() -%}
vec4<u32>({% for w in range(4) %}{% for k in range(per_word) %}{{ " | " if k }}(e{{ w * per_word + k }} << {{ k * bits }}u){% endfor %}{{ ", " if w < 3 }}{% endfor %})
{%- endmacro %}
@compute @workgroup_size({{ workgroup }})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
{{ thread_place() }}
  let whole = first == 0u && end == {{ lanes }}u;
  let column = c[{{ last }}];
  let begin = begin_of(column);
  let u0 = index_of(begin, 0u);
  let u1 = index_of(begin, {{ lanes - 1 }}u);
  var v: vec4<u32>;
  if (whole && column + {{ lanes }}u <= p.n{{ last }} && u1 == u0 + {{ lanes - 1 }}u && row.inside
      {%- if bounded %} && u0 < p.m{{ last }} && u1 < p.m{{ last }}{% endif %}) {
    // Adjacent elements of x as well.
    let at = row.at + u0;
    let w = at / {{ per_word }}u;
{% if per_word > 1 %}
    let shift = at % {{ per_word }}u * {{ bits }}u;
{% endif %}
    if ((at & {{ 4 * per_word - 1 }}u) == 0u) {
      v = x_buf[w >> 2u];
    } else {
      v = vec4<u32>(word(w), word(w + 1u), word(w + 2u), word(w + 3u));
{% if per_word > 1 %}
      if (shift != 0u) { v = (v >> vec4<u32>(shift)) | (vec4<u32>(v.yzw, word(w + 4u)) << vec4<u32>(32u - shift)); }
{% endif %}
    }
  } else if (whole && column + {{ lanes }}u <= p.n{{ last }}) {
    // Within one row of y.
{% for l in range(lanes) %}
    let i{{ l }} = index_of(begin, {{ l }}u);
    var e{{ l }} = {{ "p.value" if mode == "constant" else "0u" }};
    if (row.inside{% if bounded %} && i{{ l }} < p.m{{ last }}{% endif %}) { e{{ l }} = element(row.at + i{{ l }}); }
{% endfor %}
    v = {{ packed() }};
  } else {
    // Elements in two rows of y, or not adjacent in x: all loads before the first use.
    let rest = p.n{{ last }} - column;      // elements of the first row, from lane `first` on
    var next = row;
{% if rank > 1 %}
    if (rest < end - first) { next = row_of(coords(start + first + rest)); }
{% endif %}
    let begin_next = begin_of(0u);
{% for l in range(lanes) %}
    let over{{ l }} = {{ l }}u - first >= rest;
    let i{{ l }} = index_of(select(begin, begin_next, over{{ l }}), select({{ l }}u - first, {{ l }}u - first - rest, over{{ l }}));
    let there{{ l }} = {{ l }}u >= first && {{ l }}u < end && select(row.inside, next.inside, over{{ l }})
      {%- if bounded %} && i{{ l }} < p.m{{ last }}{% endif %};
    var e{{ l }} = {{ "p.value" if mode == "constant" else "0u" }};
    if (there{{ l }}) { e{{ l }} = element(select(row.at, next.at, over{{ l }}) + i{{ l }}); }
{% endfor %}
    v = {{ packed() }};
  }
  if (whole) {
    y_buf[p.y_o + group] = v;
  } else {
    // Elements outside of y are preserved.
    var old = y_buf[p.y_o + group];
    for (var l = first; l < end; l++) {
      let w = l / {{ per_word }}u;
      let mask = {{ mask }}u << (l % {{ per_word }}u * {{ bits }}u);
      old = select(old, (old & vec4<u32>(~mask)) | (v & vec4<u32>(mask)), vec4<u32>(0u, 1u, 2u, 3u) == vec4<u32>(w));
    }
    y_buf[p.y_o + group] = old;
  }
}
