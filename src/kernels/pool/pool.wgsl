{#
  Pooling and its gradients. A thread computes one element of y; or four neighbours, whose store then is one word or
  more; or, where channels are adjacent, the same element of four channels. Forward x is what is pooled, and the steps of
  an element are those of its window; backward x is the gradient of the result, and the steps are the windows that
  contain the element.

  what: max, average or lp; backward; indexed. spatial: the number of spatial axes; place: where their coordinates are.
  lanes: 4 if values are four channels; outs: the neighbours that a thread computes. dilated, adaptive: of windows.
  least_integer: of the integers that are pooled, as WGSL writes it.
  divisor: "fixed", "inside" (the elements of x) or "padded" (those of the padding, too); power: of lp.
  bounds: how many steps an element has at most along each axis, if these are few: then the loops have no branch, and
  the loads of a window are on their way together. row: the axis whose four neighbours are the four values of a thread,
  which loads the row of x in fours; blocks: how many of these it needs, the window beginning `lead` elements into the
  first. Backward its four elements have windows row_low … row_high, counted from the first element's by the stride,
  which divides 4: each is loaded once, and goes to those of the four that it contains.

  inputs: x, or with `prologue` the operands of fn expression, which makes x of them; input_modes: how a thread's lanes
  load each (prologue.wgsl). operands: the modes of e0, e1, …, which `epilogue` takes behind the result.

  options:
    epilogue: text
    inputs: list of text
    input_modes: list of one, four, same
    prologue: flag
    operands: list of one, four, each, same
    indexed: flag
    spatial: 1, 2, 3
    place: list of number
    dilated: flag
    adaptive: flag
    one_row: flag
    last: number
    what: max, average, lp
    backward: flag
    divisor: fixed, padded, inside
    power: magnitude, square, power
    product: f32, i32, u32
    least_integer: text
    row: -1, 0, 1, 2
    row_stride: number
    row_low: number
    row_high: number
    row_before: number
    row_reach: number
    lead: number
    row_dilation: number
    row_window: number
    blocks: number
    unrolled: flag
    bounds: list of number
    rest: text
    lanes: 1, 4
    outs: 1, 4
    threads: number
#}
{{ epilogue }}
{% set real = product == "f32" %}
{% set vector = lanes == 4 %}
{% set value = "vec4<" ~ product ~ ">" if vector else product %}
{% set whole = "vec4<i32>" if vector else "i32" %}
{% set unsigned = "vec4<u32>" if vector else "u32" %}
{% set result = "vec4<y_t>" if vector else "y_t" %}
{% set load = "load4" if vector else "load" %}
{# A thread of four neighbours loads x in fours forward, one window at a time backward. #}
{% set row_of_x = row if not backward else -1 %}
{% set taken = product if backward and row >= 0 else value %}

{% for d in range(spatial) %}
// The elements of x in window i: the first, and where they end.
fn window{{ d }}(i: i32) -> vec2<i32> {
{% if adaptive %}
  let n = u32(p.x_size{{ d }});
  let m = u32(p.y_size{{ d }});
  let q = n / m;
  let r = n % m;
  let first = u32(i) * q + u32(i) * r / m;
  return vec2<i32>(i32(first), i32(u32(i + 1) * q + (u32(i + 1) * r + m - 1u) / m));
{% else %}
  let start = i * p.stride{{ d }} - p.before{{ d }};
{% if dilated %}
  let first = select(start, start + (p.dilation{{ d }} - 1 - start) / p.dilation{{ d }} * p.dilation{{ d }}, start < 0);
{% else %}
  let first = max(start, 0);
{% endif %}
  return vec2<i32>(first, min(start + p.reach{{ d }} + 1, p.x_size{{ d }}));
{% endif %}
}
{% if what == "average" and divisor != "fixed" %}
// How many elements window i counts.
fn count{{ d }}(i: i32) -> i32 {
{% if divisor == "padded" and not adaptive %}
  let left = p.x_size{{ d }} + p.after{{ d }} + p.before{{ d }} - i * p.stride{{ d }};
  return clamp({{ "(left + p.dilation" ~ d ~ " - 1) / p.dilation" ~ d if dilated else "left" }}, 0, p.window{{ d }});
{% else %}
  let w = window{{ d }}(i);
  return {{ "max(w.y - w.x + p.dilation" ~ d ~ " - 1, 0) / p.dilation" ~ d if dilated else "max(w.y - w.x, 0)" }};
{% endif %}
}
{% endif %}
{% if backward %}
// The windows that contain element j of x: the first, and where they end.
fn steps{{ d }}(j: i32) -> vec2<i32> {
{% if adaptive %}
  let n = u32(p.x_size{{ d }});
  let m = u32(p.y_size{{ d }});
  let q = m / n;
  let r = m % n;
  let first = u32(j) * q + u32(j) * r / n;
  return vec2<i32>(i32(first), i32(u32(j + 1) * q + (u32(j + 1) * r + n - 1u) / n));
{% else %}
  let at = j + p.before{{ d }};
  let low = max(at - p.reach{{ d }} + p.stride{{ d }} - 1, 0) / p.stride{{ d }};
  let end = min(at / p.stride{{ d }} + 1, p.y_size{{ d }});
{% if dilated %}
  if (at % p.gcd{{ d }} != 0) { return vec2<i32>(low, low); }
  let remainder = (at / p.gcd{{ d }}) % p.step{{ d }} * p.inverse{{ d }} % p.step{{ d }};
  return vec2<i32>(low + (remainder + p.step{{ d }} - low % p.step{{ d }}) % p.step{{ d }}, end);
{% else %}
  return vec2<i32>(low, end);
{% endif %}
{% endif %}
}
{% endif %}
{% endfor %}

{% if what == "max" and not backward and real %}
// Integers in the order of floats: WGSL's own comparisons may ignore NaN, and flush denormals. NaN are at both ends, by
// their signs; -0 is just below 0.
fn key_of(v: {{ value }}) -> {{ whole }} {
  let b = bitcast<{{ whole }}>(v);
  return b ^ ((b >> {{ unsigned }}(31u)) & {{ whole }}(0x7fffffff));
}
{% if indexed %}
// The same with one 0, and all NaN last.
fn order_of(v: {{ value }}) -> {{ whole }} {
  let k = key_of(v);
  let ordered = select(k, {{ whole }}(0), k == {{ whole }}(-1));
  return select(ordered, {{ whole }}(0x7fffffff), (bitcast<{{ whole }}>(v) & {{ whole }}(0x7fffffff)) > {{ whole }}(0x7f800000));
}
{% endif %}
fn value_of(k: {{ whole }}) -> {{ value }} {
  return bitcast<{{ value }}>(k ^ ((k >> {{ unsigned }}(31u)) & {{ whole }}(0x7fffffff)));
}
{% set key = whole %}
{% set least = "-2139095041" %}
{% elif what == "max" and not backward %}
fn key_of(v: {{ value }}) -> {{ value }} { return v; }
fn value_of(k: {{ value }}) -> {{ value }} { return k; }
{% set key = value %}
{% set least = least_integer %}
{% endif %}

{% if what == "lp" and power == "power" %}
{% if vector %}
fn powered(v: {{ value }}, exponent: f32) -> {{ value }} {
  return {{ value }}(pow_f32(v.x, exponent), pow_f32(v.y, exponent), pow_f32(v.z, exponent), pow_f32(v.w, exponent));
}
{% else %}
fn powered(v: f32, exponent: f32) -> f32 { return pow_f32(v, exponent); }
{% endif %}
{% endif %}

{# Of an input: where it is at the steps k0, k1, … but that along the row. #}
{% macro place_of(input) -%}
{{ input }}_first{% for d in range(spatial) %}{% if row_of_x != d %} + u32(k{{ d }}) * p.{{ input }}_k{{ d }}{% endif %}{% endfor %}
{%- endmacro %}
{# x at the place of a step, of a row `past` elements of it further on. #}
{% macro pooled(past) -%}
{{ taken }}({{ "expression(" if prologue }}{% for input in inputs %}{{ ", " if loop.index0 }}{{ lanes_of(input, input_modes[loop.index0], (input ~ "_row" ~ (" + " ~ past if input_modes[loop.index0] == "four" else "")) if past else place_of(input)) }}{% endfor %}{{ ")" if prologue }})
{%- endmacro %}
{% macro mask(ok) -%}
{{ "vec4<bool>(" ~ ok ~ ")" if vector else ok }}
{%- endmacro %}
{# A step of an element: its value v, whether it is one (empty: it is), and where it is in x. #}
{% macro step(ok, position) %}
{% if what == "max" and not backward %}
{% if indexed and real %}
    let key = order_of(v);
{% elif ok and real %}
    let key = select({{ key }}({{ least }}), key_of(v), {{ ok }});
{% else %}
    let key = key_of(v);
{% endif %}
{% if indexed %}
    let better = {{ ok ~ " & (" if ok }}(key > best) | (position < {{ whole }}(0)){{ " | (key == " ~ whole ~ "(0x7fffffff))" if real else "" }}{{ ")" if ok }};
    best = select(best, key, better);
    position = select(position, {{ position }}, better);
{% elif real %}
    best = max(best, key);
    lowest = min(lowest, key);
{% elif ok %}
    best = select(best, max(best, key), {{ ok }});
{% else %}
    best = max(best, key);
{% endif %}
{% else %}
{% if what == "max" %}
    let part = select({{ value }}(), v, index == own);
{% elif what == "average" %}
    let part = v{{ " / f32(n" ~ (spatial - 1) ~ ")" if backward and divisor != "fixed" else "" }};
{% elif power == "magnitude" %}
    let part = abs(v);
{% elif power == "square" %}
    let part = v * v;
{% else %}
    let part = powered(abs(v), p.norm);
{% endif %}
    sum += {{ "select(" ~ value ~ "(), part, " ~ ok ~ ")" if ok else "part" }};
{% endif %}
{% endmacro %}

// The element of y at c.
fn element(c: Coords) -> {{ result }} {
{% for input in inputs %}
  let {{ input }}_first = at_{{ input }}(c) - p.{{ input }}_before;
{% endfor %}
{% if backward and indexed %}
  let i0 = at_i(c) - p.i_before;
{% endif %}
{% for d in range(spatial) %}
{% if row == d and backward %}
  let own{{ d }} = i32(c[{{ place[d] }}]) * 4 + p.first{{ d }};
{% elif row == d %}
  let own{{ d }} = i32(c[{{ place[d] }}]) * 4;
  let block{{ d }} = own{{ d }} * p.stride{{ d }} - p.before{{ d }} - {{ lead }};
{% else %}
  let own{{ d }} = i32(c[{{ place[d] }}]) + p.first{{ d }};
  let s{{ d }} = {{ "steps" if backward else "window" }}{{ d }}(own{{ d }});
{% endif %}
{% endfor %}
{% if what == "max" and not backward %}
  var best = {{ key }}({{ "-2147483647 - 1" if indexed and real else least }});
{% if indexed %}
  var position = {{ whole }}(-1);
{% elif real %}
  var lowest = best;
{% endif %}
{% else %}
  var sum = {{ value }}({{ "bitcast<f32>(p.opaque_zero)" if what == "average" and not backward }});
{% endif %}
{% if backward and indexed %}
  let own = {{ whole }}(0{% for d in range(spatial) %} + own{{ d }} * p.flat{{ d }}{% endfor %}){{ " + " ~ whole ~ "(0, 1, 2, 3) * p.flat" ~ row if row >= 0 }};
{% endif %}
{% if unrolled %}
{% for d in range(spatial) %}
{% if row != d %}
  for (var j{{ d }} = 0; j{{ d }} < {{ bounds[d] }}; j{{ d }}++) {
    let at{{ d }} = s{{ d }}.x + j{{ d }}{{ " * " ~ ("p.step" if backward else "p.dilation") ~ d if dilated else "" }};
    let ok{{ d }} = at{{ d }} < s{{ d }}.y;
    // A step that is none loads one that is, or the first there is.
    let k{{ d }} = select(min(at{{ d }}, s{{ d }}.y - 1), p.begin{{ d }}, s{{ d }}.y <= s{{ d }}.x);
{% if backward and what == "average" and divisor != "fixed" %}
    let n{{ d }} = {{ "n" ~ (d - 1) ~ " * " if d else "" }}max(count{{ d }}(k{{ d }}), 1);
{% endif %}
{% elif backward and what == "average" and divisor != "fixed" %}
    let n{{ d }} = {{ "n" ~ (d - 1) if d else "1" }};
{% endif %}
{% endfor %}
    let ok = {% for d in range(spatial) %}{% if row != d %}ok{{ d }} & {% endif %}{% endfor %}true;
{% if row >= 0 and backward %}
{% for w in range(row_low, row_high + 1) %}
  {
    let at = own{{ row }} / {{ row_stride }} + ({{ w }});
    let inside = ok & (at >= 0) & (at < p.y_size{{ row }});
    let k{{ row }} = select(p.begin{{ row }}, at, inside);
    let v = {{ pooled("") }}{{ " / f32(n" ~ (spatial - 1) ~ " * max(count" ~ row ~ "(k" ~ row ~ "), 1))" if what == "average" and divisor != "fixed" }};
{% if indexed %}
    let index = load_i(i0{% for d in range(spatial) %} + u32(k{{ d }}) * p.i_k{{ d }}{% endfor %});
{% endif %}
{% for e in range(4) %}
{% if w * row_stride <= e + row_before and e + row_before <= w * row_stride + row_reach %}
    sum[{{ e }}] += select({{ product }}(), v, inside{{ " & (index == own[" ~ e ~ "])" if indexed }});
{% endif %}
{% endfor %}
  }
{% endfor %}
{% elif row >= 0 %}
{% for input in inputs %}
    let {{ input }}_row = {{ place_of(input) }};
{% endfor %}
{% for b in range(blocks) %}
    let at_b{{ b }} = block{{ row }} + {{ 4 * b }};
    let ok_b{{ b }} = ok & (at_b{{ b }} >= 0) & (at_b{{ b }} < p.x_size{{ row }});
    let past{{ b }} = u32(clamp(at_b{{ b }}, 0, p.x_size{{ row }} - 4));
    let b{{ b }} = {{ pooled("past" ~ b) }};
{% endfor %}
{% for j in range(row_window) %}
  {
{% set at = [lead + j * row_dilation, lead + j * row_dilation + row_stride, lead + j * row_dilation + 2 * row_stride, lead + j * row_dilation + 3 * row_stride] %}
    let v = {{ value }}({% for i in at %}{{ ", " if loop.index0 }}b{{ i // 4 }}[{{ i % 4 }}]{% endfor %});
    let inside = vec4<bool>({% for i in at %}{{ ", " if loop.index0 }}ok_b{{ i // 4 }}{% endfor %});
{{ step("inside", whole ~ "(block" ~ row ~ " + " ~ at[0] ~ ") * p.flat" ~ row ~ " + " ~ whole ~ "(0, 1, 2, 3) * (" ~ row_stride ~ " * p.flat" ~ row ~ ")" ~ rest) }}
  }
{% endfor %}
{% else %}
    let v = {{ pooled("") }};
{% if backward and indexed %}
    let index = {{ load }}_i(i0{% for d in range(spatial) %} + u32(k{{ d }}) * p.i_k{{ d }}{% endfor %});
{% endif %}
{{ step(mask("ok"), whole ~ "(0" ~ rest ~ ")") }}
{% endif %}
{% for d in range(spatial) %}
{% if row != d %}
  }
{% endif %}
{% endfor %}
{% else %}
{% for d in range(spatial) %}
  for (var k{{ d }} = s{{ d }}.x; k{{ d }} < s{{ d }}.y; k{{ d }} += {{ ("p.step" if backward else "p.dilation") ~ d if dilated else "1" }}) {
{% if backward and what == "average" and divisor != "fixed" %}
    let n{{ d }} = {{ "n" ~ (d - 1) ~ " * " if d else "" }}count{{ d }}(k{{ d }});
{% endif %}
{% endfor %}
    let v = {{ pooled("") }};
{% if backward and indexed %}
    let index = {{ load }}_i(i0{% for d in range(spatial) %} + u32(k{{ d }}) * p.i_k{{ d }}{% endfor %});
{% endif %}
{{ step("", whole ~ "(0" ~ rest ~ ")") }}
{% for d in range(spatial) %}
  }
{% endfor %}
{% endif %}
{% if what == "max" and not backward %}
{% if indexed %}
{% if real %}
  best = select(best, {{ whole }}({{ least }}), position < {{ whole }}(0));
{% endif %}
{% if vector %}
  store4_i(at_i(c), position);
{% else %}
  store_i(at_i(c), position);
{% endif %}
{% endif %}
{% if real and not indexed %}
  // Below -infinity there are only NaN.
  best = select(best, {{ whole }}(0), best == {{ whole }}(-1));
  best = select(best, {{ whole }}(0x7fffffff), lowest < {{ whole }}({{ least }}));
{% endif %}
  let r = value_of(best);
{% elif what == "average" and divisor == "fixed" %}
  let r = sum / p.divisor;
{% elif what == "average" and not backward %}
{% if row >= 0 %}
  let counts = vec4<i32>(count{{ row }}(own{{ row }}), count{{ row }}(own{{ row }} + 1), count{{ row }}(own{{ row }} + 2), count{{ row }}(own{{ row }} + 3)){% for d in range(spatial) %}{% if row != d %} * count{{ d }}(own{{ d }}){% endif %}{% endfor %};
  let r = sum / vec4<f32>(max(counts, vec4<i32>(1)));
{% else %}
  let r = sum / f32(max({% for d in range(spatial) %}{{ " * " if d else "" }}count{{ d }}(own{{ d }}){% endfor %}, 1));
{% endif %}
{% elif what == "lp" and power == "square" %}
  let r = {{ value }}({% if vector %}sqrt_f32(sum.x), sqrt_f32(sum.y), sqrt_f32(sum.z), sqrt_f32(sum.w){% else %}sqrt_f32(sum){% endif %});
{% elif what == "lp" and power == "power" %}
  let r = powered(sum, p.root);
{% else %}
  let r = sum;
{% endif %}
{% for mode in operands %}
{% set e = "e" ~ loop.index0 %}
  let {{ e }}_first = at_{{ e }}(c);
  let {{ e }} = {{ lanes_of(e, mode, e ~ "_first") }};
{% endfor %}
  return {{ "epilogue(r" if epilogue else result ~ "(r" }}{% for mode in operands %}, e{{ loop.index0 }}{% endfor %});
}

@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let index = group_index(wg, groups) * {{ threads }}u + lid;
  if (index >= p.count) { return; }
{% if outs == 4 %}
  var results: array<y_t, 4>;
{% if one_row %}
  // Rows have whole fours: the neighbours differ in the last coordinate alone.
  let first = coords(index * 4u);
  var c = first;
  for (var e = 0u; e < 4u; e++) {
    c[{{ last }}] = first[{{ last }}] + e;
    results[e] = element(c);
  }
{% else %}
  for (var e = 0u; e < 4u; e++) { results[e] = element(coords(index * 4u + e)); }
{% endif %}
  store4_y(at_y(coords(index * 4u)), vec4<y_t>(results[0], results[1], results[2], results[3]));
{% else %}
  let c = coords(index);
  {{ "store4_y" if vector else "store_y" }}(at_y(c), element(c));
{% endif %}
}
