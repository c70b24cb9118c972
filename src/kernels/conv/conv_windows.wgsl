{#
  An operand of a matrix product: row r of a batch is the window of a place of the output, and k counts the window's
  elements and in each of them the channels. Places outside of x are zeros.

  side: a or b. window: the same if it is not in memory as a matrix, but read from x. spatial: the number of axes; from: where the coordinates of each axis and of the batch come from, "row" or
  an index of Coords; rows: the axes that a row counts, the innermost first (spatial axes by number, "n" for the batch).
  checked: the axes along which windows may leave x.

  options:
    side: a, b
    spatial: 1, 2, 3
    from: list of text
    rows: list of n, 0, 1, 2
    checked: list of yes, ''
#}
struct WindowPlace {
{% if window %}
  at: u32,
{% endif %}
{% for d in range(spatial) %}
  i{{ d }}: i32,
{% endfor %}
}
struct Tap {
{% if window %}
  at: u32,
{% endif %}
{% for d in range(spatial) %}
  i{{ d }}: i32,
{% endfor %}
}
fn place_of(c: Coords, row: u32) -> WindowPlace {
  var r = row;
  var place: WindowPlace;
{% if window %}
  place.at = at_{{ side }}(c) - p.window_before;
{% endif %}
{% for axis in rows %}
{% set first = loop.last %}
  let o{{ axis }} = {{ 'r' if first else 'r % p.rows_' ~ axis }};
{% if not first %}
  r /= p.rows_{{ axis }};
{% endif %}
{% if window %}
  place.at += o{{ axis }} * p.step_{{ axis }};
{% endif %}
{% endfor %}
{% for d in range(spatial) %}
  place.i{{ d }} = i32({{ 'o' ~ d if from[d] == 'row' else 'c[' ~ from[d] ~ ']' }}) * p.stride{{ d }} - p.before{{ d }};
{% endfor %}
  return place;
}
fn tap_of(k: u32) -> Tap {
  var tap: Tap;
  var t = k / p.channels;
{% if window %}
  tap.at = (k - t * p.channels) * p.channel_step;
{% endif %}
{% for d in range(spatial - 1, -1, -1) %}
  {
    let e = {{ 't % p.window' ~ d if d else 't' }};
    tap.i{{ d }} = i32(e) * p.dilation{{ d }};
{% if window %}
    tap.at += e * p.tap_step{{ d }};
{% endif %}
{% if d %}
    t /= p.window{{ d }};
{% endif %}
  }
{% endfor %}
  return tap;
}
fn is_inside(place: WindowPlace, tap: Tap) -> bool {
  return true{% for d in range(spatial) %}{% if checked[d] %} && u32(place.i{{ d }} + tap.i{{ d }}) < p.extent{{ d }}{% endif %}{% endfor %};
}
