{#
  options:
    wide: flag
    flat: flag
    x_vec: flag
#}
// y[c] = x[the mapped index of c on each axis]: {{ lanes }} elements a thread, consecutive in y's row-major order.
{% set last = rank - 1 %}
{{ row_of("p.x_first") }}
{% macro store_four() %}
    let to = at_y(c);
{% for l in range(4) %}
    store_y(to + {{ l }}u * p.y_s{{ last }}, v[{{ l }}]);
{% endfor %}
{% endmacro %}

@compute @workgroup_size({{ workgroup }})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
{{ thread_place() }}
{% if mode == "constant" %}
  {% set fallback = "value" %}
  let value = {{ "vec2<u32>(p.value_low, p.value_high)" if wide else "p.value_low" }};
{% else %}
  {% set fallback = "x_t(0u)" %}
{% endif %}
{% if lanes == 4 %}
  var v = vec4<x_t>({{ fallback }});
  let whole = first == 0u && end == 4u;
  let one_row = whole && c[{{ last }}] + 3u < p.n{{ last }};
{% for l in range(4) %}
  let u{{ l }} = index{{ last }}(c[{{ last }}] + {{ l }}u);
{% endfor %}
  if (one_row && u3 == u0 + 3u && row.inside && {{ inside(last, "u0") }} && {{ inside(last, "u3") }}) {
    // Four adjacent elements of x as well.
    let at = row.at + u0 * p.x_s{{ last }};
{% if x_vec %}
    let part = (p.x_o + at) & 3u;
    let a = load4_x(at - part);
    if (part == 0u) {
      v = a;
    } else {
      let b = load4_x(at - part + 4u);
      v = select(select(vec4<x_t>(a.yzw, b.x), vec4<x_t>(a.zw, b.xy), part == 2u), vec4<x_t>(a.w, b.xyz), part == 3u);
    }
{% else %}
    v = vec4<x_t>(load_x(at), load_x(at + p.x_s{{ last }}), load_x(at + 2u * p.x_s{{ last }}), load_x(at + 3u * p.x_s{{ last }}));
{% endif %}
{% if not flat %}
{{ store_four() }}
{% endif %}
{% if mode == "repeat" %}
  } else if (one_row) {
    // Adjacent elements of a row of y that are not adjacent in x.
    v = vec4<x_t>({% for l in range(4) %}load_x(row.at + u{{ l }} * p.x_s{{ last }}){{ ", " if l < 3 else "" }}{% endfor %});
{% if not flat %}
{{ store_four() }}
{% endif %}
{% endif %}
  } else {
{% for l in range(4) %}
    if ({{ l }}u >= first && {{ l }}u < end) {
      let c{{ l }} = coords(start + {{ l }}u);
      let row{{ l }} = row_of(c{{ l }});
      let i{{ l }} = index{{ last }}(c{{ l }}[{{ last }}]);
      let there{{ l }} = row{{ l }}.inside && {{ inside(last, "i" ~ l) }};
      var e = {{ "value" if mode == "constant" else "x_t(0u)" }};
      if (there{{ l }}) { e = load_x(row{{ l }}.at + i{{ l }} * p.x_s{{ last }}); }
{% if flat %}
      v[{{ l }}] = e;
{% else %}
      {% if mode == "keep" %}if (there{{ l }}) {% endif %}{ store_y(at_y(c{{ l }}), e); }
{% endif %}
    }
{% endfor %}
  }
{% if flat %}
  if (whole) { store4_y(start, v); } else { store4_part_y(start, v, first, end); }
{% endif %}
{% else %}
  let i = index{{ last }}(c[{{ last }}]);
  let there = row.inside && {{ inside(last, "i") }};
  var v = {{ fallback }};
  if (there) { v = load_x(row.at + i * p.x_s{{ last }}); }
  {% if mode == "keep" %}if (there) {% endif %}{ store_y(at_y(c), v); }
{% endif %}
}
