{# y = index of the greatest ordered key (common/ordered_key.wgsl) of each row, the first among equals. A member of a
   team keeps the first of its own best; the team agrees on the best key, then on the least index that has it. A row may
   be cut into parts: then `partial_out` stores (key, index), keys of 64 bits apart from it, and a second call with
   `partial_in` joins them. `windowed`: x is a window of longer rows. #}
{% set words = 2 if key_bits == 64 else 1 %}
{% set along4 = width == 4 and not across %}
alias value_t = {{ "vec4<u32>" if width == 4 else "u32" }};   // a word of a step's keys
alias state_t = {{ "vec4<u32>" if state == "vec4" else "u32" }};   // of a team's
{{ row_access("x") }}
{{ row_access("y") }}
fn greater(a: state_t, b: state_t) -> state_t { return max(a, b); }
fn lesser(a: state_t, b: state_t) -> state_t { return min(a, b); }
{{ team_function("team_max", "state_t", "greater") }}
{{ team_function("team_min", "state_t", "lesser") }}

{% if words == 1 %}
fn keys_of(v: {{ "vec4<x_t>" if width == 4 else "x_t" }}) -> value_t {
{% if partial_in %}
  return v.x;
{% elif width == 4 %}
  return value_t(ordered_key(v.x), ordered_key(v.y), ordered_key(v.z), ordered_key(v.w));
{% else %}
  return ordered_key(v);
{% endif %}
}
{% endif %}
{# Takes the keys of step `k`, loaded as `v`, where they are better. #}
{% macro take(v, k) %}
  {
{% if words == 2 %}
    let key = {{ v if partial_in else "ordered_key(" ~ v ~ ")" }};
    if (less_u64(best, key)) { best = key; at = {{ k }}; }
{% else %}
    let key = keys_of({{ v }});
    let better = key > best;
    best = select(best, key, better);
    at = select(at, value_t({{ k }}), better);
{% endif %}
  }
{% endmacro %}

{% if windowed %}
// A window is runs of p.run elements of a row, p.run_step apart.
fn in_row(i: u32) -> u32 { return i / p.run * p.run_step + p.run_begin + i % p.run; }
{% endif %}

@compute @workgroup_size({{ workgroup }})
fn main({{ thread_arguments() }}) {
  let group = group_index(wg, grid);
  let part = group % p.parts;
  {{ thread_place("(group / p.parts)") }}
  let x0 = x_row(row);
  let end = min((part + 1u) * p.part_steps, p.steps);
  var k = part * p.part_steps + member;
  // Where nothing is greater than 0 the first step stands; past the end it loses to any other.
  var best = {{ "vec2<u32>(0u)" if words == 2 else "value_t(0u)" }};
{% if partial_in %}
  var at = 0xffffffffu;
  for (; k < end; k += {{ team }}u) {
    let v = load_x(x0 + {{ words }}u * k);
{% if words == 2 %}
    let index = load_x(x0 + 2u * k + 1u).x;
    if (less_u64(best, v) || (all(best == v) && index < at)) { best = v; at = index; }
{% else %}
    if (v.x > best || (v.x == best && v.y < at)) { best = v.x; at = v.y; }
{% endif %}
  }
{% else %}
  var at = value_t(k);
  for (; k + {{ 3 * team }}u < end; k += {{ 4 * team }}u) {
{% for i in range(4) %}
    let v{{ i }} = {{ load_step("x", "x0", "k + " ~ i * team ~ "u") }};
{% endfor %}
{% for i in range(4) %}
{{ take("v" ~ i, "k + " ~ i * team ~ "u") }}
{% endfor %}
  }
  for (; k < end; k += {{ team }}u) {
    let v = {{ load_step("x", "x0", "k") }};
{{ take("v", "k") }}
  }
{% endif %}
{% if words == 2 %}
  let high = team_max(best.y, tid);
  let low = team_max(select(0u, best.x, best.y == high), tid);
  let first = team_min(select(0xffffffffu, at, all(best == vec2<u32>(low, high))), tid);
{% elif along4 %}
  let own = max(max(best.x, best.y), max(best.z, best.w));
  let index = select(vec4<u32>(0xffffffffu), 4u * at + vec4<u32>(0u, 1u, 2u, 3u), best == vec4<u32>(own));
  let key = team_max(own, tid);
  let first = team_min(select(0xffffffffu, min(min(index.x, index.y), min(index.z, index.w)), own == key), tid);
{% else %}
  let key = team_max(best, tid);
  let first = team_min(select(state_t(0xffffffffu), at, best == key), tid);
{% endif %}
  if (!live || member != 0u) { return; }
{% for i in range(rows_per_team) %}
{% set lane = "[" ~ i ~ "]" if rows_per_team == 4 else "" %}
{% if partial_out and words == 2 %}
  let slot = y_row(row) + 2u * part;
  store_y(slot, vec2<u32>(low, high));
  store_y(slot + 1u, vec2<u32>({{ "in_row(first)" if windowed else "first" }}, 0u));
{% elif partial_out %}
  store_y(y_row(row + {{ i }}u) + part, vec2<u32>(key{{ lane }}, {{ "in_row(first" ~ lane ~ ")" if windowed else "first" ~ lane }}));
{% elif long_result %}
  store_y(y_row(row + {{ i }}u), vec2<u32>(first{{ lane }}, 0u));
{% else %}
  store_y(y_row(row + {{ i }}u), y_t(first{{ lane }}));
{% endif %}
{% endfor %}
}
