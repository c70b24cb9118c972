{# Stores the f16 in the first `words` words of `value`, one after the other from {{ target }}] on, which is open at its
   index. Those from the fifth on go `gap` further. Matrices have no store of several elements. #}
{% macro store_f16(value, words, target, gap) %}
{% for j in range(words) %}
      let h{{ j }} = bitcast<vec2<f16>>({{ value }}[{{ j }}]);
{% endfor %}
{% for j in range(2 * words) %}
      {{ target }} + {{ j + (gap if j > 3 else 0) }}u] = h{{ j // 2 }}[{{ j % 2 }}];
{% endfor %}
{% endmacro %}
